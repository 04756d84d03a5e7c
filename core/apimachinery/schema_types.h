// What the static checks of x-kubernetes-validations know of a schema: types with their fields, and the greatest sizes that
// values can have in one request. Follows kube-apiserver's: what no type is declared for cannot be named in a rule.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/apimachinery/kind_types.h"
#include "core/apimachinery/schema_node.h"

namespace fleetadm::apimachinery {

/// `resource`: the root of an object, which has apiVersion, kind and metadata.name, too. `name` is that of the type.
DeclaredTypes declare_types(const SchemaNode& node, bool resource, const std::string& name = "selfType");
/// The name of a property in rules: what is no identifier, or is a word of the language, is escaped; empty where it has none.
std::string rule_name(const std::string& property);

/// How many elements or bytes the value at a path below `self` may have (cel::MaxSizes).
std::optional<std::uint64_t> max_size_at(const SchemaNode& self, std::span<const std::string> path);
/// How often a value of the schema fits into one request.
std::uint64_t max_occurrences(const SchemaNode& node);
/// As often as its list or map may hold it; nullopt: as often as it fits.
std::optional<std::uint64_t> declared_limit(const SchemaNode& list_or_map);

}  // namespace fleetadm::apimachinery
