#include "core/api/managed_service_account.h"

namespace fleetadm::api {

const kube::Resource& managed_service_accounts() {
  static const kube::Resource resource{"authentication.open-cluster-management.io", "v1beta1", "managedserviceaccounts",
                                       "ManagedServiceAccount", true};
  return resource;
}

}  // namespace fleetadm::api
