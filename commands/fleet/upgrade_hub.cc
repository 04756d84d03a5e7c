#include <map>
#include <utility>
#include <vector>

#include "commands/fleet/fleet.h"
#include "commands/fleet/upgrade.h"
#include "commands/framework/grammar.h"
#include "core/api/agent_version.h"
#include "core/api/kinds.h"
#include "core/install/install.h"
#include "core/upgrade/intents.h"
#include "core/upgrade/versions.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/plural.h"

namespace fleetadm::commands {
namespace {

struct UpgradeHubOptions {
  UpgradeOptions upgrade;
  bool wait = false;
  Duration timeout = kWaitTimeout;
};

void bind_upgrade_hub(FlagSet& flags, UpgradeHubOptions& options) {
  bind_upgrade(flags, options.upgrade, "the hub controllers and the gateway");
  wait_flag(flags, &options.wait, "Wait until the new version is running");
  timeout_flag(flags, &options.timeout, "How long to wait");
}

/// What the fleet's agents are, and how they stand to a hub of the new version.
Status add_skew(const kube::Client& hub, Upgrade& upgrade) {
  std::map<std::string, std::size_t> agents;
  FLEETADM_CHECK(hub.list_each(api::managed_clusters(), {}, {}, [&](const Json& cluster) -> Status {
    ++agents[api::agent_version(cluster)];
    return {};
  }));
  Json list = Json::array();
  std::vector<std::string> words;
  for (const auto& [version, clusters] : agents) {
    const upgrade::Skew skew = upgrade::skew_of(upgrade.target.version, version);
    list.push_back({{"version", version}, {"clusters", clusters}, {"skew", std::string(upgrade::to_string(skew))}});
    words.push_back(pluralize(clusters, "cluster") + " with " + (version.empty() ? "an agent of unknown version" : version) +
                    (skew == upgrade::Skew::kUnknown ? "" : " (" + std::string(upgrade::to_string(skew)) + ")"));
  }
  upgrade.more["agents"] = std::move(list);
  if (!words.empty()) upgrade.facts.push_back("agents: " + joined(words, ", "));
  return {};
}

Result<Report> run_upgrade_hub(Context& context, const UpgradeHubOptions& options, const std::vector<std::string>&) {
  FLEETADM_TRY(const auto hub, context.client());
  const UpgradePart part{"hub",
                         install::kHubPart,
                         api::kHubNamespace,
                         upgrade::kHubDeployment,
                         "make this cluster a hub with: fleetadm init",
                         [&](const upgrade::Installed& installed, const std::string& image, std::string_view manager) {
                           return upgrade::hub_intent(hub, installed, image, manager);
                         }};
  FLEETADM_TRY(Upgrade upgrade, begin_upgrade(hub, options.upgrade, part));
  FLEETADM_CHECK(add_skew(hub, upgrade));
  FLEETADM_TRY(Upgraded upgraded, run_upgrade(context, hub, options.upgrade, upgrade, options.timeout));
  if (!options.wait || !upgraded.changed) return std::move(upgraded.report);
  std::vector<std::string_view> deployments{upgrade::kHubDeployment};
  if (upgrade.installed.find("Deployment", api::kHubNamespace, upgrade::kGatewayDeployment) != nullptr)
    deployments.push_back(upgrade::kGatewayDeployment);
  FLEETADM_CHECK(wait_upgraded(context, hub, "the hub controllers", api::kHubNamespace, deployments, options.timeout));
  return std::move(upgraded.report);
}

}  // namespace

void register_upgrade_hub(Registry& registry) {
  Command command;
  command.path = "upgrade hub";
  command.group = "Fleet";
  command.summary = "Change the hub to another version";
  command.description =
      "Replaces what init installed by what this version of fleetadm installs, with the options that the hub was installed with: "
      "replicas, arguments, pull secrets, what was chosen with flags of init. It first shows a plan (image, objects, CRDs, and how "
      "the versions of the clusters' agents stand to the new hub) and asks. Nothing is reinstalled: clusters stay joined, works "
      "keep running, and a hub works with agents of its own minor version and of the one before. Upgrade the hub first, then the "
      "agents (\"upgrade agent\")."
      "\n\n--to changes back to an earlier version: then only the image is changed, because the objects of that version are "
      "known to that version's program.";
  command.examples = {
      {"See what this version would change", "fleetadm upgrade hub --plan"},
      {"Upgrade without a prompt and wait until the new version is running", "fleetadm upgrade hub --yes --wait"},
      {"From another registry", "fleetadm upgrade hub --image registry.example.com/team/fleetadm:" FLEETADM_VERSION},
      {"Back to the former version", "fleetadm upgrade hub --to v0.0.9 --wait"}};
  command.make = invocation<UpgradeHubOptions>(
      bind_upgrade_hub,
      [](const UpgradeHubOptions& options, const std::vector<std::string>&) { return validate_upgrade(options.upgrade); },
      run_upgrade_hub);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
