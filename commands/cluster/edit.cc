#include "commands/cluster/edit.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "commands/framework/suggest.h"
#include "commands/framework/write_report.h"
#include "core/api/kinds.h"
#include "core/registration/hub/cluster_defaulter.h"
#include "kubeclient/base/names.h"

namespace fleetadm::commands {
namespace {

using placement::ObjectKind;

/// The clusters that were asked for, by name; those that do not exist become failures.
Result<std::vector<Json>> selected_clusters(const kube::Client& hub, const ClusterSelection& selection,
                                            std::vector<Error>& failures) {
  kube::ListOptions which;
  which.label_selector = selection.selector;
  const std::set<std::string> wanted(selection.names.begin(), selection.names.end());
  std::vector<Json> clusters;
  std::vector<std::string> known;
  FLEETADM_CHECK(on_hub(hub.list_each(api::managed_clusters(), "", which, [&](Json&& cluster) -> Status {
    known.push_back(name_of(cluster));
    if (wanted.empty() || wanted.contains(known.back())) clusters.push_back(std::move(cluster));
    return {};
  })));
  for (const std::string& name : wanted) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string hint = did_you_mean(name, known, "list the clusters with: fleetadm get clusters");
    failures.push_back(
        fail(Category::kNotFound, "cluster \"" + name + "\" does not exist on this hub", hint).value().with_cluster(name));
  }
  if (clusters.empty() && failures.empty()) {
    return fail(Category::kNotFound,
                selection.all ? "there are no clusters on this hub" : "no cluster has the labels \"" + selection.selector + "\"",
                "list the clusters with: fleetadm get clusters");
  }
  return clusters;
}

bool same_intent(const Json& a, const Json& b) {
  return object_at(a, {"metadata", "labels"}) == object_at(b, {"metadata", "labels"}) &&
         object_at(a, {"metadata", "annotations"}) == object_at(b, {"metadata", "annotations"}) &&
         object_at(a, {"spec"}) == object_at(b, {"spec"});
}

ProposedChange proposal(const std::vector<Json>& clusters, const ClusterEdit& edit) {
  ProposedChange change;
  std::set<std::string> names;
  for (const Json& cluster : clusters) names.insert(name_of(cluster));
  change.what = edit.what + (names.size() == 1 ? " cluster " : " clusters ") + work::some_names(names);
  change.make = [names, edit](placement::Objects& objects) {
    for (const std::string& name : names) {
      Json* cluster = objects.find(ObjectKind::kCluster, "", name);
      if (cluster == nullptr) continue;
      const Json before = *cluster;
      if (!edit.edit(*cluster) || same_intent(before, *cluster)) continue;
      if (edit.consequence) edit.consequence(*cluster);
      registration::hub::default_cluster_set(*cluster);
    }
  };
  return change;
}

/// The object as stored, and whether anything was changed.
Result<std::pair<Json, bool>> edit_one(Context& context, const kube::Client& hub, const std::string& name,
                                       const ClusterEdit& edit) {
  Json before;
  FLEETADM_TRY(Json written, hub.modify(api::managed_clusters(), "", name, [&](Json& cluster) -> Status {
    before = cluster;
    return edit.edit(cluster);
  }));
  const bool changed = !same_intent(before, written);
  if (!changed || is_dry(context)) return std::pair{std::move(written), changed};
  FLEETADM_TRY(Json stored, hub.get(api::managed_clusters(), "", name));
  Json again = stored;
  const bool agrees = edit.edit(again).has_value();
  Json defaulted = again;  // the hub may have given a cluster without a set the default one already
  registration::hub::default_cluster_set(defaulted);
  if (!agrees || !(same_intent(again, stored) || same_intent(defaulted, stored))) {
    return fail(Category::kConflict, "the change was written but reads back differently", "another client changed it: try again");
  }
  return std::pair{std::move(stored), true};
}

}  // namespace

void bind_cluster_selection(FlagSet& flags, ClusterSelection& selection) {
  flags.text(&selection.selector, "selector", "Clusters with these labels", 'l').value_name = "SELECTOR";
  flags.boolean(&selection.all, "all", "All clusters of the hub");
}

Status validate_cluster_selection(const ClusterSelection& selection) {
  const int ways = (selection.names.empty() ? 0 : 1) + (selection.selector.empty() ? 0 : 1) + (selection.all ? 1 : 0);
  if (ways == 0) return fail(Category::kUsage, "no clusters are named", "give names of clusters, -l SELECTOR or --all");
  if (ways > 1) return fail(Category::kUsage, "clusters are selected in several ways", "use only one of names, -l and --all");
  for (const std::string& name : selection.names) {
    if (!is_dns_label(name)) return fail(Category::kUsage, "\"" + name + "\" is not a valid cluster name");
  }
  return {};
}

std::vector<std::string> take_cluster_names(ClusterSelection& selection, const std::vector<std::string>& args) {
  if (args.empty() || selection.all || !selection.selector.empty()) return args;
  std::istringstream first(args.front());
  for (std::string name; std::getline(first, name, ',');) selection.names.push_back(name);
  return {args.begin() + 1, args.end()};
}

Result<work::Impact> impact_of_edit(Context& context, const ClusterSelection& selection, const ClusterEdit& edit,
                                    bool every_placement) {
  FLEETADM_TRY(const auto hub, context.client());
  std::vector<Error> missing;
  FLEETADM_TRY(std::vector<Json> clusters, selected_clusters(hub, selection, missing));
  return impact_of(hub, proposal(clusters, edit), context.clock().now(), every_placement);
}

std::vector<std::string> edited_names(const Report& report) {
  std::vector<std::string> names;
  if (const Json& items = list_at(report.data, {"items"}); !items.empty()) {
    for (const Json& one : items) names.push_back(name_of(one));
  } else if (!name_of(report.data).empty()) {
    names.push_back(name_of(report.data));
  }
  return names;
}

Result<Report> edit_clusters(Context& context, const ClusterSelection& selection, const GuardOptions& guard,
                             const ClusterEdit& edit) {
  FLEETADM_TRY(const auto hub, context.client());
  Report report;
  FLEETADM_TRY(std::vector<Json> clusters, selected_clusters(hub, selection, report.failures));
  // What is refused for a cluster is known before anything is written.
  std::erase_if(clusters, [&](const Json& cluster) {
    Json trial = cluster;
    const Status may = edit.edit(trial);
    if (!may) report.failures.push_back(may.error().with_cluster(name_of(cluster)));
    return !may;
  });
  if (clusters.empty()) {
    if (report.failures.size() == 1) return tl::unexpected(report.failures.front());
    return report;
  }
  FLEETADM_TRY(auto plan, guard_change(context, hub, guard, proposal(clusters, edit), report.notes));
  if (plan) return std::move(*plan);
  Json items = Json::array();
  for (const Json& cluster : clusters) {
    const std::string name = name_of(cluster);
    auto stored = edit_one(context, hub, name, edit);
    if (!stored) {
      report.failures.push_back(stored.error().with_cluster(name));
      continue;
    }
    report.lines.push_back(told(context, api::managed_clusters(), name, stored->second ? edit.done : "unchanged"));
    report.names.push_back(full_name(api::managed_clusters(), name));
    items.push_back(std::move(stored->first));
  }
  if (items.empty() && report.failures.size() == 1) return tl::unexpected(report.failures.front());
  const bool single = items.size() == 1 && selection.names.size() == 1;
  report.data = single ? std::move(items.front()) : Json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}};
  return report;
}

}  // namespace fleetadm::commands
