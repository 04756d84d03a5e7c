// What a kube-apiserver fills into objects of built-in kinds when it decodes them (measured on 1.35.4): the same at create,
// update and patch. What it fills in only when it creates (uids, cluster IPs, a pod's tolerations and service account, status) is
// not here. Pure.
#pragma once

#include "kubeclient/base/json.h"

namespace fleetadm::apimachinery {

/// Defaults by apiVersion and kind; objects of other kinds stay as they are. The object has been through decode_builtin().
void apply_defaults(Json& object);

/// Defaults of a pod's spec ("spec" of a Pod, "spec.template.spec" of a workload).
void apply_pod_defaults(Json& spec);

}  // namespace fleetadm::apimachinery
