// Kubernetes' JSONPath: fields (escaped dots, quoted keys), indexes, slices, unions, wildcards, recursive descent and filters
// ?(@.a == "b"). In kubectl's templates, which are text with {expressions}, also {range}…{end}, quoted strings and numbers.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm {

class JsonPath {
 public:
  /// A whole template ("{.items[*].metadata.name}"). Category::kUsage with the position of what is wrong.
  static Result<JsonPath> parse(std::string_view text);
  /// One path as --sort-by and custom-columns take it: "{.a.b}", ".a.b", "a.b".
  static Result<JsonPath> parse_path(std::string_view text);

  /// The template's output: the values of one expression joined by a space; missing keys print nothing.
  Result<std::string> print(const Json& root) const;
  /// The values that the template's expressions find, in order. Pointers into `root`, or into the template's own constants.
  Result<std::vector<const Json*>> find(const Json& root) const;

  struct Node;

 private:
  std::shared_ptr<const std::vector<Node>> nodes_;
};

/// The items that a path of a feedback rule or a printer column (".status.conditions[?(@.type==\"Ready\")].status", without
/// braces) selects. A missing key selects nothing; an index out of bounds and bad syntax are errors (kInvalid, in Kubernetes'
/// words), and so are more than 10,000 items.
Result<std::vector<Json>> select_json_path(std::string_view path, const Json& object);

/// A value as JSONPath and custom columns print it: strings as they are, null as "", all else as compact JSON.
std::string plain_text(const Json& value);

}  // namespace fleetadm
