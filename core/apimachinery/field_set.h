// Sets of fields as metadata.managedFields writes them (FieldsV1, docs/reference/kubernetes-api.md#server-side-apply).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::apimachinery {

/// A tree of path elements as FieldsV1 spells them: "f:<name>", "k:<JSON object>", "v:<JSON>", "i:<index>". A node that is a
/// member is owned itself; children are what is owned below.
class FieldSet {
 public:
  bool member = false;
  std::map<std::string, FieldSet, std::less<>> children;

  bool empty() const { return !member && children.empty(); }
  const FieldSet* child(std::string_view element) const;
  bool operator==(const FieldSet& other) const { return member == other.member && children == other.children; }

  void add(const FieldSet& other);
  /// Without the members of `other`.
  void subtract(const FieldSet& other);
  /// Without the members of `other` and all that is below them.
  void subtract_below(const FieldSet& other);
  FieldSet intersection(const FieldSet& other) const;
  /// The set of one top-level field and all below it.
  static FieldSet of_field(std::string_view name);

  Json to_json() const;
  /// kInvalid for what is no FieldsV1 object.
  static Result<FieldSet> from_json(const Json& fields);
  /// Every member's path for people (".spec.containers[name=\"a\"].image"), in order; no more than `limit`.
  std::vector<std::string> paths(std::size_t limit = 1000) const;

 private:
  void collect(const std::string& prefix, std::size_t limit, std::vector<std::string>& into) const;
};

std::string field_element(std::string_view name);
std::string value_element(const Json& value);
std::string key_element(const Json& key);
/// "f:a" as ".a", `k:{"name":"x"}` as `[name="x"]`.
std::string element_text(std::string_view element);

}  // namespace fleetadm::apimachinery
