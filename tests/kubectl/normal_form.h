// What has to differ between two servers (addresses, uids, times, ages, revisions, generated names, tokens) is replaced by a
// word, so that the rest can be compared.
#pragma once

#include <string>
#include <vector>

#include "tests/kubectl/script.h"

namespace fleetadm::kubectl {

/// `folder` (the group's own) becomes FOLDER.
std::string normal_form(std::string text, const std::string& folder);
std::string sorted_lines(const std::string& text);
/// Leaves out what the deviation drops.
std::string without(std::string text, const Deviation& deviation);
/// Lines that only one of them has, with "-" (before) and "+" (after); the others with a blank, where one of the former is near.
std::string differences(const std::string& before, const std::string& after);

}  // namespace fleetadm::kubectl
