#include "core/work/rules/held_fields.h"

#include <algorithm>
#include <string>
#include <utility>

namespace fleetadm::work {
namespace {

/// Whether the entry's name is that of a list element.
bool names_element(std::string_view name, const Json& value, std::size_t index) {
  if (name.starts_with("k:")) return has_keys(value, name.substr(2));
  if (name.starts_with("v:")) return name.substr(2) == dump_json(value);
  return name == "i:" + std::to_string(index);
}

/// A node with members of its own ("." is the place itself).
bool has_members(const Json& node) {
  return node.is_object() &&
         std::any_of(node.items().begin(), node.items().end(), [](const auto& one) { return one.key() != "."; });
}

/// Comparing elements takes time by the square of their number: a longer list is taken for an atomic one.
constexpr std::size_t kLongestList = 256;

}  // namespace

bool has_keys(const Json& element, std::string_view keys) {
  const Result<Json> wanted = parse_json(keys);
  if (!wanted || !wanted->is_object()) return false;
  return std::all_of(wanted->items().begin(), wanted->items().end(), [&](const auto& entry) {
    const Json* member = find(element, {entry.key()});
    return member != nullptr && *member == entry.value();
  });
}

HeldFields HeldFields::of(const Json& live, std::string_view manager) {
  HeldFields held;
  const Json& entries = list_at(live, {"metadata", "managedFields"});
  held.all_ = entries.empty();
  for (const Json& entry : entries) {
    if (!str(entry, {"subresource"}).empty()) continue;
    const Json* node = find(entry, {"fieldsV1"});
    if (node == nullptr) continue;
    held.nodes_.push_back(node);
    // What a manager does not apply any more is removed; what it has updated stays.
    if (str(entry, {"manager"}) != manager || str(entry, {"operation"}) != "Apply") continue;
    held.own_ = node;
    held.all_ = held.all_ || str(entry, {"apiVersion"}) != str(live, {"apiVersion"});
  }
  return held;
}

bool HeldFields::is_granular() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const Json* node) { return has_members(*node); });
}

HeldFields HeldFields::child(const std::vector<std::string>& names) const {
  HeldFields below;
  const auto find_in = [&](const Json& node) -> const Json* {
    for (const std::string& name : names) {
      if (const Json* found = find(node, {name})) return found;
    }
    return nullptr;
  };
  for (const Json* node : nodes_) {
    if (const Json* found = find_in(*node)) below.nodes_.push_back(found);
  }
  if (own_ != nullptr) below.own_ = find_in(*own_);
  return below;
}

HeldFields HeldFields::member(const std::string& name) const {
  // A node without members is the whole of an atomic value; beside others that have some, what is left of a manager that had.
  const bool is_atomic = !nodes_.empty() && !is_granular();
  HeldFields below = child({"f:" + name});
  below.all_ = all_ || is_atomic;
  return below;
}

HeldFields HeldFields::element(const Json& value, std::size_t index) const {
  const bool is_long = std::any_of(nodes_.begin(), nodes_.end(), [](const Json* node) { return node->size() > kLongestList; });
  if (all_ || is_long || !is_granular()) {
    HeldFields below;
    below.all_ = true;
    return below;
  }
  std::vector<std::string> names;
  for (const Json* node : nodes_) {
    for (const auto& [name, below] : node->items()) {
      if (names_element(name, value, index)) names.push_back(name);
    }
  }
  return child(names);
}

std::optional<Json> HeldFields::held_of(const Json& value) const {
  if (all_) return value;
  if (own_ == nullptr) return std::nullopt;
  if (!is_granular() || !value.is_structured()) return value;
  Json part = value.is_object() ? Json::object() : Json::array();
  if (value.is_object()) {
    for (const auto& [name, below] : value.items()) {
      if (std::optional<Json> held = member(name).held_of(below)) part[name] = std::move(*held);
    }
  } else {
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (std::optional<Json> held = element(value[i], i).held_of(value[i])) part.push_back(std::move(*held));
    }
  }
  const bool holds_place = own_->empty() || own_->contains(".");
  return part.empty() && !holds_place ? std::nullopt : std::optional(std::move(part));
}

}  // namespace fleetadm::work
