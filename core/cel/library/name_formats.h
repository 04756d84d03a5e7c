// Kubernetes' named formats (format.dns1123Label() and its kin): what a text must be, and what is said where it is not.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fleetadm::cel {

struct NamedFormat {
  std::string_view function;  // dns1123Label: format.dns1123Label()
  std::string_view name;      // DNS1123Label: by which values are equal
  /// What is wrong with a text; empty: nothing.
  std::vector<std::string> (*validate)(std::string_view text);
};

std::span<const NamedFormat> named_formats();
/// nullptr where no format has that function name.
const NamedFormat* named_format(std::string_view function);

}  // namespace fleetadm::cel
