// The batch form of the pure engines ("--scenarios FILE|-"): one case a line in, one answer a line out, in the order of the
// input, as long as the input goes on. The formats are in fleetadm-scenarios(7).
#pragma once

#include <functional>
#include <string>

#include "commands/framework/command.h"

namespace fleetadm::commands {

/// The answer to one case: an object without the id, which is copied from the case. An error is answered as {"id", "error"}. Runs
/// on several threads at once and must not depend on what was answered before.
using AnswerCase = std::function<Result<Json>(const Json& line)>;

/// "--scenarios FILE|-".
Flag& scenarios_flag(FlagSet& flags, std::string* into);

/// Answers every line of a file, or of standard input for "-", on stdout. Blank lines are left out. A line that is no JSON
/// object is answered with an error that tells its number, without an id. Cases that were answered with an error make the report
/// a partial failure.
Result<Report> answer_scenarios(Context& context, const std::string& path, const AnswerCase& answer);

}  // namespace fleetadm::commands
