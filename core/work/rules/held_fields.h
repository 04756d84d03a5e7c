// What a field manager holds of an object by server-side apply, from metadata.managedFields. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/json.h"

namespace fleetadm::work {

/// The fields at and below one place of an object. Refers to the object that it is of.
class HeldFields {
 public:
  /// Nothing is held.
  HeldFields() = default;
  /// The whole object's. Where it cannot be known what the manager holds (no entries at all, or its own in another version of the
  /// kind), all of it.
  static HeldFields of(const Json& live, std::string_view manager);

  HeldFields member(const std::string& name) const;
  HeldFields element(const Json& value, std::size_t index) const;
  /// What is held of the live value of this place; nullopt: nothing. An atomic value is held as a whole, or not at all.
  std::optional<Json> held_of(const Json& value) const;

 private:
  HeldFields child(const std::vector<std::string>& names) const;
  bool is_granular() const;

  bool all_ = false;
  const Json* own_ = nullptr;       // the manager's node of this place
  std::vector<const Json*> nodes_;  // those of all managers: they tell what is atomic
};

/// Whether the keys of a `k:{…}` entry of managedFields (without its prefix) are those of the element.
bool has_keys(const Json& element, std::string_view keys);

}  // namespace fleetadm::work
