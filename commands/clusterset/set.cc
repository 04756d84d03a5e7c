// clusterset set: puts clusters into an exclusive set (or takes them out) and keeps its list of managed namespaces.
#include <algorithm>

#include "commands/clusterset/clusterset.h"
#include "commands/framework/grammar.h"
#include "commands/framework/guard.h"
#include "commands/framework/named.h"
#include "commands/framework/write_report.h"
#include "core/api/kinds.h"
#include "core/registration/hub/cluster_defaulter.h"
#include "kubeclient/base/names.h"

namespace fleetadm::commands {
namespace {

struct SetOptions {
  std::vector<std::string> clusters;
  std::vector<std::string> remove_clusters;
  std::vector<std::string> namespaces;
  std::vector<std::string> remove_namespaces;
  GuardOptions guard;
};

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

struct Outcome {
  std::string cluster;
  std::string text;
};

/// Makes the cluster a member of the set, or no member of it.
void set_member(Json& cluster, const std::string& set, bool member) {
  if (member) at_or_make(cluster, {"metadata", "labels", api::kClusterSetLabel}) = set;
  if (!member && label_of(cluster, api::kClusterSetLabel) == set)
    erase_at(cluster, {"metadata", "labels", api::kClusterSetLabel});
}

/// Gives the cluster the set's label, or takes it away; a cluster of another set is not taken out of that one.
Result<Outcome> label_cluster(Context& context, const kube::Client& hub, const std::string& set, const std::string& name,
                              bool member, NearNames& near) {
  std::string before;
  const auto change = [&](Json& cluster) -> Status {
    before = label_of(cluster, api::kClusterSetLabel);
    set_member(cluster, set, member);
    return {};
  };
  auto changed = hub.modify(api::managed_clusters(), "", name, change);
  if (!changed) {
    Error error = near.explain(changed.error().with_cluster(name), name, "list the clusters with: fleetadm get clusters");
    if (error.category == Category::kAuth) error.hint = "you need permission to create managedclustersets/join for this set";
    return tl::unexpected(std::move(error));
  }
  const std::string line = "managedcluster " + name;
  const bool inside = before == set;
  if (member == inside)
    return Outcome{name,
                   told(context, api::managed_clusters(), name, member ? "is already in set " + set : "is not in set " + set)};
  if (!is_dry(context)) {
    FLEETADM_TRY(const Json stored, hub.get(api::managed_clusters(), "", name));
    if ((label_of(stored, api::kClusterSetLabel) == set) != member) {
      return tl::unexpected(
          fail(Category::kConflict, line + " is now in a different set: it was changed concurrently", "run the command again")
              .value()
              .with_cluster(name));
    }
  }
  if (!member) return Outcome{name, told(context, api::managed_clusters(), name, "removed from set " + set)};
  // The default set is where a cluster is put that nobody has placed: leaving it is no news.
  const std::string moved =
      before.empty() || before == api::kDefaultClusterSet ? "added to set " + set : "moved from set " + before + " to set " + set;
  return Outcome{name, told(context, api::managed_clusters(), name, moved)};
}

Result<std::string> set_namespaces(Context& context, const kube::Client& hub, const std::string& set, const SetOptions& options) {
  bool different = false;
  const auto change = [&](Json& object) -> Status {
    Json list = Json::array();
    std::vector<std::string> known;
    for (const Json& one : list_at(object, {"spec", "managedNamespaces"})) {
      if (contains(options.remove_namespaces, str(one, {"name"}))) continue;
      known.push_back(str(one, {"name"}));
      list.push_back(one);
    }
    for (const std::string& name : options.namespaces) {
      if (!contains(known, name)) list.push_back({{"name", name}});
    }
    different = list_at(object, {"spec", "managedNamespaces"}) != list;
    if (different) at_or_make(object, {"spec", "managedNamespaces"}) = std::move(list);
    return {};
  };
  FLEETADM_TRY(const Json written, hub.modify(api::managed_cluster_sets(), "", set, change));
  if (different && !is_dry(context)) {
    FLEETADM_TRY(const Json stored, hub.get(api::managed_cluster_sets(), "", set));
    if (list_at(stored, {"spec", "managedNamespaces"}) != list_at(written, {"spec", "managedNamespaces"})) {
      return fail(Category::kConflict, "cluster set \"" + set + "\" now has different namespaces: it was changed concurrently",
                  "run the command again");
    }
  }
  return told(context, api::managed_cluster_sets(), set, different ? "configured" : "unchanged");
}

ProposedChange membership_change(const std::string& set, const SetOptions& options) {
  ProposedChange change;
  change.what = "changing the clusters of cluster set " + set;
  change.make = [&](placement::Objects& objects) {
    const auto each = [&](const std::vector<std::string>& names, bool member) {
      for (const std::string& name : names) {
        Json* cluster = objects.find(placement::ObjectKind::kCluster, "", name);
        if (cluster == nullptr) continue;
        set_member(*cluster, set, member);
        registration::hub::default_cluster_set(*cluster);
      }
    };
    each(options.clusters, true);
    each(options.remove_clusters, false);
  };
  return change;
}

Result<Report> run_set(Context& context, const SetOptions& options, const std::vector<std::string>& args) {
  const std::string& set = args.front();
  FLEETADM_TRY(const auto hub, context.client());
  FLEETADM_TRY(const auto object, on_hub(hub.find(api::managed_cluster_sets(), "", set)));
  if (!object)
    return fail(Category::kNotFound, "cluster set \"" + set + "\" does not exist",
                NearNames(hub, api::managed_cluster_sets()).hint(set, "create it with: fleetadm clusterset create " + set));
  const bool touches_clusters = !options.clusters.empty() || !options.remove_clusters.empty();
  if (touches_clusters &&
      str(*object, {"spec", "clusterSelector", "selectorType"}, "ExclusiveClusterSetLabel") != "ExclusiveClusterSetLabel") {
    return fail(Category::kUsage, "cluster set \"" + set + "\" selects its clusters by label",
                "label the clusters instead, or use an exclusive set");
  }

  Report report;
  if (touches_clusters || options.guard.plan) {
    FLEETADM_TRY(auto plan, guard_change(context, hub, options.guard, membership_change(set, options), report.notes));
    if (plan) return std::move(*plan);
  }
  Json changes = Json::array();
  if (!options.namespaces.empty() || !options.remove_namespaces.empty()) {
    FLEETADM_TRY(const std::string line, set_namespaces(context, hub, set, options));
    report.lines.push_back(line);
  }
  NearNames near(hub, api::managed_clusters());
  const auto each = [&](const std::vector<std::string>& names, bool member) {
    for (const std::string& name : names) {
      auto outcome = label_cluster(context, hub, set, name, member, near);
      if (!outcome) {
        report.failures.push_back(std::move(outcome).error());
        continue;
      }
      report.lines.push_back(outcome->text);
      report.names.push_back(full_name(api::managed_clusters(), name));
      changes.push_back({{"cluster", name}, {"outcome", outcome->text}});
    }
  };
  each(options.clusters, true);
  each(options.remove_clusters, false);
  if (report.lines.empty() && report.failures.size() == 1) return tl::unexpected(report.failures.front());
  report.data = {{"kind", "ClusterSetReport"}, {"clusterSet", set}, {"changes", std::move(changes)}};
  return report;
}

}  // namespace

void register_clusterset_set(Registry& registry) {
  Command command;
  command.path = "clusterset set";
  command.group = "Clusters";
  command.summary = "Add clusters to a cluster set, or remove them";
  command.description =
      "Labels the clusters with the set's name; a cluster that was in another exclusive set is moved, "
      "and the move is reported. Managed namespaces are created on every cluster in the set.";
  command.description += kGuardText;
  command.args = {"SET", 1, 1, false, Complete::kClusterSets};
  command.examples = {{"Add two clusters to prod", "fleetadm clusterset set prod --clusters c1,c2"},
                      {"Remove a cluster from prod", "fleetadm clusterset set prod --remove-clusters c2"},
                      {"Create a namespace on every cluster in the set", "fleetadm clusterset set prod --namespaces shop"}};
  command.make = invocation<SetOptions>(
      [](FlagSet& flags, SetOptions& options) {
        clusters_flag(flags, &options.clusters, "Clusters to add to the set");
        auto& removed = flags.comma_texts(&options.remove_clusters, "remove-clusters", "Clusters to remove from the set");
        removed.value_name = "NAME[,NAME...]";
        removed.complete = Complete::kClusters;
        flags.comma_texts(&options.namespaces, "namespaces", "Namespaces to create on the clusters in the set").value_name =
            "NAME[,NAME...]";
        flags
            .comma_texts(&options.remove_namespaces, "remove-namespaces",
                         "Namespaces to stop managing (they are kept on the clusters)")
            .value_name = "NAME[,NAME...]";
        bind_guard(flags, options.guard);
      },
      [](const SetOptions& options, const std::vector<std::string>&) -> Status {
        if (options.clusters.empty() && options.remove_clusters.empty() && options.namespaces.empty() &&
            options.remove_namespaces.empty()) {
          return fail(Category::kUsage, "nothing to do: name --clusters or --namespaces");
        }
        for (const std::string& name : options.clusters) {
          if (contains(options.remove_clusters, name))
            return fail(Category::kUsage, "cluster \"" + name + "\" is listed in both --clusters and --remove-clusters");
        }
        for (const std::string& name : options.namespaces) {
          if (contains(options.remove_namespaces, name))
            return fail(Category::kUsage, "namespace \"" + name + "\" is both to add and to remove");
          if (!is_dns_label(name)) return fail(Category::kUsage, "namespace \"" + name + "\" is not a valid name");
        }
        return {};
      },
      run_set);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
