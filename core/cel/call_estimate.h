// What one call costs, from the sizes of its arguments. Internal to the cost estimate.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cel/size_range.h"

namespace fleetadm::cel {

struct EstimatedArgument {
  SizeRange size;                       // {0, kUnbounded}: not known
  std::optional<SizeRange> element;     // of a list of texts or bytes: of one element
  bool list = false;                    // its type
  std::optional<std::int64_t> integer;  // where it is such a literal
  std::string type;                     // its name
};

struct CallEstimate {
  CostRange cost;                   // without that of the arguments
  std::optional<SizeRange> result;  // of a text or list that the call makes
};

/// `arguments` begin with the receiver of a member call. Of && || ?: and calls that cost one, nullopt.
std::optional<CallEstimate> estimate_call(std::string_view function, std::string_view overload,
                                          const std::vector<EstimatedArgument>& arguments);

}  // namespace fleetadm::cel
