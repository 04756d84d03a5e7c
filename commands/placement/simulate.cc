// placement simulate: what the scheduler would decide, without a hub or before a change.
#include "commands/framework/scenarios.h"
#include "commands/placement/placement.h"
#include "core/placement/scenario.h"

namespace fleetadm::commands {
namespace {

struct Options {
  std::string scenarios;
};

Status validate(const Options& options, const std::vector<std::string>& args) {
  if (options.scenarios.empty()) return fail(Category::kUsage, "--scenarios is missing");
  if (!options.scenarios.empty() && !args.empty()) return fail(Category::kUsage, "names and --scenarios exclude each other");
  return {};
}

Result<Report> run(Context& context, const Options& options, const std::vector<std::string>&) {
  return answer_scenarios(context, options.scenarios, [](const Json& line) { return placement::answer_scenario(line, nullptr); });
}

}  // namespace

void register_placement_simulate(Registry& registry) {
  Command command;
  command.path = "placement simulate";
  command.group = "Placement";
  command.summary = "Tell what the scheduler would decide";
  command.description =
      "With --scenarios it answers recorded or made-up cases, one JSON object a line, in the formats of fleetadm-scenarios(7).";
  command.args = {"[NAME...]", 0, -1, false, Complete::kPlacements};
  command.examples = {{"Answer the cases of a file", "fleetadm placement simulate --scenarios cases.jsonl"}};
  command.make =
      invocation<Options>([](FlagSet& flags, Options& options) { scenarios_flag(flags, &options.scenarios); }, validate, run);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
