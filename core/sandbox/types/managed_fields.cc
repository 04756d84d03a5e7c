#include "core/sandbox/types/managed_fields.h"

#include <algorithm>
#include <tuple>

#include "core/sandbox/types/typed.h"

namespace fleetadm::sandbox::types {
namespace {

struct Entry {
  std::string manager, operation, api_version, time, subresource;
  FieldSet fields;

  bool is_apply() const { return operation == "Apply"; }
  /// An apply manager is one whatever version it applied with.
  bool same_identity(const Entry& other) const {
    return manager == other.manager && operation == other.operation && subresource == other.subresource &&
           (is_apply() || api_version == other.api_version);
  }
};
using Entries = std::vector<Entry>;

std::optional<Entries> decode(const Json& object) {
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

void encode(Entries entries, Json& object) {
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

/// Fields that are the server's own and nobody's.
const FieldSet& untracked() {
  static const FieldSet kSet = [] {
    FieldSet set;
    for (const char* name : {"apiVersion", "kind", "metadata"}) set.children[field_element(name)].member = true;
    FieldSet& metadata = set.children["f:metadata"];
    for (const char* name : {"name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation",
                             "managedFields", "resourceVersion"}) {
      metadata.children[field_element(name)].member = true;
    }
    return set;
  }();
  return kSet;
}

FieldSet reset_set(const Writer& writer) {
  FieldSet set;
  for (const std::string& field : writer.reset) set.add(FieldSet::of_field(field));
  return set;
}

Json without_managed_fields(Json object) {
  erase_at(object, {"metadata", "managedFields"});
  return object;
}

Entry* find_entry(Entries& entries, const Entry& wanted) {
  const auto at = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.same_identity(wanted); });
  return at == entries.end() ? nullptr : &*at;
}

/// Takes what changed from the managers other than `mine`; answers whose fields those were.
std::vector<std::pair<Entry, FieldSet>> dispossess(Entries& entries, const Entry& mine, const Difference& difference) {
  FieldSet written = difference.modified;
  written.add(difference.added);
  std::vector<std::pair<Entry, FieldSet>> taken;
  for (Entry& entry : entries) {
    if (entry.same_identity(mine)) continue;
    FieldSet conflict = entry.fields.intersection(written);
    if (!conflict.empty()) {
      taken.emplace_back(entry, conflict);
      entry.fields.subtract(conflict);
    }
  }
  for (Entry& entry : entries) entry.fields.subtract(difference.removed);
  return taken;
}

void drop_empty(Entries& entries) {
  std::erase_if(entries, [](const Entry& entry) { return entry.fields.empty(); });
}

/// The oldest entries beyond the limit become one a version.
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

std::string conflict_text(const Entry& owner) {
  std::string text = "\"" + owner.manager + "\"";
  if (!owner.subresource.empty()) text += " with subresource \"" + owner.subresource + "\"";
  if (!owner.is_apply()) text += " using " + owner.api_version;
  return text;
}

Refusal conflicts(const std::vector<std::pair<Entry, FieldSet>>& taken) {
  Refusal refusal{.code = 409, .reason = "Conflict", .message = {}, .causes = {}};
  std::map<std::string, std::vector<std::string>> by_owner;
  for (const auto& [owner, fields] : taken) {
    for (const std::string& path : fields.paths()) {
      const std::string text = "conflict with " + conflict_text(owner);
      refusal.causes.push_back({"FieldManagerConflict", text, path});
      by_owner[conflict_text(owner)].push_back(path);
    }
  }
  if (refusal.causes.size() == 1) {
    refusal.message = "Apply failed with 1 conflict: " + refusal.causes[0].message + ": " + refusal.causes[0].field;
    return refusal;
  }
  refusal.message = "Apply failed with " + std::to_string(refusal.causes.size()) + " conflicts: ";
  bool first = true;
  for (const auto& [owner, paths] : by_owner) {
    refusal.message += (first ? "conflicts with " : "\nconflicts with ") + owner + ":";
    for (const std::string& path : paths) refusal.message += "\n- " + path;
    first = false;
  }
  return refusal;
}

std::string kind_text(const Json& object) {
  const std::string api_version = str(object, {"apiVersion"});
  const auto [group, version] = split_api_version(api_version);
  return std::string(group) + "/" + std::string(version) + ", Kind=" + str(object, {"kind"});
}

bool is_reset(const Json* list) {
  if (list == nullptr || !list->is_array()) return false;
  return list->empty() || (list->size() == 1 && list->front().is_object() && list->front().empty());
}

Json without_times(const Json& object) {
  Json copy = object;
  if (Json* list = const_cast<Json*>(find(copy, {"metadata", "managedFields"})); list != nullptr && list->is_array()) {
    for (Json& entry : *list) {
      if (entry.is_object()) entry.erase("time");
    }
  }
  return copy;
}

}  // namespace

tl::expected<Json, Refusal> apply_intent(const Json* live, const Json& empty, Json intent, const TypeNode& type,
                                         const Writer& writer, bool force) {
  if (const Json* given = find(intent, {"metadata", "managedFields"}); given != nullptr && !given->is_null() && !given->empty()) {
    return tl::unexpected(
        Refusal{.code = 400, .reason = "BadRequest", .message = "metadata.managedFields must be nil", .causes = {}});
  }
  erase_at(intent, {"metadata", "managedFields"});
  const auto errors = type_errors(intent, type);
  if (!errors.empty()) {
    std::string text = errors.front();
    if (errors.size() > 1) {
      text = "errors:";
      for (const std::string& error : errors) text += "\n  " + error;
    }
    return tl::unexpected(Refusal{.code = 500,
                                  .reason = {},
                                  .message = "failed to create typed patch object (" + namespace_of(intent) + "/" +
                                             name_of(intent) + "; " + kind_text(intent) + "): " + text,
                                  .causes = {}});
  }
  Entries entries = live == nullptr ? Entries() : decode(*live).value_or(Entries());
  const Json before = without_managed_fields(live == nullptr ? empty : *live);
  const FieldSet ignored = reset_set(writer);
  if (live != nullptr && entries.empty()) {
    // What is there before anyone applied belongs to no one in particular.
    Entry first{"before-first-apply",    "Update", writer.api_version,
                format_time(writer.now), "",       compare(empty, before, type).added};
    first.fields.subtract(untracked());
    first.fields.subtract_below(ignored);
    if (!first.fields.empty()) entries.push_back(std::move(first));
  }

  // Fields that this endpoint does not write are not part of the intent.
  for (const std::string& field : writer.reset) intent.erase(field);
  Entry mine{writer.manager, "Apply", writer.api_version, format_time(writer.now), writer.subresource, fields_of(intent, type)};
  mine.fields.subtract(untracked());
  FieldSet last;
  std::string last_time;
  if (Entry* known = find_entry(entries, mine)) {
    last = std::move(known->fields);
    last_time = known->time;
    std::erase_if(entries, [&](const Entry& entry) { return entry.same_identity(mine); });
  }
  Json merged = merge_intent(before, intent, type);
  if (!last.empty()) {
    FieldSet owned = fields_of(intent, type);  // with what identifies the object
    for (const Entry& entry : entries) owned.add(entry.fields);
    prune_fields(merged, type, last, owned);
  }
  Difference difference = compare(before, merged, type);
  for (FieldSet* set : {&difference.added, &difference.modified, &difference.removed}) {
    set->subtract_below(ignored);
    set->subtract(untracked());
  }
  entries.push_back(mine);
  const auto taken = dispossess(entries, mine, difference);
  if (!taken.empty() && !force) return tl::unexpected(conflicts(taken));
  if (Entry* kept = find_entry(entries, mine)) {
    if (difference.empty() && kept->fields == last && !last_time.empty()) kept->time = last_time;
  }
  drop_empty(entries);
  fold_ancient(entries);
  encode(std::move(entries), merged);
  if (live != nullptr && same_but_times(merged, *live)) return *live;
  return merged;
}

Json track_update(const Json* live, const Json& empty, Json updated, const TypeNode& type, const Writer& writer) {
  const Json* given = find(updated, {"metadata", "managedFields"});
  const Json before = without_managed_fields(live == nullptr ? empty : *live);
  Entries entries;
  if (live != nullptr) {
    if (writer.subresource.empty() && is_reset(given)) return without_managed_fields(std::move(updated));
    if (writer.subresource.empty() && given != nullptr) entries = decode(updated).value_or(Entries());
    if (entries.empty()) entries = decode(*live).value_or(Entries());
    if (entries.empty()) return without_managed_fields(std::move(updated));
  }
  Json after = without_managed_fields(std::move(updated));
  Difference difference = compare(before, after, type);
  const FieldSet ignored = reset_set(writer);
  for (FieldSet* set : {&difference.added, &difference.modified, &difference.removed}) {
    set->subtract_below(ignored);
    set->subtract(untracked());
  }
  const Entry mine{writer.manager, "Update", writer.api_version, format_time(writer.now), writer.subresource, {}};
  dispossess(entries, mine, difference);
  Entry* known = find_entry(entries, mine);
  if (known == nullptr) {
    entries.push_back(mine);
    known = &entries.back();
  }
  const FieldSet had = known->fields;
  known->fields.add(difference.modified);
  known->fields.add(difference.added);
  if (!(known->fields == had) || !difference.modified.empty()) known->time = mine.time;
  drop_empty(entries);
  fold_ancient(entries);
  encode(std::move(entries), after);
  return after;
}

bool same_but_times(const Json& a, const Json& b) { return a == b || without_times(a) == without_times(b); }

}  // namespace fleetadm::sandbox::types
