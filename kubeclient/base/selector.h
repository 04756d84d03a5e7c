// Label selectors as Kubernetes evaluates them, and the words of its construction errors
// (docs/reference/placement.md#label-selectors, docs/reference/placement.md#claim-selectors). A selector is compiled once; an
// invalid one keeps its error until a pass asks for it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kubeclient/base/json.h"

namespace fleetadm {

/// Sorted by key, keys unique.
using Labels = std::vector<std::pair<std::string, std::string>>;

/// Sorts; of equal keys the last stays.
void normalize_labels(Labels& labels);
/// The value of a key, or nullptr.
const std::string* label_value(const Labels& labels, std::string_view key);

class Selector {
 public:
  /// A selector that matches everything.
  Selector() = default;
  /// From a metav1.LabelSelector; null or absent members match everything. Claim selectors have the same shape.
  static Selector compile(const Json& label_selector);

  bool matches(const Labels& labels) const;
  bool everything() const { return requirements_.empty() && error_.empty(); }
  /// Why the selector cannot be built, in Kubernetes' words; empty: it can. An invalid selector matches nothing.
  const std::string& error() const { return error_; }
  /// What the selector says, for explanations: "env=prod,tier in (gold,silver)".
  std::string text() const;

  bool operator==(const Selector&) const = default;

  enum class Op { kIn, kNotIn, kExists, kDoesNotExist };
  struct Requirement {
    std::string key;
    Op op;
    std::vector<std::string> values;  // sorted

    bool operator==(const Requirement&) const = default;
  };
  /// All must be met; without meaning where the selector has an error.
  const std::vector<Requirement>& requirements() const { return requirements_; }

 private:
  void add(std::string_view key, std::string_view op, std::vector<std::string> values);

  std::vector<Requirement> requirements_;
  std::string error_;
};

/// Go's %q of a text, as Kubernetes' field errors quote values.
std::string go_quote(std::string_view text);

}  // namespace fleetadm
