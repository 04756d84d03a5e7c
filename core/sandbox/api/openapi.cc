// OpenAPI v3 documents of what is served.
#include "core/sandbox/types/openapi.h"

#include "core/sandbox/api/custom.h"
#include "core/sandbox/api/discovery.h"

namespace fleetadm::sandbox {

Json openapi_document(const std::vector<KindPtr>& rows) {
  std::vector<types::OpenApiResource> resources;
  for (const auto& row : rows) {
    types::OpenApiResource one;
    one.plural = row->plural;
    one.kind = row->kind;
    one.namespaced = row->namespaced;
    one.verbs = row->verbs;
    for (const auto& sub : row->subresources) one.subresources.push_back(sub.name);
    if (row->custom != nullptr) one.custom_schema = &row->custom->schema;
    one.list_kind = row->list_kind;
    resources.push_back(std::move(one));
  }
  const auto& first = *rows.front();
  return types::openapi_v3(first.group, first.version, resources, "v1.35.4");
}

}  // namespace fleetadm::sandbox
