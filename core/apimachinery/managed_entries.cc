#include "core/apimachinery/managed_entries.h"

#include <algorithm>
#include <tuple>

#include "core/apimachinery/managed_fields.h"

namespace fleetadm::apimachinery {

std::optional<Entries> decode_entries(const Json& object) {
  Entries entries;
  const Json* list = find(object, {"metadata", "managedFields"});
  if (list == nullptr || !list->is_array()) return entries;
  for (const Json& given : *list) {
    Entry entry{str(given, {"manager"}), str(given, {"operation"}),   str(given, {"apiVersion"}),
                str(given, {"time"}),    str(given, {"subresource"}), {}};
    if (entry.operation != "Apply" && entry.operation != "Update") return std::nullopt;
    auto fields = FieldSet::from_json(object_at(given, {"fieldsV1"}));
    if (!fields) return std::nullopt;
    entry.fields = std::move(*fields);
    entries.push_back(std::move(entry));
  }
  return entries;
}

void encode_entries(Entries entries, Json& object) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.operation, a.time, a.manager, a.api_version, a.subresource) <
           std::tie(b.operation, b.time, b.manager, b.api_version, b.subresource);
  });
  Json list = Json::array();
  for (const Entry& entry : entries) {
    Json given = {{"manager", entry.manager},
                  {"operation", entry.operation},
                  {"apiVersion", entry.api_version},
                  {"fieldsType", "FieldsV1"},
                  {"fieldsV1", entry.fields.to_json()}};
    if (!entry.time.empty()) given["time"] = entry.time;
    if (!entry.subresource.empty()) given["subresource"] = entry.subresource;
    list.push_back(std::move(given));
  }
  if (list.empty()) {
    erase_at(object, {"metadata", "managedFields"});
  } else {
    at_or_make(object, {"metadata", "managedFields"}) = std::move(list);
  }
}

Entry* find_entry(Entries& entries, const Entry& wanted) {
  const auto at = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.same_identity(wanted); });
  return at == entries.end() ? nullptr : &*at;
}

void drop_empty(Entries& entries) {
  std::erase_if(entries, [](const Entry& entry) { return entry.fields.empty(); });
}

void fold_ancient(Entries& entries) {
  const auto updates = std::count_if(entries.begin(), entries.end(), [](const Entry& entry) { return !entry.is_apply(); });
  auto excess = static_cast<std::ptrdiff_t>(updates) - static_cast<std::ptrdiff_t>(kMaxUpdateManagers);
  if (excess <= 0) return;
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.time < b.time; });
  Entries kept;
  Entries ancient;
  ++excess;  // the fold itself is an entry
  for (Entry& entry : entries) {
    if (entry.is_apply() || excess <= 0) {
      kept.push_back(std::move(entry));
      continue;
    }
    --excess;
    entry.manager = "ancient-changes";
    entry.subresource.clear();
    if (Entry* known = find_entry(ancient, entry)) {
      known->fields.add(entry.fields);
      known->time = std::max(known->time, entry.time);
    } else {
      ancient.push_back(std::move(entry));
    }
  }
  for (Entry& entry : ancient) {
    if (Entry* known = find_entry(kept, entry)) {
      known->fields.add(entry.fields);
    } else {
      kept.push_back(std::move(entry));
    }
  }
  entries = std::move(kept);
}

}  // namespace fleetadm::apimachinery
