// rollout simulate: what a rollout would do, without a hub.
#include "commands/framework/scenarios.h"
#include "commands/rollout/rollout.h"
#include "core/rollout/scenario.h"

namespace fleetadm::commands {
namespace {

struct Options {
  std::string scenarios;
  std::string conduct = "upstream";
};

Status validate(const Options& options, const std::vector<std::string>&) {
  if (options.scenarios.empty()) return fail(Category::kUsage, "--scenarios is missing");
  return {};
}

Result<Report> run(Context& context, const Options& options, const std::vector<std::string>&) {
  const rollout::Conduct conduct = options.conduct == "upstream" ? rollout::Conduct::kUpstream : rollout::Conduct::kSound;
  return answer_scenarios(context, options.scenarios,
                          [conduct](const Json& line) { return rollout::answer_scenario(line, conduct); });
}

}  // namespace

void register_rollout_simulate(Registry& registry) {
  Command command;
  command.path = "rollout simulate";
  command.group = "Work";
  command.summary = "Tell what a rollout would do";
  command.description =
      "With --scenarios it answers recorded or made-up cases, one step of a rollout a line, in the formats of "
      "fleetadm-scenarios(7): as upstream's engine would (--conduct upstream), or as the hub of fleetadm does (--conduct sound).";
  command.args = {"", 0, 0};
  command.examples = {{"Answer the cases of a file", "fleetadm rollout simulate --scenarios cases.jsonl"},
                      {"Answer them as fleetadm's own hub would", "fleetadm rollout simulate --scenarios - --conduct sound"}};
  command.make = invocation<Options>(
      [](FlagSet& flags, Options& options) {
        scenarios_flag(flags, &options.scenarios);
        flags.choice(&options.conduct, "conduct", {"upstream", "sound"}, "whose rules answer the cases").default_text =
            "upstream";
      },
      validate, run);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
