// The entries of metadata.managedFields: who owns which fields. managed_fields.h says what becomes of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/apimachinery/field_set.h"

namespace fleetadm::apimachinery {

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

/// Nothing where an entry is no such thing.
std::optional<Entries> decode_entries(const Json& object);
/// Writes them in the order in which a server does.
void encode_entries(Entries entries, Json& object);
/// The entry of the same manager; null where there is none.
Entry* find_entry(Entries& entries, const Entry& wanted);
void drop_empty(Entries& entries);
/// The oldest entries beyond kMaxUpdateManagers become one a version.
void fold_ancient(Entries& entries);

}  // namespace fleetadm::apimachinery
