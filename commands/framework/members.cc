#include "commands/framework/members.h"

#include <algorithm>
#include <set>
#include <utility>

#include "commands/framework/named.h"
#include "core/api/kinds.h"
#include "core/proxy/client/gateway_access.h"

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

Result<kube::Client> gateway_client(Context& context) {
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const auto gateway, proxy::find_gateway(hub));
  FLEETADM_TRY(const kube::RestConfig config, context.rest_config());
  return context.client(proxy::gateway_config(config, gateway));
}

Result<kube::RestConfig> member_connection(Context& context, const std::string& cluster) {
  FLEETADM_CHECK(proxy::member_prefix(cluster));
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const auto gateway, proxy::find_gateway(hub));
  FLEETADM_CHECK(cluster_exists(hub, cluster));
  FLEETADM_TRY(const kube::RestConfig config, context.rest_config());
  return proxy::member_config(config, gateway, cluster);
}

std::string member_namespace(const GlobalOptions& options) { return options.config.ns.empty() ? "default" : options.config.ns; }

}  // namespace fleetadm::commands
