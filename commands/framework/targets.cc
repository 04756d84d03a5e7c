#include "commands/framework/targets.h"

#include <set>
#include <utility>

#include "commands/framework/grammar.h"
#include "commands/framework/named.h"
#include "core/api/kinds.h"
#include "core/work/rules/names.h"
#include "kubeclient/base/names.h"

namespace fleetadm::commands {

void bind_targets(FlagSet& flags, TargetOptions& options) {
  clusters_flag(flags, &options.clusters, "cluster names");
  Flag& selector = flags.text(&options.selector, "selector", "clusters that currently match this label selector", 'l');
  selector.value_name = "SELECTOR";
  placement_flag(flags, &options.placement, "the clusters this placement selects, kept up to date");
}

Flag& placement_flag(FlagSet& flags, std::string* into, std::string help) {
  Flag& placement = flags.text(into, "placement", std::move(help));
  placement.value_name = "[NAMESPACE/]NAME";
  placement.complete = Complete::kPlacements;
  return placement;
}

Flag& only_clusters_flag(FlagSet& flags, std::vector<std::string>& into) {
  return clusters_flag(flags, &into, "only these clusters");
}

Status validate_targets(const TargetOptions& options, const std::string& further) {
  const int ways = (options.clusters.empty() ? 0 : 1) + (options.selector.empty() ? 0 : 1) + (options.placement.empty() ? 0 : 1);
  if (ways == 1) return {};
  const std::string choices = "--clusters, -l or --placement" + further;
  if (ways == 0) return fail(Category::kUsage, "no clusters given", "use one of " + choices);
  return fail(Category::kUsage, "conflicting cluster selection", "use only one of " + choices);
}

Status validate_work_name(const std::string& name) {
  if (!is_dns_subdomain(name)) {
    return fail(Category::kUsage, "\"" + name + "\" is not a valid work name", "use lowercase letters, digits, '-' and '.'");
  }
  if (name.size() > work::kMaxWorkName) {
    return fail(Category::kUsage, "the work's name is " + std::to_string(name.size()) + " characters long",
                "a work's name is limited to " + std::to_string(work::kMaxWorkName) + " characters");
  }
  return {};
}

Result<PlacementRef> placement_ref(Context& context, const std::string& text) {
  const kube::ObjectName parts = kube::split_key(text);
  PlacementRef ref{parts.ns, parts.name};
  if (ref.ns.empty()) {
    FLEETADM_TRY(ref.ns, context.ns());
  }
  if (!is_dns_label(ref.ns) || !is_dns_subdomain(ref.name)) {
    return fail(Category::kUsage, "\"" + text + "\" does not name a placement", "write it as NAMESPACE/NAME, or NAME with -n");
  }
  return ref;
}

Status placement_exists(const kube::Client& hub, const PlacementRef& ref) {
  Result<std::optional<Json>> placement = hub.find(api::placements(), ref.ns, ref.name);
  if (!placement) return tl::unexpected(on_hub(placement.error()));
  if (*placement) return {};
  return fail(Category::kNotFound, "placement \"" + ref.name + "\" not found in namespace \"" + ref.ns + "\"",
              NearNames(hub, api::placements(), ref.ns)
                  .hint(ref.name, "create one with: fleetadm placement create; list them with: fleetadm get placements -A"));
}

std::vector<std::string> clusters_of(const std::vector<Json>& decisions) {
  std::set<std::string> clusters;
  for (const Json& decision : decisions) {
    for (const Json& entry : list_at(decision, {"status", "decisions"})) {
      if (std::string name = str(entry, {"clusterName"}); !name.empty()) clusters.insert(std::move(name));
    }
  }
  return std::vector<std::string>(clusters.begin(), clusters.end());
}

Result<std::vector<std::string>> decided_clusters(const kube::Client& hub, const PlacementRef& placement) {
  kube::ListOptions which;
  which.label_selector = std::string(api::kPlacementLabel) + "=" + placement.name;
  std::vector<Json> decisions;
  const Status listed = hub.list_each(api::placement_decisions(), placement.ns, which, [&](Json&& decision) -> Status {
    decisions.push_back(std::move(decision));
    return {};
  });
  if (!listed) return tl::unexpected(on_hub(listed.error()));
  return clusters_of(decisions);
}

Result<ClusterTargets> cluster_targets(const kube::Client& hub, const TargetOptions& options) {
  ClusterTargets targets;
  if (!options.selector.empty()) {
    kube::ListOptions which;
    which.label_selector = options.selector;
    const Status listed = hub.list_each(api::managed_clusters(), {}, which, [&](const Json& cluster) -> Status {
      targets.clusters.push_back(name_of(cluster));
      return {};
    });
    if (!listed) return tl::unexpected(on_hub(listed.error()));
    if (targets.clusters.empty()) {
      return fail(Category::kNotFound, "no cluster matches the label selector \"" + options.selector + "\"",
                  "list the clusters with: fleetadm get clusters");
    }
    return targets;
  }
  NearNames near(hub, api::managed_clusters());
  for (const std::string& name : std::set<std::string>(options.clusters.begin(), options.clusters.end())) {
    Result<std::optional<Json>> cluster = hub.find(api::managed_clusters(), {}, name);
    if (!cluster) return tl::unexpected(on_hub(cluster.error()));
    if (*cluster) {
      targets.clusters.push_back(name);
    } else {
      targets.missing.push_back(fail(Category::kNotFound, "cluster \"" + name + "\" does not exist on this hub",
                                     near.hint(name, "list the clusters with: fleetadm get clusters"))
                                    .value()
                                    .with_cluster(name));
    }
  }
  return targets;
}

Error on_hub(const Error& error) {
  if (error.code != 404 || !error.hint.empty()) return error;
  return error.with_hint("this server may not be a hub: select one with --context or --kubeconfig, or run fleetadm init");
}

Json list_of(std::vector<Json> items) {
  Json list = Json::object({{"apiVersion", "v1"}, {"kind", "List"}, {"metadata", Json::object({{"resourceVersion", ""}})}});
  list["items"] = Json::array();
  for (Json& item : items) list["items"].push_back(std::move(item));
  return list;
}

}  // namespace fleetadm::commands
