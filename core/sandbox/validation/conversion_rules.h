// spec.conversion of a custom resource definition: its defaults and what is wrong with it. Pure.
#pragma once

#include <vector>

#include "core/sandbox/model/error.h"

namespace fleetadm::sandbox {

/// Strategy None where nothing is said, port 443 of a webhook's service.
void default_conversion(Json& definition);
/// Causes name the fields as kube-apiserver does ("spec.conversion.webhookClientConfig" for
/// spec.conversion.webhook.clientConfig).
std::vector<Cause> conversion_problems(const Json& conversion);
/// A webhook's caBundle is a problem of its own: one that holds no certificate is taken until the definition is established
/// (which waits for a better one), and kept where it was so before.
bool has_bad_ca_bundle(const Json& conversion);
std::vector<Cause> ca_bundle_problems(const Json& conversion);

}  // namespace fleetadm::sandbox
