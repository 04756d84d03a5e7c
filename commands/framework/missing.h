// What a command waits for on several clusters: what is still missing there, until nothing is or the time is over.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "commands/framework/context.h"
#include "commands/framework/report.h"
#include "commands/framework/watched.h"

namespace fleetadm::commands {

/// Why a cluster is not as it should be, by its name; empty: all are.
using Missing = std::map<std::string, std::string>;
using Look = std::function<Result<Missing>(const Objects&)>;

/// Looks whenever one of the watched objects changes. Nothing counts as reached that a read after it does not show. The failures
/// name the clusters that are behind, and why.
std::vector<Error> wait_for_missing(Context& context, const std::string& step, Watched& watched, const Look& look,
                                    Duration timeout);

/// Puts what a wait for `waited` clusters found into the report. Where not one of them came in time, and nothing else has failed,
/// the command has run into its deadline (exit code 6) and not into a partial failure.
void tell_late(Report& report, std::vector<Error> late, std::size_t waited);

}  // namespace fleetadm::commands
