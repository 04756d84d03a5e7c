// What a run of the suite has made and did not live to remove.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fleetadm::testkit {

/// "<prefix><pid>-<name>", by which orphans_in() finds it.
std::string name_with_owner(std::string_view prefix, std::string_view name);

/// What is in the folder under such names of processes that are gone.
std::vector<std::filesystem::path> orphans_in(const std::filesystem::path& folder, std::string_view prefix);

}  // namespace fleetadm::testkit
