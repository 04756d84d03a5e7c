#include "commands/work/waiting.h"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "core/api/kinds.h"
#include "core/work/conditions.h"
#include "core/work/names.h"
#include "core/work/replica_set_rules.h"

namespace fleetadm::commands {
namespace {

constexpr auto kPause = std::chrono::milliseconds(300);

/// What is still missing, by cluster; empty: done. An error is remembered and asked again until the time is over.
using Look = std::function<Result<std::map<std::string, std::string>>()>;

void pause(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait_for(lock, stop, kPause, [] { return false; });
}

std::vector<Error> wait(Context& context, const std::string& step, const Look& look, Duration timeout) {
  context.progress().begin(step);
  const auto end = std::chrono::steady_clock::now() + timeout;
  std::vector<Error> failures;
  while (true) {
    const Result<std::map<std::string, std::string>> missing = look();
    if (missing && missing->empty()) {
      context.progress().done();
      return {};
    }
    const bool stopped = context.stop().stop_requested();
    if (missing) {
      const auto& [cluster, why] = *missing->begin();
      context.progress().note(cluster.empty() ? why : cluster + ": " + why);
    }
    if (!stopped && std::chrono::steady_clock::now() < end) {
      pause(context.stop());
      continue;
    }
    const Category category = stopped ? Category::kCancelled : Category::kTimeout;
    if (!missing) {
      failures.push_back(missing.error());
    } else {
      for (const auto& [cluster, why] : *missing) {
        failures.push_back(fail(category, why).value().with_cluster(cluster));
      }
    }
    context.progress().failed(stopped ? "stopped" : "not within " + format_duration(timeout));
    return failures;
  }
}

}  // namespace

std::string blocking(const Json& work, const std::string& condition) {
  if (is_deleting(work)) return "the work is being deleted";
  const std::int64_t generation = num(work, {"metadata", "generation"});
  const Json& conditions = list_at(work, {"status", "conditions"});
  std::vector<std::string_view> types{work::kConditionApplied};
  if (condition == "available") types.push_back(work::kConditionAvailable);
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
                                  const std::vector<std::string>& clusters, const std::string& condition, Duration timeout) {
  const Look look = [&]() -> Result<std::map<std::string, std::string>> {
    std::map<std::string, std::string> missing;
    for (const std::string& cluster : clusters) {
      FLEETADM_TRY(const std::optional<Json> work, hub.find(api::manifest_works(), cluster, name));
      const std::string why = work ? blocking(*work, condition) : "the work is gone";
      if (!why.empty()) missing[cluster] = why;
    }
    return missing;
  };
  return wait(context, "Waiting until " + name + " is " + condition, look, timeout);
}

std::vector<Error> wait_for_set(Context& context, const kube::Client& hub, const PlacementRef& placement, const std::string& name,
                                const std::string& condition, Duration timeout) {
  const Look look = [&]() -> Result<std::map<std::string, std::string>> {
    FLEETADM_TRY(const std::optional<Json> set, hub.find(api::manifest_work_replica_sets(), placement.ns, name));
    if (!set) return fail(Category::kNotFound, "the set " + placement.ns + "/" + name + " is gone");
    FLEETADM_TRY(const std::vector<std::string> clusters, decided_clusters(hub, placement));
    kube::ListOptions which;
    which.label_selector = std::string(work::kReplicaSetLabel) + "=" + work::owner_label_of(*set);
    FLEETADM_TRY(const Json works, hub.list(api::manifest_works(), {}, which));
    const std::string wanted = work::work_spec_hash(object_at(*set, {"spec", "manifestWorkTemplate"}));
    std::map<std::string, std::string> missing;
    for (const std::string& cluster : clusters) missing[cluster] = "the hub has not made its work yet";
    for (const Json& one : list_at(works, {"items"})) {
      const auto found = missing.find(namespace_of(one));
      if (found == missing.end()) continue;
      const bool current = work::work_spec_hash(object_at(one, {"spec"})) == wanted;
      found->second = current ? blocking(one, condition) : "the hub has not updated its work yet";
      if (found->second.empty()) missing.erase(found);
    }
    if (clusters.empty()) missing[""] = "placement " + placement.ns + "/" + placement.name + " has selected no cluster";
    return missing;
  };
  return wait(context, "Waiting until " + name + " is " + condition, look, timeout);
}

std::vector<Error> wait_until_gone(Context& context, const kube::Client& hub, const std::string& name,
                                   const std::vector<std::string>& clusters, Duration timeout) {
  const Look look = [&]() -> Result<std::map<std::string, std::string>> {
    std::map<std::string, std::string> left;
    for (const std::string& cluster : clusters) {
      FLEETADM_TRY(const std::optional<Json> work, hub.find(api::manifest_works(), cluster, name));
      if (work) left[cluster] = "the agent has not removed its objects yet";
    }
    return left;
  };
  return wait(context, "Waiting until " + name + " is gone", look, timeout);
}

Status wait_until_set_is_gone(Context& context, const kube::Client& hub, const std::string& ns, const std::string& name,
                              Duration timeout) {
  const Look look = [&]() -> Result<std::map<std::string, std::string>> {
    std::map<std::string, std::string> left;
    kube::ListOptions which;
    which.label_selector = std::string(work::kReplicaSetLabel) + "=" + ns + "." + name;
    FLEETADM_TRY(const Json works, hub.list(api::manifest_works(), {}, which));
    for (const Json& one : list_at(works, {"items"})) left[namespace_of(one)] = "the agent has not removed its objects yet";
    FLEETADM_TRY(const std::optional<Json> set, hub.find(api::manifest_work_replica_sets(), ns, name));
    if (set) left[""] = "the hub has not ended the set yet";
    return left;
  };
  const std::vector<Error> failures = wait(context, "Waiting until " + name + " is gone", look, timeout);
  if (!failures.empty()) return tl::unexpected(failures.front());
  return {};
}

}  // namespace fleetadm::commands
