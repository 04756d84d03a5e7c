// The words of --node-selector and --tolerate, and what they are in a pod's specification.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "commands/framework/command.h"

namespace fleetadm::commands {

/// `whose`: "the agent"
void node_placement_flags(FlagSet& flags, std::vector<std::string>& node_selector, std::vector<std::string>& tolerations,
                          const std::string& whose);
/// KEY=VALUE and KEY[=VALUE][:EFFECT]; kUsage names the word that is wrong.
Status validate_node_placement(const std::vector<std::string>& node_selector, const std::vector<std::string>& tolerations);

Json node_selector_of(const std::vector<std::string>& words);  // an object
Json tolerations_of(const std::vector<std::string>& words);    // a list

/// A word and what follows the first `at`; the second is empty where there is none.
std::pair<std::string, std::string> parted(const std::string& word, char at);
/// kUsage where a word has no '='. `what`: how it is written.
Status need_value(const std::string& word, const std::string& what);

}  // namespace fleetadm::commands
