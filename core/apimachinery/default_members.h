// Small words that defaults are written with.
#pragma once

#include <string>
#include <utility>

#include "kubeclient/base/json.h"

namespace fleetadm::apimachinery {

/// Sets a member that is absent or null.
inline void set(Json& object, const char* name, Json value) {
  if (!object.is_object()) return;
  const auto at = object.find(name);
  if (at == object.end() || at->is_null()) object[name] = std::move(value);
}
/// The same for members whose zero value means "not said".
inline void fill(Json& object, const char* name, Json value) {
  if (!object.is_object()) return;
  const auto at = object.find(name);
  const bool empty = at == object.end() || at->is_null() || (at->is_string() && at->get_ref<const std::string&>().empty()) ||
                     (at->is_number() && *at == 0);
  if (empty) object[name] = std::move(value);
}
/// The object of that name, which is made where it is absent.
inline Json& object_in(Json& object, const char* name) {
  Json& found = object[name];
  if (!found.is_object()) found = Json::object();
  return found;
}
/// The member, where it is an object.
inline Json* member(Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto at = object.find(name);
  return at == object.end() || !at->is_object() ? nullptr : &*at;
}
/// Each object of a list.
template <class Visit>
void each(Json& object, const char* name, Visit visit) {
  if (!object.is_object()) return;
  const auto at = object.find(name);
  if (at == object.end() || !at->is_array()) return;
  for (Json& item : *at) {
    if (item.is_object()) visit(item);
  }
}

/// What is limited is also requested; of pods alone: workloads leave it to the pods that they make.
void request_limits(Json& pod_spec);

}  // namespace fleetadm::apimachinery
