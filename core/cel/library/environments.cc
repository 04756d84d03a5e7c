#include "core/cel/library/environments.h"

#include <optional>

#include "core/cel/library/libraries.h"

namespace fleetadm::cel {
namespace {

std::vector<Library> shared_libraries() {
  std::vector<Library> libraries;
  for (Library (*make)() : {standard_library, optional_library, strings_library, lists_library, regex_library, urls_library,
                            quantity_library, ip_library, cidr_library, format_library, semver_library}) {
    libraries.push_back(make());
  }
  return libraries;
}

}  // namespace

Result<Env> selector_environment() {
  std::vector<Library> libraries = shared_libraries();
  libraries.push_back(managed_cluster_library());
  libraries.push_back(json_library());
  return Env::build(std::move(libraries));
}

Result<Env> condition_environment(bool with_result) {
  std::vector<Library> libraries = shared_libraries();
  libraries.push_back(conditions_library());
  Library variables{.name = "condition rules"};
  variables.variables.push_back({"object", Type::dyn()});
  if (with_result) variables.variables.push_back({"result", Type::boolean()});
  libraries.push_back(std::move(variables));
  return Env::build(std::move(libraries));
}

Value taken_as(const Value& result) {
  if (result.is(Kind::kType)) return Value::string(result.as_type().name());
  if (!result.is(Kind::kOptional)) return result;
  const std::optional<Value> content = result.content();
  return content ? taken_as(*content) : Value::null();
}

}  // namespace fleetadm::cel
