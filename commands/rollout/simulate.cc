// rollout simulate: what a rollout would do, without a hub.
#include "commands/framework/files.h"
#include "commands/framework/grammar.h"
#include "commands/framework/scenarios.h"
#include "commands/rollout/rollout.h"
#include "commands/rollout/timeline.h"
#include "core/rollout/scenario.h"

namespace fleetadm::commands {
namespace {

struct SimulateOptions {
  std::string scenarios;
  std::string conduct = "upstream";
  std::string file;
};

Status validate_simulate(const SimulateOptions& options, const std::vector<std::string>&) {
  if (options.scenarios.empty() && options.file.empty()) {
    return fail(Category::kUsage, "nothing to simulate", "use -f FILE for a whole rollout, or --scenarios FILE");
  }
  if (!options.scenarios.empty() && !options.file.empty())
    return fail(Category::kUsage, "-f cannot be combined with --scenarios");
  return {};
}

Result<Report> run_simulate(Context& context, const SimulateOptions& options, const std::vector<std::string>&) {
  if (!options.file.empty()) {
    FLEETADM_TRY(const std::string text, read_file_or_stdin(context, options.file));
    return simulate_rollout(context, options.file, text);
  }
  const rollout::Semantics conduct = options.conduct == "upstream" ? rollout::Semantics::kUpstream : rollout::Semantics::kStrict;
  return answer_scenarios(context, options.scenarios,
                          [conduct](const Json& line) { return rollout::answer_scenario(line, conduct); });
}

}  // namespace

void register_rollout_simulate(Registry& registry) {
  Command command;
  command.path = "rollout simulate";
  command.group = "Work";
  command.summary = "Simulate a rollout";
  command.description =
      "With -f, it simulates a complete rollout with assumed outcomes by the rules of fleetadm's hub, "
      "and draws a timeline. The file (YAML) has a strategy, groups (each with a name and clusters), "
      "takes (how long each cluster needs), and clusters that differ: "
      "{n3: {fails: true, takes: 10s}, n4: {silent: true}}.\n\n"
      "With --scenarios, it evaluates recorded or hand-written cases, one rollout step per line, "
      "in the formats of fleetadm-scenarios(7): by the rules of upstream's engine (--conduct upstream), "
      "or by the corrected rules of fleetadm's hub (--conduct sound).";
  command.args = {"", 0, 0};
  command.examples = {
      {"A timeline", "fleetadm rollout simulate -f rollout.yaml"},
      {"Evaluate the cases in a file", "fleetadm rollout simulate --scenarios cases.jsonl"},
      {"Evaluate them by the rules of fleetadm's hub", "fleetadm rollout simulate --scenarios - --conduct sound"}};
  command.make = invocation<SimulateOptions>(
      [](FlagSet& flags, SimulateOptions& options) {
        filename_flag(flags, &options.file, "file that describes a rollout, or - for stdin");
        scenarios_flag(flags, &options.scenarios);
        flags
            .choice(&options.conduct, "conduct", {"upstream", "sound"},
                    "rules to apply: upstream's, or fleetadm's corrected ones (sound)")
            .default_text = "upstream";
      },
      validate_simulate, run_simulate);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
