// Schemas of custom resources, compiled once for all clusters of the process that have the same.
#pragma once

#include <memory>

#include "core/apimachinery/structural.h"
#include "kubeclient/base/json.h"

namespace fleetadm::sandbox {

struct CompiledSchema {
  Json text;  // openAPIV3Schema
  std::shared_ptr<const apimachinery::Structural> shape;
};

/// Null where it is not structural. Kept for as long as somebody holds it. Any thread.
std::shared_ptr<const CompiledSchema> compiled_schema(const Json& schema);

}  // namespace fleetadm::sandbox
