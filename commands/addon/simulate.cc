// addon simulate: the rules of add-ons on recorded or hand-written cases, without a hub.
#include "commands/addon/addon.h"
#include "commands/framework/scenarios.h"
#include "core/addon/rules/config_scenario.h"
#include "core/addon/rules/deploy_scenario.h"
#include "core/addon/rules/progressing_scenario.h"
#include "core/addon/rules/registration_scenario.h"
#include "core/addon/rules/render_scenario.h"

namespace fleetadm::commands {
namespace {

struct AddonSimulateOptions {
  std::string scenarios;
  std::string conduct = "upstream";
};

/// The members of a case say which rules it asks.
Result<Json> answer_addon_case(const Json& line, rollout::Semantics conduct) {
  if (find(line, {"controller"}) != nullptr) return addon::answer_config_scenario(line, conduct);
  if (find(line, {"part"}) != nullptr) return addon::answer_registration_scenario(line, conduct);
  if (find(line, {"agent"}) != nullptr) return addon::answer_deploy_scenario(line, conduct);
  if (find(line, {"now"}) != nullptr) return addon::answer_progressing_scenario(line, conduct);
  return addon::answer_render_scenario(line, conduct);
}

Status validate_addon_simulate(const AddonSimulateOptions& options, const std::vector<std::string>&) {
  if (options.scenarios.empty()) return fail(Category::kUsage, "nothing to simulate", "use --scenarios FILE, or - for stdin");
  return {};
}

Result<Report> run_addon_simulate(Context& context, const AddonSimulateOptions& options, const std::vector<std::string>&) {
  const rollout::Semantics conduct = options.conduct == "upstream" ? rollout::Semantics::kUpstream : rollout::Semantics::kStrict;
  return answer_scenarios(context, options.scenarios, [conduct](const Json& line) { return answer_addon_case(line, conduct); });
}

}  // namespace

void register_addon_simulate(Registry& registry) {
  Command command;
  command.path = "addon simulate";
  command.group = "Add-ons";
  command.summary = "Evaluate the rules of add-ons on cases in a file";
  command.description =
      "Installation, configuration and rollout, rendering, registration, certificate requests and deployment: one pass of one "
      "controller per line, in the formats of fleetadm-scenarios(7), by the rules of upstream's add-on manager "
      "(--conduct upstream) or by the corrected rules of fleetadm's hub (--conduct strict). Nothing is read from a hub.";
  command.args = {"", 0, 0};
  command.examples = {{"Evaluate the cases in a file", "fleetadm addon simulate --scenarios cases.jsonl"},
                      {"Evaluate them by the rules of fleetadm's hub", "fleetadm addon simulate --scenarios - --conduct strict"}};
  command.make = invocation<AddonSimulateOptions>(
      [](FlagSet& flags, AddonSimulateOptions& options) {
        scenarios_flag(flags, &options.scenarios);
        flags
            .choice(&options.conduct, "conduct", {"upstream", "strict"},
                    "rules to apply: upstream's, or fleetadm's corrected ones (strict)")
            .default_text = "upstream";
      },
      validate_addon_simulate, run_addon_simulate);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
