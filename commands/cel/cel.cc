#include "commands/cel/cel.h"

#include <algorithm>

#include "core/cel/library/environments.h"

namespace fleetadm::commands {
namespace {

std::string_view phase_of(cel::CompileFailure::Phase phase) {
  switch (phase) {
    case cel::CompileFailure::Phase::kSyntax: return "syntax";
    case cel::CompileFailure::Phase::kCheck: return "check";
    case cel::CompileFailure::Phase::kPlan: return "plan";
  }
  return "";
}

}  // namespace

void register_cel(Registry& registry) {
  register_cel_check(registry);
  register_cel_eval(registry);
}

Flag& environment_flag(FlagSet& flags, std::string* into) {
  Flag& flag = flags.choice(into, "env", {"selector", "condition", "message"},
                            "Where the expression will be used: a placement's cluster selector, a work's condition rule, "
                            "or the message expression of one");
  flag.default_text = "selector";
  return flag;
}

Result<cel::Env> environment_of(const std::string& name) {
  return name == "selector" ? cel::selector_environment() : cel::condition_environment(name == "message");
}

Report report_of_failure(const cel::CompileFailure& failure, const std::string& environment) {
  Report report;
  Json issues = Json::array();
  for (const cel::Issue& issue : failure.issues) {
    issues.push_back({{"line", issue.line}, {"column", issue.column}, {"message", issue.message}});
  }
  report.data = {{"kind", "CelCheck"},
                 {"environment", environment},
                 {"valid", false},
                 {"expression", failure.expression},
                 {"phase", phase_of(failure.phase)},
                 {"issues", std::move(issues)}};
  const std::string text = failure.render();
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    report.lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  report.exit_code = 1;
  return report;
}

}  // namespace fleetadm::commands
