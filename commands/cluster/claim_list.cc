// cluster claim list: what the current cluster says about itself.
#include "commands/cluster/claims.h"
#include "commands/cluster/cluster.h"
#include "commands/framework/listing.h"
#include "core/api/kinds.h"

namespace fleetadm::commands {
namespace {

struct ClaimListOptions {
  std::string selector;
  bool watch = false;
  bool watch_only = false;
};

Result<Report> run_claim_list(Context& context, const ClaimListOptions& options, const std::vector<std::string>& names) {
  ListView view;
  view.resource = api::cluster_claims();
  view.columns = {{"NAME"}, {"VALUE"}, {"AGE"}};
  view.row = [](const Json& claim, Instant now) -> std::vector<std::string> {
    return {name_of(claim), str(claim, {"spec", "value"}), age_cell(claim, now)};
  };
  view.nothing = "No claims found.";
  ListRequest request;
  request.names = names;
  request.selector = options.selector;
  request.watch = options.watch;
  request.watch_only = options.watch_only;
  return on_member(list_objects(context, view, request));
}

}  // namespace

void register_cluster_claim_list(Registry& registry) {
  Command command;
  command.path = "cluster claim list";
  command.target = Target::kCluster;
  command.group = "Clusters";
  command.summary = "List the claims of the current cluster";
  command.description =
      "Lists the ClusterClaims on the cluster of the current context. What a hub was told of a cluster is in \"fleetadm cluster "
      "describe\" there.";
  command.aliases = {"cluster claim get", "get claim", "get claims"};
  command.args = {"[NAME...]", 0, -1};
  command.examples = {{"All claims of a cluster", "fleetadm cluster claim list --context c1"}};
  command.make = invocation<ClaimListOptions>(
      [](FlagSet& flags, ClaimListOptions& options) { list_flags(flags, options.selector, options.watch, options.watch_only); },
      [](const ClaimListOptions&, const std::vector<std::string>&) -> Status { return {}; }, run_claim_list);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
