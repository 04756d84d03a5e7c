#include "core/sandbox/validation/update_checks.h"

#include <set>

namespace fleetadm::sandbox {

Json value_or_null(const Json& object, Path path) {
  const Json* found = find(object, path);
  return found == nullptr ? Json() : *found;
}

void take_member(const Json& from, Json& to, Path path) {
  if (const Json* value = find(from, path)) {
    at_or_make(to, path) = *value;
  } else {
    erase_at(to, path);
  }
}

std::string changed_members(const Json& before, const Json& after) {
  std::set<std::string> names;
  for (const Json* one : {&before, &after}) {
    if (!one->is_object()) continue;
    for (const auto& [name, value] : one->items()) names.insert(name);
  }
  std::string out;
  for (const auto& name : names) {
    const Json had = value_or_null(before, {name});
    const Json has = value_or_null(after, {name});
    if (had == has) continue;
    if (!had.is_null()) out += "\n- " + name + ": " + dump_json(had);
    if (!has.is_null()) out += "\n+ " + name + ": " + dump_json(has);
  }
  return out;
}

}  // namespace fleetadm::sandbox
