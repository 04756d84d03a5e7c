// Words made one text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fleetadm {

/// The words with the separator between them; empty words count.
std::string joined(const std::vector<std::string>& words, std::string_view separator = ",");

}  // namespace fleetadm
