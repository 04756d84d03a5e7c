// Flags that several commands have. Each has one name, one letter and one meaning wherever it stands, and what waits has one
// default: tests/unit/cli/grammar_test.cc refuses a command that goes its own way.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/command.h"

namespace fleetadm::commands {

/// -c, --clusters a,b (or repeated); --cluster is the same.
Flag& clusters_flag(FlagSet& flags, std::vector<std::string>* into, std::string help);
/// -c, --cluster NAME, where there can be only one; --clusters is the same.
Flag& cluster_flag(FlagSet& flags, std::string* into, std::string help);
/// --clustersets a,b (or repeated); --clusterset is the same.
Flag& cluster_sets_flag(FlagSet& flags, std::vector<std::string>* into, std::string help);
/// --clusterset NAME, where there can be only one; --clustersets is the same.
Flag& cluster_set_flag(FlagSet& flags, std::string* into, std::string help);
/// -f, --filename: what the command reads.
Flag& filename_flag(FlagSet& flags, std::string* into, std::string help);
Flag& filenames_flag(FlagSet& flags, std::vector<std::string>* into, std::string help);
/// -A, --all-namespaces of what reads namespaced objects.
Flag& all_namespaces_flag(FlagSet& flags, bool* into, std::string help);

/// How long every command waits for what it was asked to wait for, unless --timeout tells.
inline constexpr Duration kWaitTimeout = std::chrono::minutes(5);
/// A rollout lasts as long as its strategy takes: who follows one waits without a limit.
inline constexpr Duration kNoTimeout = Duration::zero();

/// --timeout; its default is what `into` holds, one of the two above.
Flag& timeout_flag(FlagSet& flags, Duration* into, std::string help);
/// --wait[=CONDITION]: one of `conditions`, in the order in which they come true, or "none", the default. --wait alone means
/// `alone`; "true" and "false" are --wait and "none".
Flag& wait_flag(FlagSet& flags, std::string* into, const std::vector<std::string>& conditions, std::string alone,
                std::string help);
/// --wait[=true|false], of what has one condition only; "none" is "false". The default is what `into` holds.
Flag& wait_flag(FlagSet& flags, bool* into, std::string help);

}  // namespace fleetadm::commands
