// Which Services of the members may be reached by the service form: those of the ConfigMap cluster-proxy-exposed-services, and no
// others (docs/reference/gateway.md#exposed-services). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/proxy/rules/routes.h"
#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::proxy {

struct ExposedService {
  std::string ns;
  std::string name;
  std::string port;                   // empty: any
  std::string protocol;               // empty: either
  std::vector<std::string> clusters;  // empty: all
};

class ExposedServices {
 public:
  /// Of the ConfigMap, whose every key holds a YAML list of {namespace, service, port?, protocol?, clusters?}. kInvalid names the
  /// key and the field: a list that is half read exposes what nobody meant, or hides it.
  static Result<ExposedServices> parse(const Json& config_map);

  bool allows(std::string_view cluster, const ServiceTarget& service) const;
  std::size_t size() const { return entries_.size(); }

 private:
  std::vector<ExposedService> entries_;
};

}  // namespace fleetadm::proxy
