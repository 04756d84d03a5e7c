#include "core/controller/controller.h"

namespace fleetadm::controller {
namespace {

/// Writes `value` under `key` where it differs; true where it did.
bool assign(Json& entry, const char* key, const Json& value) {
  const auto known = entry.find(key);
  if (known != entry.end() && *known == value) return false;
  entry[key] = value;
  return true;
}

}  // namespace

bool set_condition(Json& conditions, std::string_view type, std::string_view status, std::string_view reason,
                   std::string_view message, Instant now, std::int64_t observed_generation) {
  if (!conditions.is_array()) conditions = Json::array();
  Json* entry = nullptr;
  for (Json& one : conditions) {
    if (one.is_object() && str(one, {"type"}) == type) {
      entry = &one;
      break;
    }
  }
  bool changed = entry == nullptr;
  if (entry == nullptr) {
    conditions.push_back(Json{{"type", type}});
    entry = &conditions.back();
  }
  if (assign(*entry, "status", std::string(status))) {
    changed = true;
    (*entry)["lastTransitionTime"] = format_time(now);
  }
  if (str(*entry, {"lastTransitionTime"}).empty()) {
    changed = true;
    (*entry)["lastTransitionTime"] = format_time(now);
  }
  changed |= assign(*entry, "reason", std::string(reason));
  changed |= assign(*entry, "message", std::string(message));
  if (observed_generation >= 0) changed |= assign(*entry, "observedGeneration", observed_generation);
  return changed;
}

const Json* find_condition(const Json& object, std::string_view type) {
  for (const Json& one : list_at(object, {"status", "conditions"})) {
    if (str(one, {"type"}) == type) return &one;
  }
  return nullptr;
}

bool condition_is(const Json& object, std::string_view type, std::string_view status) {
  const Json* condition = find_condition(object, type);
  return condition != nullptr && str(*condition, {"status"}) == status;
}

}  // namespace fleetadm::controller
