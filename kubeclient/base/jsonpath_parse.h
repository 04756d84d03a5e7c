// The parsed form of a JSONPath template; private to jsonpath*.cc and its tests.
#pragma once

#include <optional>

#include "kubeclient/base/jsonpath.h"

namespace fleetadm {

/// One step of a path, or one piece of a template. Lists nest: an expression, a range's body, a union's and a filter's sides.
struct JsonPath::Node {
  enum class Kind { kText, kConstant, kList, kField, kIndex, kSlice, kWildcard, kRecursive, kUnion, kFilter, kRange };
  Kind kind = Kind::kList;
  std::string text;                              // kText; kField: the key; kFilter: the operator or "exists"
  Json constant;                                 // kConstant
  std::optional<std::int64_t> start, end, step;  // kIndex (start), kSlice
  std::vector<Node> parts;                       // kList: steps; kUnion: lists; kFilter: left[, right]; kRange: the list
  std::vector<Node> body;                        // kRange
};

Result<std::vector<JsonPath::Node>> parse_jsonpath(std::string_view text);

}  // namespace fleetadm
