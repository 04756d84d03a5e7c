// What is wrong with a custom resource definition, whatever was stored before
// (docs/reference/kubernetes-api.md#custom-resource-definitions). Pure.
#pragma once

#include <vector>

#include "core/sandbox/model/error.h"

namespace fleetadm::sandbox {

/// Causes name fields as kube-apiserver does: what all versions give alike (as the one version does) is told of the definition
/// ("spec.validation.openAPIV3Schema", "spec.additionalPrinterColumns[0].type"), else of each version
/// ("spec.versions[1].schema.openAPIV3Schema").
std::vector<Cause> definition_problems(const Json& definition);

}  // namespace fleetadm::sandbox
