// cluster claim set: what the current cluster says about itself.
#include <map>
#include <utility>

#include "commands/cluster/claims.h"
#include "commands/cluster/cluster.h"
#include "commands/framework/write_report.h"
#include "core/api/cluster_claim.h"
#include "core/api/kinds.h"

namespace fleetadm::commands {
namespace {

struct ClaimSetOptions {};

Status validate_claim_set(const ClaimSetOptions&, const std::vector<std::string>& args) {
  std::map<std::string, int> times;
  for (const std::string& word : args) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) return fail(Category::kUsage, "\"" + word + "\" is not NAME=VALUE");
    const std::string name = word.substr(0, equals);
    FLEETADM_CHECK(api::check_claim(name, word.substr(equals + 1)));
    if (++times[name] > 1) return fail(Category::kUsage, "claim \"" + name + "\" is given twice", "give each claim once");
  }
  return {};
}

std::string_view claim_outcome(const api::StoredClaim& claim) {
  switch (claim.outcome) {
    case api::StoredClaim::Outcome::kCreated: return "created";
    case api::StoredClaim::Outcome::kChanged: return "configured";
    case api::StoredClaim::Outcome::kUnchanged: break;
  }
  return "unchanged";
}

Result<Json> set_one(Context& context, const kube::Client& cluster, const std::string& name, const std::string& value,
                     Report& report) {
  FLEETADM_TRY(api::StoredClaim stored, on_member(api::set_claim(cluster, name, value)));
  FLEETADM_TRY(Json claim, read_back(context, cluster, api::cluster_claims(), "", name, api::cluster_claim(name, value),
                                     std::move(stored.object)));
  report.lines.push_back(told(context, api::cluster_claims(), name, claim_outcome(stored)));
  report.names.push_back(full_name(api::cluster_claims(), name));
  return claim;
}

Result<Report> run_claim_set(Context& context, const ClaimSetOptions&, const std::vector<std::string>& args) {
  FLEETADM_TRY(const auto cluster, context.client());
  Report report;
  Json items = Json::array();
  for (const std::string& word : args) {
    const auto equals = word.find('=');
    auto claim = set_one(context, cluster, word.substr(0, equals), word.substr(equals + 1), report);
    if (claim) {
      items.push_back(std::move(*claim));
    } else if (args.size() == 1) {
      return tl::unexpected(claim.error());
    } else {
      report.failures.push_back(claim.error());
    }
  }
  report.data =
      args.size() == 1 ? std::move(items.front()) : Json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}};
  return report;
}

}  // namespace

void register_cluster_claim_set(Registry& registry) {
  Command command;
  command.path = "cluster claim set";
  command.target = Target::kCluster;
  command.group = "Clusters";
  command.summary = "Set claims of the current cluster";
  command.description =
      "Creates or changes ClusterClaims on the cluster of the current context. Its agent reports them to the hub, where they are "
      "in status.clusterClaims of the cluster and placements can select by them: a changed claim may move works. The agent "
      "reports 20 claims, unless it was told otherwise, beside those that every cluster has.";
  command.args = {"NAME=VALUE...", 1, -1};
  command.examples = {{"Say where a cluster is", "fleetadm cluster claim set region.example.com=eu-west --context c1"}};
  command.make = invocation<ClaimSetOptions>([](FlagSet&, ClaimSetOptions&) {}, validate_claim_set, run_claim_set);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
