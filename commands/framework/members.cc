#include "commands/framework/members.h"

#include <algorithm>
#include <set>
#include <utility>

#include "commands/framework/accounts.h"
#include "commands/framework/named.h"
#include "commands/framework/write_report.h"
#include "core/api/kinds.h"
#include "core/proxy/client/gateway_access.h"
#include "core/proxy/client/member_relay.h"
#include "core/proxy/client/upstream_proxy.h"
#include "core/proxy/client/upstream_routes.h"
#include "core/proxy/rules/routes.h"
#include "kubeclient/config/kubeconfig.h"

namespace fleetadm::commands {
namespace {

Result<ClusterTargets> named_members(const kube::Client& hub, const std::vector<std::string>& names) {
  ClusterTargets targets;
  bool readable = true;
  NearNames near(hub, api::managed_clusters());
  for (const std::string& name : std::set<std::string>(names.begin(), names.end())) {
    FLEETADM_CHECK(proxy::member_prefix(name));
    Result<std::optional<Json>> found = Json();
    if (readable) found = hub.find(api::managed_clusters(), "", name);
    if (!found && found.error().category != Category::kAuth) return fail(on_hub(found.error()));
    readable = readable && found.has_value();
    if (!found || *found) {
      targets.clusters.push_back(name);
      continue;
    }
    targets.missing.push_back(fail(Category::kNotFound, "cluster \"" + name + "\" not found on the hub",
                                   near.hint(name, "list the clusters with: fleetadm get clusters"))
                                  .value());
  }
  return targets;
}

/// Of an account of each cluster.
proxy::FindCredential credential_of(Context& context, const std::string& account) {
  return
      [hub = context.client(), account, &clock = context.clock()](const std::string& cluster) -> Result<proxy::MemberCredential> {
        if (!hub) return fail(hub.error());
        return account_token(*hub, cluster, account, clock.now()).map([](AccountToken found) {
          return proxy::MemberCredential{std::move(found.token), std::move(found.ca)};
        });
      };
}

std::string anyway_prefix(const MemberAsker& asker) { return asker.anyway ? std::string(proxy::kAnywayPrefix) : std::string(); }

proxy::FindRoute by_gateway(Context& context, const api::PublishedGateway& gateway, const MemberAsker& asker) {
  return [gateway, anyway = anyway_prefix(asker),
          credential = credential_of(context, asker.account)](const std::string& cluster) -> Result<proxy::MemberRoute> {
    proxy::MemberRoute route;
    FLEETADM_TRY(const std::string prefix, proxy::member_prefix(cluster));
    route.prefix = anyway + prefix;
    FLEETADM_TRY(proxy::MemberCredential found, credential(cluster));
    route.server = gateway.server;
    while (route.server.ends_with('/')) route.server.pop_back();
    route.ca = gateway.ca;
    route.token = std::move(found.token);
    return route;
  };
}

Result<MemberWay> through_relay(proxy::Way way, proxy::MemberRelay::Options options) {
  FLEETADM_TRY(const auto relay, proxy::MemberRelay::start(std::move(options)));
  return MemberWay{way, proxy::relay_config(relay)};
}

}  // namespace

Flag& cluster_timeout_flag(FlagSet& flags, Duration* into) {
  Flag& flag = flags.duration(into, "cluster-timeout", "how long each cluster has to answer; one that does not is left out");
  flag.default_text = format_duration(*into);
  return flag;
}

Status validate_cluster_timeout(Duration timeout) {
  if (timeout > Duration::zero()) return {};
  return fail(Category::kUsage, "--cluster-timeout must be greater than 0");
}

Status validate_members(const MemberChoice& choice, std::string_view selector_flag, bool or_all) {
  const int ways = (choice.clusters.empty() ? 0 : 1) + (choice.selector.empty() ? 0 : 1) + (choice.all ? 1 : 0);
  if (ways == 1 || (ways == 0 && or_all)) return {};
  const std::string choices = "--clusters, " + std::string(selector_flag) + (or_all ? "" : " or --all-clusters");
  if (ways == 0) return fail(Category::kUsage, "no clusters given", "use one of " + choices);
  return fail(Category::kUsage, "conflicting cluster selection", "use only one of " + choices);
}

Result<ClusterTargets> chosen_members(const kube::Client& hub, const MemberChoice& choice) {
  if (!choice.clusters.empty()) return named_members(hub, choice.clusters);
  kube::ListOptions which;
  which.label_selector = choice.selector;
  ClusterTargets targets;
  const Status listed = hub.list_each(api::managed_clusters(), {}, which, [&](const Json& cluster) -> Status {
    targets.clusters.push_back(name_of(cluster));
    return {};
  });
  if (!listed) return fail(on_hub(listed.error()));
  if (targets.clusters.empty())
    return fail(
        Category::kNotFound,
        choice.selector.empty() ? "the hub has no clusters" : "no cluster matches the label selector \"" + choice.selector + "\"",
        "list the clusters with: fleetadm get clusters");
  std::sort(targets.clusters.begin(), targets.clusters.end());
  return targets;
}

void asker_flags(FlagSet& flags, MemberAsker& asker, std::string help) {
  flags.text(&asker.account, "sa", std::move(help)).value_name = "NAME";
  flags.boolean(&asker.anyway, "ignore-availability", "ask the cluster even if the hub knows that its API server is down");
}

Status validate_account_name(const std::string& account) { return account.empty() ? Status() : check_name("account", account); }

Result<MemberWay> member_way(Context& context, const MemberAsker& asker, bool anonymous) {
  const std::string& account = asker.account;
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const kube::RestConfig config, context.rest_config());
  const auto gateway = proxy::find_gateway(hub);
  if (gateway) {
    MemberWay way{proxy::Way::kGateway, proxy::gateway_config(config, *gateway)};
    way.server.server += anyway_prefix(asker);
    if (!account.empty()) {
      FLEETADM_TRY(way, through_relay(proxy::Way::kGateway, {by_gateway(context, *gateway, asker), config.credentials}));
    }
    way.konnectivity = gateway->konnectivity;
    return way;
  }
  const Category why = gateway.error().category;
  if (why != Category::kNotFound && why != Category::kAuth) return fail(gateway.error());
  const auto upstream = proxy::find_upstream_proxy(hub, config.name == kube::kInClusterName);
  if (!upstream) return fail(upstream.error());
  if (!*upstream) return fail(gateway.error());
  if (account.empty() && !anonymous)
    return fail(Category::kUsage, "the hub has no gateway but cluster-proxy, which would show your credentials to the cluster",
                "act as an account of the cluster: --sa NAME");
  proxy::FindCredential credential;
  if (!account.empty()) credential = credential_of(context, account);
  FLEETADM_TRY(auto way, proxy::upstream_way(hub.with_stop(context.stop()), config, **upstream, std::move(credential)));
  return through_relay(way.way, {std::move(way.route), nullptr});
}

Result<kube::RestConfig> member_connection(Context& context, const std::string& cluster, const MemberAsker& asker) {
  const std::string& account = asker.account;
  FLEETADM_TRY(const std::string prefix, proxy::member_prefix(cluster));
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(MemberWay way, member_way(context, asker));
  FLEETADM_CHECK(cluster_exists(hub, cluster));
  // Rather now than in the words of whoever uses the connection.
  if (!account.empty()) FLEETADM_CHECK(account_token(hub, cluster, account, context.clock().now()).map([](const auto&) {}));
  way.server.server += prefix;
  way.server.name = cluster;
  return std::move(way.server);
}

Error at_member(const Error& error, const std::string& cluster) {
  Error located = error.with_cluster(cluster);
  if (located.code == 403) located.hint = kAccessHint;
  return located;
}

std::string member_namespace(const GlobalOptions& options) { return options.config.ns.empty() ? "default" : options.config.ns; }

}  // namespace fleetadm::commands
