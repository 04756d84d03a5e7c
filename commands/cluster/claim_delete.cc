// cluster claim delete: takes claims of the current cluster away.
#include <utility>

#include "commands/cluster/claims.h"
#include "commands/cluster/cluster.h"
#include "commands/framework/grammar.h"
#include "commands/framework/named.h"
#include "commands/framework/write_report.h"
#include "core/api/kinds.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::commands {
namespace {

constexpr std::string_view kNotThere = "not found (nothing to delete)";

struct ClaimDeleteOptions {
  bool wait = true;
  Duration timeout = kWaitTimeout;
};

Result<std::string> delete_one(Context& context, const kube::Client& cluster, const std::string& name,
                               const ClaimDeleteOptions& options) {
  FLEETADM_TRY(const auto found, on_member(cluster.find(api::cluster_claims(), "", name)));
  if (!found) return std::string(kNotThere);
  kube::DeleteOptions exactly;
  exactly.uid = uid_of(*found);
  const auto removed = cluster.remove(api::cluster_claims(), "", name, exactly);
  if (!removed && removed.error().category != Category::kNotFound) return tl::unexpected(removed.error());
  if (is_dry(context) || !options.wait) return std::string("deleted");
  const auto gone = [&](const std::optional<Json>& claim) -> Result<bool> { return !claim || uid_of(*claim) != exactly.uid; };
  FLEETADM_CHECK(kube::wait_for(cluster, api::cluster_claims(), "", name, gone, options.timeout, context.stop()));
  return std::string("deleted");
}

Result<Report> run_claim_delete(Context& context, const ClaimDeleteOptions& options, const std::vector<std::string>& names) {
  FLEETADM_TRY(const auto cluster, context.client());
  Report report;
  Json items = Json::array();
  NearNames near(cluster, api::cluster_claims());
  for (const std::string& name : names) {
    const auto outcome = delete_one(context, cluster, name, options);
    if (!outcome) {
      if (names.size() == 1) return tl::unexpected(outcome.error());
      report.failures.push_back(outcome.error());
      continue;
    }
    report.lines.push_back(told(context, api::cluster_claims(), name, *outcome));
    if (*outcome == kNotThere) note_near(near, "claim", name, report);
    report.names.push_back(full_name(api::cluster_claims(), name));
    items.push_back(Json{{"name", name}, {"outcome", *outcome}});
  }
  report.data = {{"kind", "DeleteReport"}, {"claims", std::move(items)}};
  return report;
}

}  // namespace

void register_cluster_claim_delete(Registry& registry) {
  Command command;
  command.path = "cluster claim delete";
  command.target = Target::kCluster;
  command.group = "Clusters";
  command.summary = "Delete claims of the current cluster";
  command.description =
      "Deletes ClusterClaims on the cluster of the current context; its agent stops reporting them to the hub, and placements that "
      "select by them may drop the cluster. Deleting a claim that does not exist succeeds.";
  command.args = {"NAME...", 1, -1};
  command.examples = {{"Delete a claim", "fleetadm cluster claim delete region.example.com --context c1"}};
  command.make = invocation<ClaimDeleteOptions>(
      [](FlagSet& flags, ClaimDeleteOptions& options) {
        wait_flag(flags, &options.wait, "Wait until it is deleted");
        timeout_flag(flags, &options.timeout, "How long to wait");
      },
      [](const ClaimDeleteOptions&, const std::vector<std::string>& names) -> Status {
        for (const std::string& name : names) FLEETADM_CHECK(check_name("claim", name));
        return {};
      },
      run_claim_delete);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
