#include "commands/work/waiting.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "commands/framework/watched.h"
#include "core/api/kinds.h"
#include "core/work/rules/conditions.h"
#include "core/work/rules/names.h"
#include "core/work/rules/progress.h"
#include "core/work/rules/replica_set_rules.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::commands {
namespace {

/// Clusters whose work is available and whose agent does not report readiness.
using Silent = std::set<std::string>;

void note_silent(const Silent& silent, Report& report) {
  if (silent.empty()) return;
  report.notes.push_back("Readiness is unknown on " + joined({silent.begin(), silent.end()}, ", ") +
                         ": the agents there do not report it; the works are available.");
}

/// Only what blocking() asks for, and of the manifests their hash.
void keep_progress(Json& work) {
  const std::string hash = work::work_spec_hash(object_at(work, {"spec"}));
  work["spec"] = Json::object({{"hash", hash}});
}

/// The works of one name: of a few clusters in their namespaces, as whoever may not see all has to; of many in one list.
class NamedWorks {
 public:
  NamedWorks(Watched& watched, const std::string& name, const std::vector<std::string>& clusters) : name_(name) {
    kube::InformerOptions options;
    options.field_selector = "metadata.name=" + name;
    options.project = keep_progress;
    if (clusters.size() > kFew) {
      all_ = watched.add(api::manifest_works(), std::move(options));
      return;
    }
    for (const std::string& cluster : clusters) {
      options.ns = cluster;
      lists_[cluster] = watched.add(api::manifest_works(), options);
    }
  }
  std::optional<Json> find(const Objects& objects, const std::string& cluster) const {
    const auto own = lists_.find(cluster);
    return objects.find(own == lists_.end() ? all_ : own->second, cluster, name_);
  }

 private:
  static constexpr std::size_t kFew = 16;
  std::string name_;
  std::size_t all_ = 0;
  std::map<std::string, std::size_t> lists_;
};

kube::InformerOptions of_set(const std::string& ns, const std::string& name) {
  kube::InformerOptions options;
  options.label_selector = std::string(work::kReplicaSetLabel) + "=" + ns + "." + name;
  return options;
}

kube::InformerOptions the_set(const std::string& ns, const std::string& name) {
  kube::InformerOptions options;
  options.ns = ns;
  options.field_selector = "metadata.name=" + name;
  return options;
}

}  // namespace

std::string blocking(const Json& work, const std::string& condition) {
  if (is_deleting(work)) return "the work is being deleted";
  const std::int64_t generation = num(work, {"metadata", "generation"});
  const Json& conditions = list_at(work, {"status", "conditions"});
  std::vector<std::string_view> types{work::kConditionApplied};
  if (condition != "applied") types.push_back(work::kConditionAvailable);
  if (condition == "ready" && work::condition_in(conditions, work::kConditionReady) != nullptr)
    types.push_back(work::kConditionReady);
  for (const std::string_view type : types) {
    const Json* found = work::condition_in(conditions, type);
    if (found == nullptr || num(*found, {"observedGeneration"}) != generation) return "the agent has not reported it yet";
    if (str(*found, {"status"}) == "True") continue;
    for (const Json& manifest : list_at(work, {"status", "resourceStatus", "manifests"})) {
      const Json* own = work::condition_in(list_at(manifest, {"conditions"}), type);
      if (own == nullptr || str(*own, {"status"}) == "True") continue;
      return str(manifest, {"resourceMeta", "kind"}) + " " + str(manifest, {"resourceMeta", "name"}) + ": " +
             str(*own, {"message"});
    }
    return str(*found, {"message"});
  }
  return {};
}

std::vector<Error> wait_for_works(Context& context, const kube::Client& hub, const std::string& name,
                                  const std::vector<std::string>& clusters, const std::string& condition, Duration timeout,
                                  Report& report) {
  Watched watched(hub);
  const NamedWorks works(watched, name, clusters);
  Silent silent;
  const Look look = [&](const Objects& now) -> Result<Missing> {
    Missing missing;
    silent.clear();
    for (const std::string& cluster : clusters) {
      const std::optional<Json> work = works.find(now, cluster);
      std::string why = work ? blocking(*work, condition) : "the work was deleted";
      if (why.empty() && !work::reports_readiness(*work)) silent.insert(cluster);
      if (!why.empty()) missing[cluster] = std::move(why);
    }
    return missing;
  };
  std::vector<Error> late = wait_for_missing(context, "Waiting until " + name + " is " + condition, watched, look, timeout);
  if (condition == "ready") note_silent(silent, report);
  return late;
}

std::vector<Error> wait_for_set(Context& context, const kube::Client& hub, const PlacementRef& placement, const std::string& name,
                                const std::string& condition, Duration timeout, Report& report) {
  Watched watched(hub);
  const std::size_t sets = watched.add(api::manifest_work_replica_sets(), the_set(placement.ns, name));
  kube::InformerOptions of_placement;
  of_placement.ns = placement.ns;
  of_placement.label_selector = std::string(api::kPlacementLabel) + "=" + placement.name;
  const std::size_t decisions = watched.add(api::placement_decisions(), std::move(of_placement));
  kube::InformerOptions options = of_set(placement.ns, name);
  options.project = keep_progress;
  const std::size_t works = watched.add(api::manifest_works(), std::move(options));
  Silent silent;
  const Look look = [&](const Objects& now) -> Result<Missing> {
    silent.clear();
    const std::optional<Json> set = now.find(sets, placement.ns, name);
    if (!set) return fail(Category::kNotFound, "ManifestWorkReplicaSet " + placement.ns + "/" + name + " was deleted");
    const std::string wanted = work::work_spec_hash(object_at(*set, {"spec", "manifestWorkTemplate"}));
    Missing missing;
    for (const std::string& cluster : clusters_of(now.objects(decisions)))
      missing[cluster] = "the hub has not created its work yet";
    if (missing.empty()) missing[""] = "placement " + placement.ns + "/" + placement.name + " has not selected any clusters";
    for (const Json& one : now.objects(works)) {
      const auto found = missing.find(namespace_of(one));
      if (found == missing.end()) continue;
      const bool current = str(one, {"spec", "hash"}) == wanted;
      found->second = current ? blocking(one, condition) : "the hub has not updated its work yet";
      if (!found->second.empty()) continue;
      if (!work::reports_readiness(one)) silent.insert(found->first);
      missing.erase(found);
    }
    return missing;
  };
  std::vector<Error> late = wait_for_missing(context, "Waiting until " + name + " is " + condition, watched, look, timeout);
  if (condition == "ready") note_silent(silent, report);
  return late;
}

std::vector<Error> wait_until_gone(Context& context, const kube::Client& hub, const std::string& name,
                                   const std::vector<std::string>& clusters, Duration timeout) {
  Watched watched(hub);
  const NamedWorks works(watched, name, clusters);
  const Look look = [&](const Objects& now) -> Result<Missing> {
    Missing left;
    for (const std::string& cluster : clusters) {
      if (works.find(now, cluster)) left[cluster] = "the agent has not removed its objects yet";
    }
    return left;
  };
  return wait_for_missing(context, "Waiting until " + name + " is deleted", watched, look, timeout);
}

Status wait_until_set_is_gone(Context& context, const kube::Client& hub, const std::string& ns, const std::string& name,
                              Duration timeout) {
  Watched watched(hub);
  const std::size_t sets = watched.add(api::manifest_work_replica_sets(), the_set(ns, name));
  kube::InformerOptions options = of_set(ns, name);
  options.project = keep_progress;
  const std::size_t works = watched.add(api::manifest_works(), std::move(options));
  const Look look = [&](const Objects& now) -> Result<Missing> {
    Missing left;
    for (const Json& one : now.objects(works)) left[namespace_of(one)] = "the agent has not removed its objects yet";
    if (now.find(sets, ns, name)) left[""] = "the hub has not finished deleting the ManifestWorkReplicaSet yet";
    return left;
  };
  const std::vector<Error> failures = wait_for_missing(context, "Waiting until " + name + " is deleted", watched, look, timeout);
  if (!failures.empty()) return tl::unexpected(failures.front());
  return {};
}

}  // namespace fleetadm::commands
