#include "core/install/owned_fields.h"

#include <algorithm>
#include <string>
#include <utility>

namespace fleetadm::install {
namespace {

/// fieldsV1 that names a value and nothing in it: all of the value is owned.
bool is_whole(const Json& fields) { return fields.empty(); }

/// `lenient`: a key that the element does not name is one that the server fills in (a port's protocol).
bool has_values(const Json& element, const Json& keys, bool lenient) {
  return keys.is_object() && std::all_of(keys.items().begin(), keys.items().end(), [&](const auto& key) {
           const Json* member = find(element, {key.key()});
           return member == nullptr ? lenient : *member == key.value();
         });
}

/// Whether an entry of fieldsV1 ("k:{…}" or "v:…") means the element.
bool means(const std::string& entry, const Json& element, bool lenient) {
  const bool by_keys = entry.starts_with("k:");
  if (!by_keys && !entry.starts_with("v:")) return false;
  const auto wanted = parse_json(std::string_view(entry).substr(2));
  return wanted && (by_keys ? has_values(element, *wanted, lenient) : element == *wanted);
}

void keep(Json& into, const Json& live, const Json& fields);

void keep_member(Json& into, const std::string& name, const Json& live, const Json& fields) {
  const auto value = live.find(name);
  if (value == live.end()) return;
  const bool known = into.contains(name);
  if (is_whole(fields)) {
    if (!known) into[name] = *value;
    return;
  }
  if (!known) into[name] = value->is_array() ? Json::array() : Json::object();
  keep(into[name], *value, fields);
}

void keep_element(Json& into, const Json& element, const std::string& entry, const Json& fields) {
  const auto present = std::find_if(into.begin(), into.end(), [&](const Json& one) { return means(entry, one, true); });
  if (present != into.end()) return keep(*present, element, fields);
  if (is_whole(fields) || !element.is_object()) {
    into.push_back(element);
    return;
  }
  Json made = Json::object();
  keep(made, element, fields);
  into.push_back(std::move(made));
}

/// `into` gains what `fields` names of `live`; elements of lists in the order in which they are there.
void keep(Json& into, const Json& live, const Json& fields) {
  if (into.is_object() && live.is_object()) {
    for (const auto& field : fields.items()) {
      if (field.key().starts_with("f:")) keep_member(into, field.key().substr(2), live, field.value());
    }
  }
  if (!into.is_array() || !live.is_array()) return;
  for (const Json& element : live) {
    for (const auto& field : fields.items()) {
      if (means(field.key(), element, false)) keep_element(into, element, field.key(), field.value());
    }
  }
}

/// A manager has at most one such entry of an object.
const Json* fields_of(const Json& live, std::string_view manager) {
  for (const Json& entry : list_at(live, {"metadata", "managedFields"})) {
    if (str(entry, {"manager"}) == manager && str(entry, {"operation"}) == "Apply" && str(entry, {"subresource"}).empty())
      return find(entry, {"fieldsV1"});
  }
  return nullptr;
}

}  // namespace

Json applied_by(const Json& live, std::string_view manager) {
  const Json* fields = fields_of(live, manager);
  if (fields == nullptr) return {};
  Json intent{{"apiVersion", str(live, {"apiVersion"})}, {"kind", str(live, {"kind"})}, {"metadata", {{"name", name_of(live)}}}};
  if (!namespace_of(live).empty()) intent["metadata"]["namespace"] = namespace_of(live);
  keep(intent, live, *fields);
  return intent;
}

void keep_applied(Json& intent, const Json& live, std::string_view manager, std::initializer_list<std::string_view> path) {
  const Json* fields = fields_of(live, manager);
  const Json* from = &live;
  for (const std::string_view name : path) {
    fields = fields == nullptr ? nullptr : find(*fields, {"f:" + std::string(name)});
    from = from == nullptr ? nullptr : find(*from, {name});
  }
  if (fields != nullptr && from != nullptr) keep(at_or_make(intent, path), *from, *fields);
}

}  // namespace fleetadm::install
