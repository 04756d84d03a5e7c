// The parsed form of a JSONPath template; private to jsonpath*.cc and its tests.
#pragma once

#include <optional>

#include "kubeclient/base/jsonpath.h"

namespace fleetadm {

/// One step of a path, or one piece of a template. Lists nest: an expression, a range's body, a union's and a filter's sides.
struct JsonPath::Node {
  enum class Kind {
    kText,
    kConstant,
    kList,
    kField,
    kIndex,
    kSlice,
    kWildcard,
    kRecursive,
    kUnion,
    kFilter,
    kRange,
    kIdentifier
  };
  Kind kind = Kind::kList;
  std::string text;  // kText; kField: the key; kIdentifier: the word; kFilter: the operator or "exists"
  Json constant;     // kConstant
  std::optional<std::int64_t> start, end, step;  // kIndex (start), kSlice
  std::vector<Node> parts;                       // kList: steps; kUnion: lists; kFilter: left[, right]; kRange: the list
  std::vector<Node> body;                        // kRange
};

/// A template. kUsage with the place of what is wrong.
Result<std::vector<JsonPath::Node>> parse_jsonpath(std::string_view text);
/// The content of a quoted string. kInvalid where an escape is none.
Result<std::string> unescape_jsonpath(std::string_view text);
/// The path of a rule or column (select_json_path), as a list. kInvalid in Kubernetes' words.
Result<JsonPath::Node> parse_bare_path(std::string_view text);

}  // namespace fleetadm
