// cel check: whether an expression compiles, and to what type.
#include "commands/cel/cel.h"

namespace fleetadm::commands {
namespace {

struct CheckOptions {
  std::string environment = "selector";
};

Status validate_check(const CheckOptions&, const std::vector<std::string>&) { return {}; }

std::string wanted_type(const std::string& environment) { return environment == "message" ? "string" : "bool"; }

/// Whether values of a type may be what is wanted; an optional counts for what it holds.
bool may_be(std::string_view type, std::string_view wanted) {
  constexpr std::string_view kOptional = "optional_type(";
  while (type.starts_with(kOptional) && type.ends_with(')'))
    type = type.substr(kOptional.size(), type.size() - kOptional.size() - 1);
  return type == wanted || type == "dyn";
}

Result<Report> run_check(Context&, const CheckOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const cel::Env env, environment_of(options.environment));
  const auto program = env.compile(args.front());
  if (!program) return report_of_failure(program.error(), options.environment);
  const std::string type = to_string(program->result_type());
  Report report;
  report.data = {
      {"kind", "CelCheck"}, {"environment", options.environment}, {"valid", true}, {"expression", args.front()}, {"type", type}};
  if (const std::string wanted = wanted_type(options.environment); !may_be(type, wanted) && !program->result_type().is_dyn()) {
    report.exit_code = 1;
    report.data["valid"] = false;
    report.notes.push_back(options.environment == "selector"
                               ? "a cluster selector must return a bool; with this expression no cluster matches"
                               : "a " + options.environment + " expression must return a " + wanted + "; this one always fails");
    report.lines.push_back("the expression compiles, but its type is " + type);
    return report;
  }
  report.lines.push_back("the expression is valid; its type is " + type);
  return report;
}

}  // namespace

void register_cel_check(Registry& registry) {
  Command command;
  command.path = "cel check";
  command.group = "Placement";
  command.summary = "Check a CEL expression";
  command.description =
      "Compiles an expression as the hub would (for a placement's celSelector) or the agent "
      "(for a work's condition rules) and prints its type, or each error with line and column. "
      "The exit code is 1 if the expression does not compile.\n\n"
      "-o json prints kind CelCheck, environment, expression, valid, and type, or phase "
      "(syntax, check, plan) and issues (line, column, message).";
  command.args = {"EXPRESSION", 1, 1};
  command.examples = {
      {"Check a placement's cluster selector", "fleetadm cel check 'managedCluster.metadata.labels[\"env\"] == \"prod\"'"},
      {"Check a condition rule", "fleetadm cel check --env condition 'object.status.readyReplicas > 0'"}};
  command.make = invocation<CheckOptions>(
      [](FlagSet& flags, CheckOptions& options) { environment_flag(flags, &options.environment); }, validate_check, run_check);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
