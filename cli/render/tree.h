// -o tree: what belongs to what.
#pragma once

#include <string>
#include <vector>

namespace fleetadm::cli {

/// Each path goes from a root to a leaf; paths that begin alike share their branches, in the order in which each first comes.
std::string tree_of(const std::vector<std::vector<std::string>>& paths, bool utf8);

}  // namespace fleetadm::cli
