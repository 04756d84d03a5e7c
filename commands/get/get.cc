#include "commands/get/get.h"

#include <algorithm>
#include <map>

#include "commands/framework/grammar.h"
#include "commands/get/cluster_table.h"
#include "core/api/kinds.h"

namespace fleetadm::commands {
namespace {

struct GetOptions {
  std::string selector;
  std::string cluster_set;
  bool watch = false;
  bool watch_only = false;
  bool all_namespaces = false;
};

Status any(const GetOptions&, const std::vector<std::string>&) { return {}; }

/// When the leases of clusters were renewed. Who may not read them sees none.
Result<std::map<std::string, Instant>> heartbeats(const kube::Client& hub, const std::vector<std::string>& names) {
  std::map<std::string, Instant> renewed;
  const auto take = [&](const std::string& cluster, const Json& lease) {
    if (const auto at = parse_time(str(lease, {"spec", "renewTime"}))) renewed.emplace(cluster, *at);
  };
  const auto& leases = kube::resources::leases();
  Status read;
  if (names.empty()) {
    kube::ListOptions which;
    which.field_selector = "metadata.name=" + std::string(api::kClusterLease);
    read = hub.list_each(leases, "", which, [&](const Json& lease) -> Status {
      take(namespace_of(lease), lease);
      return {};
    });
  }
  for (const std::string& name : names) {
    const auto lease = hub.find(leases, name, api::kClusterLease);
    if (!lease) read = fail(lease.error());
    if (lease && *lease) take(name, **lease);
  }
  if (!read && read.error().category != Category::kAuth) return fail(read.error());
  return renewed;
}

Result<Report> clusters(Context& context, const GetOptions& options, const std::vector<std::string>& args) {
  ListRequest request{args, options.selector, {}, options.watch, options.watch_only};
  if (!options.cluster_set.empty()) {
    // A set that does not exist is a mistake, not an empty list.
    FLEETADM_TRY(const kube::Client client, context.client());
    FLEETADM_TRY(const Json set, client.get(api::managed_cluster_sets(), "", options.cluster_set));
    const Json& selector = object_at(set, {"spec", "clusterSelector"});
    if (str(selector, {"selectorType"}, "ExclusiveClusterSetLabel") == "ExclusiveClusterSetLabel") {
      request.selector += (request.selector.empty() ? "" : ",") + std::string(api::kClusterSetLabel) + "=" + options.cluster_set;
    } else {
      for (const auto& [key, value] : strings_at(selector, {"labelSelector", "matchLabels"}))
        request.selector += (request.selector.empty() ? "" : ",") + key + "=" + value;
      for (const Json& rule : list_at(selector, {"labelSelector", "matchExpressions"})) {
        const std::string key = str(rule, {"key"});
        const std::string op = str(rule, {"operator"});
        std::string values;
        for (const std::string& value : string_list_at(rule, {"values"})) values += (values.empty() ? "" : ",") + value;
        if (!request.selector.empty()) request.selector += ",";
        if (op == "Exists") request.selector += key;
        if (op == "DoesNotExist") request.selector += "!" + key;
        if (op == "In") request.selector += key + " in (" + values + ")";
        if (op == "NotIn") request.selector += key + " notin (" + values + ")";
      }
    }
  }
  const GlobalOptions& global = context.global();
  const bool narrow =
      !wants_objects(global) && !wants_wide(global) && global.list.usual() && global.output != "name" && global.output != "tree";
  if (narrow && args.empty() && !options.watch && !options.watch_only) {
    FLEETADM_TRY(const kube::Client client, context.client());
    FLEETADM_TRY(auto rows, narrow_clusters(client, request.selector, context.clock().now()));
    if (rows) {
      const ListView view = cluster_view();
      Report report;
      report.table = Table{view.columns, std::move(*rows), view.nothing};
      return report;
    }
  }
  std::map<std::string, Instant> renewed;
  if (wants_wide(global) && !options.watch && !options.watch_only) {
    FLEETADM_TRY(const kube::Client client, context.client());
    FLEETADM_TRY(renewed, heartbeats(client, args));
  }
  const auto heartbeat = [&renewed](const std::string& cluster, Instant now) {
    const auto at = renewed.find(cluster);
    return at == renewed.end() ? std::string() : format_age(at->second, now);
  };
  return list_objects(context, cluster_view(heartbeat), request);
}

Result<Report> cluster_sets(Context& context, const GetOptions& options, const std::vector<std::string>& args) {
  std::map<std::string, std::vector<std::string>> bound;
  bool known = true;
  FLEETADM_TRY(const kube::Client client, context.client());
  const Status listed = client.list_each(api::managed_cluster_set_bindings(), "", {}, [&](const Json& binding) -> Status {
    bound[str(binding, {"spec", "clusterSet"})].push_back(namespace_of(binding));
    return {};
  });
  if (!listed && listed.error().category != Category::kAuth) return fail(listed.error());
  known = listed.has_value();
  const auto bound_to = [&bound, known](const std::string& set) -> std::string {
    if (!known) return "<forbidden>";
    std::string text;
    const auto found = bound.find(set);
    if (found != bound.end())
      for (const std::string& ns : found->second) text += (text.empty() ? "" : ",") + ns;
    return text;
  };
  return list_objects(context, cluster_set_view(bound_to), {args, options.selector, {}, options.watch, options.watch_only});
}

Result<Report> placements(Context& context, const GetOptions& options, const std::vector<std::string>& args) {
  if (options.all_namespaces && !args.empty()) return fail(Category::kUsage, "--all-namespaces cannot be combined with a name");
  std::string ns;
  if (!options.all_namespaces) {
    FLEETADM_TRY(ns, context.ns());
  }
  std::map<std::string, std::string> chosen;
  if (wants_wide(context.global())) {
    FLEETADM_TRY(const kube::Client client, context.client());
    // Decisions come in several objects a placement; their names sort in the order of the decision groups.
    FLEETADM_CHECK(client.list_each(api::placement_decisions(), ns, {}, [&](const Json& item) -> Status {
      std::string& text = chosen[kube::object_key(namespace_of(item), label_of(item, api::kPlacementLabel))];
      for (const Json& decision : list_at(item, {"status", "decisions"}))
        text += (text.empty() ? "" : ",") + str(decision, {"clusterName"});
      return {};
    }));
  }
  const auto clusters_of = [&chosen](const std::string& key) {
    const auto found = chosen.find(key);
    return found == chosen.end() ? std::string() : found->second;
  };
  ListRequest request{args, options.selector, {}, options.watch, options.watch_only};
  if (!ns.empty()) request.namespaces = {ns};
  return list_objects(context, placement_view(options.all_namespaces, clusters_of), request);
}

Command row(std::string path, std::string group, std::string summary) {
  Command command;
  command.path = std::move(path);
  command.group = std::move(group);
  command.summary = std::move(summary);
  command.args = {"[NAME...]", 0, -1};
  return command;
}

void register_clusters(Registry& registry) {
  Command command = row("get clusters", "Clusters", "List the clusters in the fleet");
  command.description =
      "Lists managed clusters: whether the hub accepted them, whether they joined and are available, "
      "and their set. The wide output adds how they are members (pull: with an agent, hosted: with an agent elsewhere, push: the hub "
      "dials them), since when they are available or not, how long ago the lease was renewed, their Kubernetes version, the agent's "
      "version and whether its pods are ready, in the words of the cluster (of an agent that is silent, the last ones), nodes "
      "(ready/all), the cluster's size and what pods hold of what they can have (of clusters that the hub dials; ? where it is not "
      "known), its API server's address and its taints.";
  command.args.complete = Complete::kClusters;
  command.aliases = {"cluster get",        "cluster list", "get cluster", "get managedclusters",
                     "get managedcluster", "get mcl",      "get mcls"};
  command.examples = {
      {"All clusters", "fleetadm get clusters"},
      {"Clusters in a region, sorted by memory, largest last",
       "fleetadm get clusters -l region=eu --sort-by='{.status.capacity.memory}'"},
      {"Names only, for a script", "fleetadm get clusters -o name"},
      {"Cluster sets and their clusters", "fleetadm get clusters -o tree"},
      {"A spreadsheet of names, labels and versions", "fleetadm get clusters -o csv --columns name,region,version -L region"},
      {"Agents that are not ready, and why",
       "fleetadm get clusters -o jsonpath='{range .items[*]}{.metadata.name}: "
       "{.status.conditions[?(@.type==\"fleetadm.io/AgentReady\")].message}{\"\\n\"}{end}'"},
      {"Changes as they happen", "fleetadm get clusters -w"}};
  command.tree = true;
  command.make = invocation<GetOptions>(
      [](FlagSet& flags, GetOptions& options) {
        list_flags(flags, options.selector, options.watch, options.watch_only);
        cluster_set_flag(flags, &options.cluster_set, "only the clusters in this set");
      },
      [](const GetOptions& options, const std::vector<std::string>& args) -> Status {
        if (!options.cluster_set.empty() && !args.empty())
          return fail(Category::kUsage, "--clusterset cannot be combined with names");
        return {};
      },
      clusters);
  registry.add(std::move(command));
}

void register_others(Registry& registry) {
  const auto bind = [](FlagSet& flags, GetOptions& options) {
    list_flags(flags, options.selector, options.watch, options.watch_only);
  };
  Command sets = row("get clustersets", "Clusters", "List the cluster sets");
  sets.description = "Lists cluster sets, how many clusters each has, and the namespaces that may place work on them.";
  sets.args.complete = Complete::kClusterSets;
  sets.aliases = {"clusterset get",        "clusterset list", "get clusterset", "get managedclustersets",
                  "get managedclusterset", "get mclset",      "get mclsets"};
  sets.examples = {{"", "fleetadm get clustersets"}};
  sets.make = invocation<GetOptions>(bind, any, cluster_sets);
  registry.add(std::move(sets));

  Command placement = row("get placements", "Placement", "List the placements in a namespace");
  placement.description =
      "Lists placements with how many clusters each has selected and whether the request is satisfied. "
      "The wide output adds the names of the selected clusters.";
  placement.args.complete = Complete::kPlacements;
  placement.aliases = {"placement get", "placement list", "get placement"};
  placement.examples = {{"Placements in all namespaces, with the clusters they selected", "fleetadm get placements -A -o wide"}};
  placement.make = invocation<GetOptions>(
      [bind](FlagSet& flags, GetOptions& options) {
        bind(flags, options);
        all_namespaces_flag(flags, &options.all_namespaces, "list across all namespaces");
      },
      any, placements);
  registry.add(std::move(placement));
}

}  // namespace

void register_get(Registry& registry) {
  register_clusters(registry);
  register_others(registry);
  register_get_members(registry);
}

}  // namespace fleetadm::commands
