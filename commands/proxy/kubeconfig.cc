// proxy kubeconfig: contexts with which kubectl and other programs reach managed clusters through the gateway.
#include "kubeclient/config/kubeconfig.h"

#include "commands/framework/dry_run.h"
#include "commands/framework/grammar.h"
#include "commands/framework/members.h"
#include "commands/proxy/member_kubeconfig.h"
#include "commands/proxy/proxy.h"
#include "core/proxy/client/gateway_access.h"
#include "core/proxy/client/upstream_proxy.h"
#include "kubeclient/base/plural.h"
#include "kubeclient/base/yaml.h"

namespace fleetadm::commands {
namespace {

struct ProxyKubeconfigOptions {
  MemberChoice members;
  std::string merge;
};

Status validate_proxy_kubeconfig(const ProxyKubeconfigOptions& options, const std::vector<std::string>& /*args*/) {
  return validate_members(options.members, "-l", false);
}

/// Other programs cannot go the way that this one goes behind cluster-proxy.
Error without_gateway(const kube::Client& hub, const Error& why) {
  if (why.category != Category::kNotFound && why.category != Category::kAuth) return why;
  const auto upstream = proxy::find_upstream_proxy(hub, false);
  if (!upstream || !*upstream) return why;
  return fail(Category::kUnsupported, "the hub has cluster-proxy, but no gateway that other programs could use",
              "use fleetadm proxy kubectl --cluster NAME --sa ACCOUNT, or install a gateway: fleetadm init --gateway")
      .value();
}

/// Contexts are named HUB/CLUSTER, so that none of them takes the place of another context.
Result<Json> members_kubeconfig(Context& context, const std::vector<std::string>& clusters) {
  FLEETADM_TRY(const kube::Client hub, context.client());
  const auto gateway = proxy::find_gateway(hub);
  if (!gateway) return fail(without_gateway(hub, gateway.error()));
  FLEETADM_TRY(const kube::RestConfig config, context.rest_config());
  Json document = {{"apiVersion", "v1"}, {"kind", "Config"}, {"preferences", Json::object()}};
  for (const char* list : {"clusters", "users", "contexts"}) document[list] = Json::array();
  const std::string shared = config.name + "/proxy";
  FLEETADM_TRY(Json user, hub_user_entry(context));
  document["users"].push_back({{"name", shared}, {"user", std::move(user)}});
  for (const std::string& cluster : clusters) {
    const std::string name = config.name + "/" + cluster;
    FLEETADM_TRY(const kube::RestConfig member, proxy::member_config(config, *gateway, cluster));
    document["clusters"].push_back({{"name", name}, {"cluster", member_cluster_entry(member)}});
    Json one = {{"cluster", name}, {"user", shared}};
    if (!context.global().config.ns.empty()) one["namespace"] = context.global().config.ns;
    document["contexts"].push_back({{"name", name}, {"context", std::move(one)}});
    if (clusters.size() == 1) document["current-context"] = name;
  }
  return document;
}

Result<Report> run_proxy_kubeconfig(Context& context, const ProxyKubeconfigOptions& options,
                                    const std::vector<std::string>& /*args*/) {
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const ClusterTargets targets, chosen_members(hub, options.members));
  // A context of a cluster that does not exist is of no use to anybody.
  if (!targets.missing.empty()) return fail(targets.missing.front());
  FLEETADM_TRY(const Json document, members_kubeconfig(context, targets.clusters));
  Report report;
  if (options.merge.empty()) {
    context.terminal().write_stdout(dump_yaml(document));
    return report;
  }
  FLEETADM_CHECK(refuse_dry_run(context, "proxy kubeconfig --merge"));
  FLEETADM_CHECK(kube::merge_kubeconfig(options.merge, document));
  for (const Json& one : list_at(document, {"contexts"})) report.names.push_back(str(one, {"name"}));
  report.notes = {pluralize(targets.clusters.size(), "context") + " merged into " + options.merge + "."};
  return report;
}

}  // namespace

void register_proxy_kubeconfig(Registry& registry) {
  Command command;
  command.path = "proxy kubeconfig";
  command.group = "Clusters";
  command.target = Target::kSilent;
  command.summary = "Print a kubeconfig for clusters behind the gateway, or merge it into another";
  command.description =
      "Prints a kubeconfig with one context for each cluster, named HUB/CLUSTER after the hub's context, with which kubectl and "
      "other programs reach the cluster through the hub's gateway. Its user is the one of the hub's context: credential plugins "
      "and files are named and not copied, but a token or key that is in the hub's kubeconfig itself is in this one, too.";
  command.examples = {
      {"For one cluster", "fleetadm proxy kubeconfig --cluster c1 > c1.kubeconfig"},
      {"Contexts for all clusters in the usual file", "fleetadm proxy kubeconfig --all-clusters --merge ~/.kube/config"}};
  command.make = invocation<ProxyKubeconfigOptions>(
      [](FlagSet& flags, ProxyKubeconfigOptions& options) {
        clusters_flag(flags, &options.members.clusters, "contexts for these clusters");
        flags.text(&options.members.selector, "selector", "contexts for the clusters that match this label selector", 'l')
            .value_name = "SELECTOR";
        flags.boolean(&options.members.all, "all-clusters", "contexts for all clusters");
        Flag& merge = flags.text(&options.merge, "merge", "kubeconfig file to add the contexts to, instead of printing them");
        merge.value_name = "FILE";
        merge.complete = Complete::kFiles;
      },
      validate_proxy_kubeconfig, run_proxy_kubeconfig);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
