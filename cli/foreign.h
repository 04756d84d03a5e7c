// What people type out of habit from clusteradm, karmadactl, vela and kubectl, and what to use here instead.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fleetadm::cli {

struct Foreign {
  std::string_view typed;    // the first words of a command line, or a flag ("--bundle-version", "-c")
  std::string_view instead;  // a hint: the replacement, or why there is none
};

/// All rows: commands first, then flags.
std::span<const Foreign> foreign_words();

/// The hint for an unknown command line (without the program's name; flags in between are skipped); empty where none is known.
/// The longest row that it begins with counts.
std::string foreign_command_hint(const std::vector<std::string>& words);
/// The hint for an unknown flag, as the error shows it ("--mode", "-c"); empty where none is known.
std::string foreign_flag_hint(std::string_view flag);

}  // namespace fleetadm::cli
