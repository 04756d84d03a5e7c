#include "core/install/intent.h"

#include <algorithm>

#include "core/work/rules/merge.h"

namespace fleetadm::install {
namespace {

/// Whether an element of an intent is the one with these keys. A key that it does not name is one that the server fills in.
bool may_have_keys(const Json& element, const Json& keys) {
  return std::all_of(keys.items().begin(), keys.items().end(), [&](const auto& key) {
    const Json* member = find(element, {key.key()});
    return member == nullptr || *member == key.value();
  });
}

/// What an entry of fieldsV1 ("f:spec", "k:{…}", "v:…") stands for in `intent`; null where that names nothing of the kind.
const Json* named_by(const Json& intent, std::string_view entry) {
  const std::string_view rest = entry.substr(2);
  if (entry.starts_with("f:")) return find(intent, {rest});
  if (!intent.is_array()) return nullptr;
  const auto wanted = parse_json(rest);
  if (!wanted) return nullptr;
  const auto element = std::find_if(intent.begin(), intent.end(), [&](const Json& one) {
    return entry.starts_with("k:") && wanted->is_object() ? may_have_keys(one, *wanted) : one == *wanted;
  });
  return element == intent.end() ? nullptr : &*element;
}

bool names_all(const Json& intent, const Json& owned) {
  return std::all_of(owned.items().begin(), owned.items().end(), [&](const auto& field) {
    if (field.key().size() < 2 || field.key().starts_with("i:")) return true;  // "." is the parent itself
    const Json* value = named_by(intent, field.key());
    return value != nullptr && names_all(*value, field.value());
  });
}

/// Servers leave out false where it is the default, so an intent that says it asks for nothing where `live` has no such field.
void drop_false(Json& intent, const Json& live) {
  if (intent.is_array() && live.is_array() && intent.size() == live.size()) {
    for (std::size_t i = 0; i < intent.size(); ++i) drop_false(intent[i], live[i]);
  }
  if (!intent.is_object() || !live.is_object()) return;
  for (auto member = intent.begin(); member != intent.end();) {
    const auto known = live.find(member.key());
    if (known == live.end() && *member == Json(false)) {
      member = intent.erase(member);
      continue;
    }
    if (known != live.end()) drop_false(*member, *known);
    ++member;
  }
}

}  // namespace

bool would_change(const Json& live, const Json& intent, std::string_view manager) {
  Json asked = intent;
  drop_false(asked, live);
  if (!work::covers(live, asked)) return true;
  const Json& entries = list_at(live, {"metadata", "managedFields"});
  return std::any_of(entries.begin(), entries.end(), [&](const Json& entry) {
    return str(entry, {"manager"}) == manager && str(entry, {"operation"}) == "Apply" && str(entry, {"subresource"}).empty() &&
           !names_all(intent, object_at(entry, {"fieldsV1"}));
  });
}

}  // namespace fleetadm::install
