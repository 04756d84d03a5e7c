#include "core/sandbox/api/tables.h"

#include "core/apimachinery/table.h"
#include "core/sandbox/engine/custom.h"

namespace fleetadm::sandbox {

Json partial_metadata(const Json& object, const std::string& version) { return apimachinery::partial_metadata(object, version); }

ApiResult<Json> make_table(const Kind& kind, std::vector<Json> objects, const Json& list_metadata,
                           const std::string& include_object, const std::string& version, Instant now) {
  const auto include = apimachinery::parse_include(include_object);
  if (!include) return bad_request(include.error().message);
  std::vector<const Json*> rows;
  rows.reserve(objects.size());
  for (const Json& object : objects) rows.push_back(&object);
  if (kind.custom != nullptr) {
    const auto printer = apimachinery::custom_printer(kind.custom->columns);
    return apimachinery::make_table(*printer, rows, list_metadata, *include, now, true, version);
  }
  return apimachinery::make_table(apimachinery::builtin_printer(kind.group, kind.kind), rows, list_metadata, *include, now, true,
                                  version);
}

}  // namespace fleetadm::sandbox
