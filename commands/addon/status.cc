// addon status: where an add-on stands on each cluster, and what is missing until it is available.
#include "commands/addon/addon.h"
#include "commands/addon/facts.h"
#include "commands/addon/targets.h"
#include "commands/framework/addon_change.h"
#include "commands/framework/grammar.h"
#include "commands/framework/listing.h"
#include "commands/framework/write_report.h"
#include "core/api/kinds.h"

namespace fleetadm::commands {
namespace {

struct StatusOptions {
  std::vector<std::string> clusters;
  bool explain = false;
};

using Chain = std::vector<Link>;

bool is_complete(const Chain& chain) { return chain.back().state == Link::State::kHolds; }

Json to_json(const AddonFacts& facts, const Chain& chain) {
  Json links = Json::array();
  for (const Link& link : chain) {
    Json one{{"link", link.name}, {"state", to_string(link.state)}, {"text", link.text}};
    if (!link.next.empty()) one["next"] = link.next;
    links.push_back(std::move(one));
  }
  return {
      {"cluster", facts.cluster}, {"available", condition_cell(facts.managed_addon, "Available")}, {"chain", std::move(links)}};
}

std::vector<std::string> summary_row(const AddonFacts& facts, const Chain& chain) {
  const bool complete = is_complete(chain);
  return {facts.cluster, condition_cell(facts.managed_addon, "Available"), complete ? "<none>" : std::string(chain.back().name),
          complete ? "<none>" : chain.back().text, or_none(chain.back().next)};
}

Report report_of(const std::string& addon, const std::vector<AddonFacts>& all, bool explain) {
  Report report;
  report.data = {{"kind", "AddonStatus"}, {"name", addon}, {"clusters", Json::array()}};
  report.names.push_back(full_name(api::cluster_management_addons(), addon));
  report.table =
      explain ? Table{{{"CLUSTER"}, {"LINK"}, {"STATE"}, {"DETAIL"}, {"NEXT"}}, {}, "The add-on is on no cluster."}
              : Table{{{"CLUSTER"}, {"AVAILABLE"}, {"MISSING"}, {"WHY"}, {"NEXT", true}}, {}, "The add-on is on no cluster."};
  std::size_t complete = 0;
  for (const AddonFacts& facts : all) {
    const Chain chain = addon_chain(facts);
    complete += is_complete(chain) ? 1U : 0U;
    report.data["clusters"].push_back(to_json(facts, chain));
    if (!explain) report.table->rows.push_back(summary_row(facts, chain));
    for (const Link& link : chain) {
      report.branches.push_back({addon, facts.cluster, std::string(link.name) + ": " + link.text});
      if (explain) {
        report.table->rows.push_back(
            {facts.cluster, std::string(link.name), std::string(to_string(link.state)), link.text, or_none(link.next)});
      }
    }
  }
  if (all.empty()) {
    report.branches.push_back({addon});
    return report;
  }
  report.notes.push_back(addon + " is available on " + std::to_string(complete) + " of " + std::to_string(all.size()) +
                         (all.size() == 1 ? " cluster." : " clusters."));
  if (!explain && complete < all.size())
    report.notes.push_back("What comes before what is missing, and the next command: fleetadm addon status " + addon +
                           " --explain");
  return report;
}

Result<Report> run_addon_status(Context& context, const StatusOptions& options, const std::vector<std::string>& args) {
  const std::string& addon = args.front();
  FLEETADM_TRY(const auto hub, context.client());
  FLEETADM_TRY([[maybe_unused]] const Json declaration, declaration_of(hub, addon));
  FLEETADM_TRY(const auto facts, addon_facts(hub, addon, options.clusters));
  return report_of(addon, facts, options.explain);
}

}  // namespace

void register_addon_status(Registry& registry) {
  Command command;
  command.path = "addon status";
  command.group = "Add-ons";
  command.summary = "Show where an add-on stands on its clusters, and why";
  command.description =
      "Follows the add-on on each cluster from its declaration to the health of its agent: declaration, cluster, installation, "
      "configuration, template, registration, works, health. The first of these that does not hold is what is missing. With "
      "--explain, all of them are shown, and the command that helps.";
  command.args = {"NAME", 1, 1, false, Complete::kAddons};
  command.examples = {{"On all clusters", "fleetadm addon status hello"},
                      {"Why it is not available on one of them", "fleetadm addon status hello --clusters c1 --explain"},
                      {"In a script", "fleetadm addon status hello -o jsonpath='{.clusters[*].available}'"}};
  command.tree = true;
  command.make = invocation<StatusOptions>(
      [](FlagSet& flags, StatusOptions& options) {
        only_clusters_flag(flags, options.clusters);
        flags.boolean(&options.explain, "explain", "show every link from the declaration to the agent's health");
      },
      [](const StatusOptions& options, const std::vector<std::string>& args) -> Status {
        FLEETADM_CHECK(check_name("add-on name", args.front()));
        for (const std::string& cluster : options.clusters) FLEETADM_CHECK(check_name("cluster", cluster));
        return {};
      },
      run_addon_status);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
