#include "core/sandbox/validation/compiled_schema.h"

#include <utility>

#include "kubeclient/base/shared_values.h"

namespace fleetadm::sandbox {

std::shared_ptr<const CompiledSchema> compiled_schema(const Json& schema) {
  static auto* const kSchemas = new SharedValues<CompiledSchema>();  // for good: rows may outlive static objects
  return kSchemas->of(dump_json(schema), [&]() -> std::shared_ptr<const CompiledSchema> {
    auto compiled = apimachinery::Structural::compile(schema, "");
    if (!compiled) return nullptr;
    return std::make_shared<const CompiledSchema>(CompiledSchema{schema, std::move(*compiled)});
  });
}

}  // namespace fleetadm::sandbox
