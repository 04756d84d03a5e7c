#include "core/apimachinery/managed_fields.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string_view>

#include "core/apimachinery/managed_entries.h"
#include "core/apimachinery/typed.h"

namespace fleetadm::apimachinery {
namespace {

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

/// What a write changes, in the words of each version in which managers own fields.
class VersionedChanges {
 public:
  struct Change {
    Difference difference;
    FieldSet written;
  };

  VersionedChanges(const Json& before, const Json& after, const TypeNode& type, const Writer& writer)
      : before_(before), after_(after), writer_(writer), own_(compared(before, after, type)) {}

  const Difference& own() const { return own_.difference; }
  /// Null: that version is gone. Else why it cannot be said.
  Result<const Change*> in(const std::string& api_version) {
    if (!writer_.convert || api_version == writer_.api_version) return &own_;
    if (const auto known = others_.find(api_version); known != others_.end()) return known->second ? &*known->second : nullptr;
    auto& place = others_[api_version];
    auto before = writer_.convert(before_, api_version);
    if (!before) return fail(before.error().wrap("failed to convert old object"));
    if (before->type == nullptr) return nullptr;
    auto after = writer_.convert(after_, api_version);
    if (!after) return fail(after.error().wrap("failed to convert new object"));
    place = compared(before->object, after->object, *before->type);
    return &*place;
  }

 private:
  Change compared(const Json& before, const Json& after, const TypeNode& type) const {
    Change out;
    out.difference = compare(before, after, type);
    for (FieldSet* set : {&out.difference.added, &out.difference.modified, &out.difference.removed}) {
      set->subtract_below(reset_set(writer_));
      set->subtract(untracked());
    }
    out.written = out.difference.modified;
    out.written.add(out.difference.added);
    return out;
  }

  const Json& before_;
  const Json& after_;
  const Writer& writer_;
  Change own_;
  std::map<std::string, std::optional<Change>> others_;
};

using Taken = std::vector<std::pair<Entry, FieldSet>>;

/// Takes what changed from the managers other than `mine`; answers whose fields those were.
Result<Taken> dispossess(Entries& entries, const Entry& mine, VersionedChanges& changes) {
  Taken taken;
  Entries kept;
  for (Entry& entry : entries) {
    if (entry.same_identity(mine)) {
      entry.fields.subtract(changes.own().removed);
      kept.push_back(std::move(entry));
      continue;
    }
    const auto change = changes.in(entry.api_version);
    if (!change) return fail(change.error());
    if (*change == nullptr) continue;
    if (FieldSet conflict = entry.fields.intersection((*change)->written); !conflict.empty()) {
      taken.emplace_back(entry, conflict);
      entry.fields.subtract(conflict);
    }
    entry.fields.subtract((*change)->difference.removed);
    kept.push_back(std::move(entry));
  }
  entries = std::move(kept);
  return taken;
}

/// Takes exactly these fields out, and containers of which nothing is left.
void remove_fields(Json& value, const TypeNode& type, const FieldSet& dropped) {
  FieldSet kept = fields_of(value, type);
  kept.subtract(dropped);
  prune_fields(value, type, dropped, kept);
}

/// prune_fields() where managers speak several versions: what the writer applied `last` and no longer wants goes in the version
/// that it was applied in; what that takes away in other versions, and their managers (the writer at last) own, stays.
Result<Json> prune_across(const Json& merged, const FieldSet& last, const std::string& last_version, const Entries& entries,
                          const FieldSet& intent, const Writer& writer) {
  std::map<std::string, FieldSet> owned;
  for (const Entry& entry : entries) owned[entry.api_version].add(entry.fields);
  owned[writer.api_version].add(intent);
  auto start = writer.convert(merged, last_version);
  if (!start) return fail(start.error().wrap("failed to convert merged object to last applied version"));
  if (start->type == nullptr) return merged;
  Json pruned = std::move(start->object);
  FieldSet dropped = last.intersection(fields_of(pruned, *start->type));
  dropped.subtract(owned[last_version]);
  remove_fields(pruned, *start->type, dropped);
  const auto put_back = [&](const std::string& version) -> Status {
    auto whole = writer.convert(merged, version);
    if (!whole) return fail(whole.error().wrap("failed to convert merged object at version " + version));
    if (whole->type == nullptr) return {};
    const auto rest = writer.convert(pruned, version);
    if (!rest) return fail(rest.error().wrap("failed to convert pruned object at version " + version));
    FieldSet gone = fields_of(whole->object, *whole->type);
    gone.subtract(fields_of(rest->object, *whole->type));
    gone.subtract(owned[version]);
    remove_fields(whole->object, *whole->type, gone);
    pruned = std::move(whole->object);
    return {};
  };
  for (const auto& [version, fields] : owned) {
    if (version == last_version || version == writer.api_version) continue;
    FLEETADM_CHECK(put_back(version));
  }
  if (writer.api_version != last_version) {
    FLEETADM_CHECK(put_back(writer.api_version));
  }
  auto end = writer.convert(pruned, writer.api_version);
  if (!end) return fail(end.error().wrap("failed to convert pruned object"));
  return std::move(end->object);
}

std::string conflict_text(const Entry& owner) {
  std::string text = "\"" + owner.manager + "\"";
  if (!owner.subresource.empty()) text += " with subresource \"" + owner.subresource + "\"";
  if (!owner.is_apply()) text += " using " + owner.api_version;
  return text;
}

ApiError conflicts(const std::vector<std::pair<Entry, FieldSet>>& taken) {
  ApiError error{.code = 409, .reason = "Conflict"};
  Causes causes;
  std::map<std::string, std::vector<std::string>> by_owner;
  for (const auto& [owner, fields] : taken) {
    for (const std::string& path : fields.paths()) {
      const std::string text = "conflict with " + conflict_text(owner);
      causes.push_back({"FieldManagerConflict", text, path});
      by_owner[conflict_text(owner)].push_back(path);
    }
  }
  error.details["causes"] = to_json(causes);
  if (causes.size() == 1) {
    error.message = "Apply failed with 1 conflict: " + causes[0].message + ": " + causes[0].field;
    return error;
  }
  error.message = "Apply failed with " + std::to_string(causes.size()) + " conflicts: ";
  bool first = true;
  for (const auto& [owner, paths] : by_owner) {
    error.message += (first ? "conflicts with " : "\nconflicts with ") + owner + ":";
    for (const std::string& path : paths) error.message += "\n- " + path;
    first = false;
  }
  return error;
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

/// Without what stands at `path`, in which "*" is every item of a list.
bool same_but(const Json& a, const Json& b, std::span<const std::string_view> path) {
  const auto below = path.subspan(1);
  if (path.front() == "*" && a.is_array() && b.is_array()) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](const Json& left, const Json& right) { return same_but(left, right, below); });
  }
  if (!a.is_object() || !b.is_object()) return a == b;
  auto left = a.begin();
  auto right = b.begin();
  const auto skip = [&](auto& at, const auto& end) {
    if (below.empty() && at != end && at.key() == path.front()) ++at;
  };
  for (;; ++left, ++right) {
    skip(left, a.end());
    skip(right, b.end());
    if (left == a.end() || right == b.end()) return left == a.end() && right == b.end();
    if (left.key() != right.key()) return false;
    if (!below.empty() && left.key() == path.front() ? !same_but(*left, *right, below) : *left != *right) return false;
  }
}

ApiStatus check_type(const Json& intent, const TypeNode& type) {
  const auto errors = type_errors(intent, type);
  if (errors.empty()) return {};
  std::string text = errors.front();
  if (errors.size() > 1) {
    text = "errors:";
    for (const std::string& error : errors) text += "\n  " + error;
  }
  return api_fail(500, {},
                  "failed to create typed patch object (" + namespace_of(intent) + "/" + name_of(intent) + "; " +
                      kind_text(intent) + "): " + text);
}

/// What is there before anyone applied belongs to no one in particular.
Entry before_first_apply(const Json& before, const Json& empty, const TypeNode& type, const Writer& writer) {
  Entry first{"before-first-apply",    "Update", writer.api_version,
              format_time(writer.now), "",       compare(empty, before, type).added};
  first.fields.subtract(untracked());
  first.fields.subtract_below(reset_set(writer));
  return first;
}

}  // namespace

ApiResult<Json> apply_intent(const Json* live, const Json& empty, Json intent, const TypeNode& type, const Writer& writer,
                             bool force) {
  if (const Json* given = find(intent, {"metadata", "managedFields"}); given != nullptr && !given->is_null() && !given->empty()) {
    return api_fail(400, "BadRequest", "metadata.managedFields must be nil");
  }
  erase_at(intent, {"metadata", "managedFields"});
  FLEETADM_CHECK(check_type(intent, type));
  Entries entries = live == nullptr ? Entries() : decode_entries(*live).value_or(Entries());
  const Json before = without_managed_fields(live == nullptr ? empty : *live);
  if (live != nullptr && entries.empty()) {
    if (Entry first = before_first_apply(before, empty, type, writer); !first.fields.empty()) entries.push_back(std::move(first));
  }
  // Fields that this endpoint does not write are not part of the intent.
  for (const std::string& field : writer.reset) intent.erase(field);
  Entry mine{writer.manager, "Apply", writer.api_version, format_time(writer.now), writer.subresource, fields_of(intent, type)};
  mine.fields.subtract(untracked());
  FieldSet last;
  std::string last_time;
  std::string last_version;
  if (Entry* known = find_entry(entries, mine)) {
    last = std::move(known->fields);
    last_time = known->time;
    last_version = known->api_version;
    std::erase_if(entries, [&](const Entry& entry) { return entry.same_identity(mine); });
  }
  Json merged = merge_intent(before, intent, type);
  if (!last.empty()) {
    FieldSet owned = fields_of(intent, type);  // with what identifies the object
    const auto differs = [&](const Entry& entry) { return entry.api_version != writer.api_version; };
    if (writer.convert && (last_version != writer.api_version || std::any_of(entries.begin(), entries.end(), differs))) {
      auto pruned = prune_across(merged, last, last_version, entries, owned, writer);
      if (!pruned) return api_fail(500, {}, "failed to prune fields: " + pruned.error().message);
      merged = std::move(*pruned);
    } else {
      for (const Entry& entry : entries) owned.add(entry.fields);
      prune_fields(merged, type, last, owned);
    }
  }
  VersionedChanges changes(before, merged, type, writer);
  entries.push_back(mine);
  const auto taken = dispossess(entries, mine, changes);
  if (!taken) return api_fail(500, {}, taken.error().message);
  if (!taken->empty() && !force) return tl::unexpected(conflicts(*taken));
  if (Entry* kept = find_entry(entries, mine)) {
    if (merged == before) kept->time = last_time;  // who changes nothing leaves no time
  }
  drop_empty(entries);
  fold_ancient(entries);
  encode_entries(std::move(entries), merged);
  if (live != nullptr && same_but_times(merged, *live)) return *live;
  return merged;
}

Json track_update(const Json* live, const Json& empty, Json updated, const TypeNode& type, const Writer& writer) {
  const Json* given = find(updated, {"metadata", "managedFields"});
  const Json before = without_managed_fields(live == nullptr ? empty : *live);
  Entries entries;
  if (live != nullptr) {
    if (writer.subresource.empty() && is_reset(given)) return without_managed_fields(std::move(updated));
    if (writer.subresource.empty() && given != nullptr) entries = decode_entries(updated).value_or(Entries());
    if (entries.empty()) entries = decode_entries(*live).value_or(Entries());
    if (entries.empty()) return without_managed_fields(std::move(updated));
  }
  Json after = without_managed_fields(std::move(updated));
  VersionedChanges changes(before, after, type, writer);
  const Difference& difference = changes.own();
  const auto time = writer.timeless ? std::string() : format_time(writer.now);
  const Entry mine{writer.manager, "Update", writer.api_version, time, writer.subresource, {}};
  if (!dispossess(entries, mine, changes)) return after;
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
  encode_entries(std::move(entries), after);
  return after;
}

bool same_but_times(const Json& a, const Json& b) {
  static constexpr std::array<std::string_view, 4> kTimes = {"metadata", "managedFields", "*", "time"};
  return same_but(a, b, kTimes);
}

}  // namespace fleetadm::apimachinery
