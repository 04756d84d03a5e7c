#include "core/work/plan/diff.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/work/rules/held_fields.h"
#include "core/work/rules/ignore_fields.h"
#include "core/work/rules/merge.h"

namespace fleetadm::work {
namespace {

/// One step of a path: a member of an object, or an element of a list (with the element itself, for its keys).
struct DiffStep {
  std::string text;
  bool element = false;
  bool by_name = false;
  std::size_t index = 0;
  const Json* value = nullptr;
};

bool is_plain(std::string_view key) {
  return !key.empty() &&
         std::all_of(key.begin(), key.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
}

std::string path_of(const std::vector<DiffStep>& steps) {
  std::string path;
  for (const DiffStep& step : steps) {
    if (step.element) {
      path += step.by_name ? "[name=" + step.text + "]" : "[" + std::to_string(step.index) + "]";
    } else if (is_plain(step.text)) {
      path += (path.empty() ? "" : ".") + step.text;
    } else {
      path += "[" + step.text + "]";
    }
  }
  return path;
}

const Json* child_of(const Json& node, const DiffStep& step) {
  if (!step.element) return find(node, {"f:" + step.text});
  for (const auto& [key, child] : node.items()) {
    const std::string_view name(key);
    if (name.starts_with("k:") && step.value != nullptr && has_keys(*step.value, name.substr(2))) return &child;
    if (name == "i:" + std::to_string(step.index)) return &child;
    if (name.starts_with("v:") && step.value != nullptr && name.substr(2) == dump_json(*step.value)) return &child;
  }
  return nullptr;
}

enum class Hold { kNone, kAround, kExactly };

/// How an entry's fields hold a field: by its own node, or by a node around it that has no members (the whole of an atomic value;
/// of others, what is left of a manager whose members somebody else has written since).
Hold hold_of(const Json& fields, const std::vector<DiffStep>& steps) {
  const Json* node = &fields;
  for (const DiffStep& step : steps) {
    if (!node->is_object()) return Hold::kNone;
    if (node != &fields && node->empty()) return Hold::kAround;
    node = child_of(*node, step);
    if (node == nullptr) return Hold::kNone;
  }
  return Hold::kExactly;
}

/// Who has written a field: those who hold it exactly, and where nobody does, those who hold what is around it.
std::string managers_of(const Json& live, const std::vector<DiffStep>& steps) {
  std::map<Hold, std::set<std::string>> managers;
  for (const Json& entry : list_at(live, {"metadata", "managedFields"}))
    managers[hold_of(object_at(entry, {"fieldsV1"}), steps)].insert(str(entry, {"manager"}));
  std::string text;
  for (const std::string& manager : managers[managers.contains(Hold::kExactly) ? Hold::kExactly : Hold::kAround])
    text += (text.empty() ? "" : ", ") + manager;
  return text;
}

bool all_named(const Json& list) {
  return std::all_of(list.begin(), list.end(), [](const Json& one) { return !str(one, {"name"}).empty(); });
}

class Comparison {
 public:
  explicit Comparison(const Json& root) : root_(root) {}

  void compare(const Json& before, const Json& after) {
    if (before == after) return;
    if (before.is_object() && after.is_object()) return members(before, after);
    if (before.is_array() && after.is_array() && !before.empty() && !after.empty()) {
      if (all_named(before) && all_named(after)) return named(before, after);
      if (before.size() == after.size()) return positions(before, after);
    }
    changes_.push_back({path_of(steps_), before, after, before.is_null() ? std::string() : managers_of(root_, steps_)});
  }
  std::vector<FieldChange> take() { return std::move(changes_); }

 private:
  void step_into(DiffStep step, const Json& before, const Json& after) {
    steps_.push_back(std::move(step));
    compare(before, after);
    steps_.pop_back();
  }
  void members(const Json& before, const Json& after) {
    static const Json kAbsent;
    for (const auto& [key, value] : before.items()) {
      const auto other = after.find(key);
      step_into({key, false, false, 0, nullptr}, value, other == after.end() ? kAbsent : *other);
    }
    for (const auto& [key, value] : after.items()) {
      if (!before.contains(key)) step_into({key, false, false, 0, nullptr}, kAbsent, value);
    }
  }
  void named(const Json& before, const Json& after) {
    static const Json kAbsent;
    const auto with_name = [](const Json& list, const std::string& name) -> const Json& {
      const auto found = std::find_if(list.begin(), list.end(), [&](const Json& one) { return str(one, {"name"}) == name; });
      return found == list.end() ? kAbsent : *found;
    };
    std::size_t index = 0;
    for (const Json& one : before) {
      const std::string name = str(one, {"name"});
      step_into({name, true, true, index++, &one}, one, with_name(after, name));
    }
    for (const Json& one : after) {
      const std::string name = str(one, {"name"});
      if (with_name(before, name).is_null()) step_into({name, true, true, index++, nullptr}, kAbsent, one);
    }
  }
  void positions(const Json& before, const Json& after) {
    for (std::size_t i = 0; i < before.size(); ++i) step_into({{}, true, false, i, &before[i]}, before[i], after[i]);
  }

  const Json& root_;
  std::vector<DiffStep> steps_;
  std::vector<FieldChange> changes_;
};

/// Without what only the server writes, and without owners, which are the agent's own affair.
Json comparable(Json object) {
  object.erase("status");
  for (const char* key :
       {"managedFields", "resourceVersion", "generation", "creationTimestamp", "selfLink", "uid", "ownerReferences"}) {
    erase_at(object, {"metadata", key});
  }
  return object;
}

constexpr std::string_view kMask = "***";

/// The content of a Secret, and the copy of it that kubectl keeps.
void mask_secret(std::vector<FieldChange>& changes) {
  for (FieldChange& change : changes) {
    const bool content = change.path.starts_with("data") || change.path.starts_with("stringData");
    const bool copy = change.path.starts_with("metadata.annotations") || change.path == "metadata";
    if (!content && !copy) continue;
    if (!change.before.is_null()) change.before = kMask;
    if (!change.after.is_null()) change.after = change.before.is_null() ? Json(kMask) : Json("*** (another value)");
  }
}

std::vector<FieldChange> masked_changes(const Json& before, const Json& after, const Json& managed) {
  Comparison comparison(managed);
  comparison.compare(comparable(before), comparable(after));
  std::vector<FieldChange> changes = comparison.take();
  if (str(after, {"kind"}) == "Secret" || str(before, {"kind"}) == "Secret") mask_secret(changes);
  return changes;
}

/// The manifest as the strategy sends it.
Result<Json> sent(const Manifest& manifest, const UpdateStrategy& strategy, const Json& live) {
  Json intent = manifest.object;
  if (strategy.type == StrategyType::kServerSideApply && !strategy.ignore_fields.empty()) {
    FLEETADM_CHECK(settle_ignored_fields(strategy.ignore_fields, live, strategy.field_manager, false, intent));
  }
  return intent;
}

}  // namespace

std::string_view word_of(ObjectState state) {
  switch (state) {
    case ObjectState::kSame: return "same";
    case ObjectState::kChanged: return "changed";
    case ObjectState::kMissing: return "missing";
    case ObjectState::kAdded: return "added";
    case ObjectState::kRemoved: return "removed";
    case ObjectState::kUnreadable: return "unreadable";
  }
  return "same";
}

std::vector<FieldChange> field_changes(const Json& before, const Json& after) { return masked_changes(before, after, before); }

ObjectChange drift_of(const Manifest& manifest, const ManifestOptions& options, const std::optional<Json>& live) {
  ObjectChange change;
  change.object = manifest.describe();
  const StrategyType type = options.strategy.type;
  if (!live) {
    change.state = ObjectState::kMissing;
    if (type == StrategyType::kReadOnly) change.note = "ReadOnly: the agent does not create it";
    return change;
  }
  if (type == StrategyType::kReadOnly) return change;
  const Result<Json> wanted = sent(manifest, options.strategy, *live);
  if (!wanted) {
    change.state = ObjectState::kUnreadable;
    change.note = wanted.error().message;
    return change;
  }
  if (type == StrategyType::kServerSideApply && covers(comparable(*live), comparable(*wanted))) return change;
  const Owner nobody{"", ""};
  const Json written = object_to_repair(*wanted, *live, nobody, false);
  if (same_object(written, *live)) return change;
  change.fields = masked_changes(*live, written, *live);
  if (change.fields.empty()) return change;
  change.state = ObjectState::kChanged;
  if (type == StrategyType::kCreateOnly) change.note = "CreateOnly: the agent leaves it as it is";
  return change;
}

std::string manifest_identity(const Json& manifest) {
  return str(manifest, {"apiVersion"}) + " " + str(manifest, {"kind"}) + " " +
         kube::object_key(namespace_of(manifest), name_of(manifest));
}

std::vector<ObjectChange> manifest_changes(const Json& before, const Json& after) {
  std::map<std::string, const Json*> old;
  for (const Json& manifest : before) old.emplace(manifest_identity(manifest), &manifest);
  std::vector<ObjectChange> changes;
  for (const Json& manifest : after) {
    ObjectChange change;
    change.object = manifest_identity(manifest);
    const auto known = old.find(change.object);
    if (known == old.end()) {
      change.state = ObjectState::kAdded;
      changes.push_back(std::move(change));
      continue;
    }
    change.fields = field_changes(*known->second, manifest);
    old.erase(known);
    if (change.fields.empty()) continue;
    change.state = ObjectState::kChanged;
    changes.push_back(std::move(change));
  }
  for (const auto& [identity, manifest] : old) changes.push_back({identity, ObjectState::kRemoved, {}, {}});
  return changes;
}

Json to_json(const ObjectChange& change) {
  Json fields = Json::array();
  for (const FieldChange& field : change.fields) {
    fields.push_back({{"path", field.path}, {"before", field.before}, {"after", field.after}, {"manager", field.manager}});
  }
  Json json{{"object", change.object}, {"state", word_of(change.state)}, {"fields", std::move(fields)}};
  if (!change.note.empty()) json["note"] = change.note;
  return json;
}

}  // namespace fleetadm::work
