// What the two servers take of the writes that a work needs, from plain clients without caches or rules: the bound for any agent.
// Beside them run the watches that any agent has, because what they cost the servers is not the writers' to save.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

#include "core/work/rules/conditions.h"
#include "core/work/rules/names.h"
#include "core/work/rules/ownership.h"
#include "tests/bench/work_process.h"

namespace fleetadm::bench {

inline constexpr int kPlainClients = 8;

class PlainClients {
 public:
  PlainClients(kube::Client hub, kube::Client spoke, std::string cluster)
      : hub_(std::move(hub)), spoke_(std::move(spoke)), cluster_(std::move(cluster)) {}

  /// Seconds for `count` works (`work_of(i)`) to be created and written as an agent would.
  Result<double> apply(int count, const std::function<Json(int)>& work_of) const {
    return each(count, [&](int i) { return apply_one(work_of(i)); });
  }
  /// Seconds for them to be taken away again.
  Result<double> remove(int count, const std::function<Json(int)>& work_of) const {
    return each(count, [&](int i) { return remove_one(work_of(i)); });
  }

 private:
  static Result<double> each(int count, const std::function<Status(int)>& one) {
    const auto begin = Timer::now();
    std::atomic<int> next = 0;
    std::mutex mutex;
    Status failed;
    {
      std::vector<std::jthread> clients;
      for (int client = 0; client < kPlainClients; ++client) {
        clients.emplace_back([&] {
          for (int i = next++; i < count; i = next++) {
            Status done = one(i);
            if (done) continue;
            const std::lock_guard lock(mutex);
            failed = std::move(done);
            next = count;
          }
        });
      }
    }
    if (!failed) return tl::unexpected(std::move(failed).error());
    return seconds_since(begin);
  }

  static std::string applied_name(const Json& work) { return "plain-" + name_of(work); }
  static Json finalizers(std::string_view one) { return {{"metadata", {{"finalizers", Json::array({one})}}}}; }
  static Json no_finalizers() { return {{"metadata", {{"finalizers", nullptr}}}}; }

  Status patch(const kube::Client& client, const kube::Resource& resource, const std::string& ns, const std::string& name,
               const Json& change, std::string_view subresource) const {
    kube::WriteOptions options;
    options.subresource = subresource;
    FLEETADM_TRY([[maybe_unused]] const Json stored, client.patch(resource, ns, name, kube::PatchType::kMerge, change, options));
    return {};
  }

  Status apply_one(const Json& work) const {
    const std::string name = name_of(work);
    FLEETADM_TRY([[maybe_unused]] const Json made, hub_.create(api::manifest_works(), cluster_, work));
    FLEETADM_CHECK(patch(hub_, api::manifest_works(), cluster_, name, finalizers(work::kWorkFinalizer), {}));
    Json applied = finalizers(work::kAppliedFinalizer);
    applied["apiVersion"] = work["apiVersion"];
    applied["kind"] = "AppliedManifestWork";
    applied["metadata"]["name"] = applied_name(work);
    applied["spec"] = {{"hubHash", "plain"}, {"agentID", "plain"}, {"manifestWorkName", name}};
    FLEETADM_TRY(const Json owner_object, spoke_.create(api::applied_manifest_works(), {}, applied));
    const work::Owner owner{applied_name(work), uid_of(owner_object)};
    Json inventory = Json::array();
    std::vector<work::ManifestResult> results;
    for (Json manifest : list_at(work, {"spec", "workload", "manifests"})) {
      manifest["metadata"]["ownerReferences"] = Json::array({owner.reference()});
      FLEETADM_TRY(const Json live, spoke_.create(kube::resources::config_maps(), namespace_of(manifest), manifest));
      inventory.push_back(
          work::AppliedResource{"", "v1", "configmaps", namespace_of(live), name_of(live), uid_of(live)}.to_json());
      work::ManifestResult& result = results.emplace_back();
      result.applied_now = true;
      result.availability = work::Availability::kAvailable;
      result.was_read = true;
      result.meta = {{"ordinal", results.size() - 1},
                     {"group", ""},
                     {"version", "v1"},
                     {"kind", "ConfigMap"},
                     {"resource", "configmaps"},
                     {"namespace", namespace_of(live)},
                     {"name", name_of(live)}};
    }
    FLEETADM_CHECK(patch(spoke_, api::applied_manifest_works(), {}, applied_name(work),
                         {{"status", {{"appliedResources", std::move(inventory)}}}}, "status"));
    Json status;
    status["resourceStatus"]["manifests"] = work::manifest_statuses(Json::array(), results, 1, std::chrono::system_clock::now());
    work::aggregate_conditions(status, 1, true, std::chrono::system_clock::now());
    return patch(hub_, api::manifest_works(), cluster_, name, {{"status", std::move(status)}}, "status");
  }

  Status remove_one(const Json& work) const {
    const std::string name = name_of(work);
    FLEETADM_TRY([[maybe_unused]] const Json marked, hub_.remove(api::manifest_works(), cluster_, name));
    FLEETADM_TRY([[maybe_unused]] const Json ending, spoke_.remove(api::applied_manifest_works(), {}, applied_name(work)));
    for (const Json& manifest : list_at(work, {"spec", "workload", "manifests"})) {
      FLEETADM_TRY([[maybe_unused]] const Json gone,
                   spoke_.remove(kube::resources::config_maps(), namespace_of(manifest), name_of(manifest)));
    }
    FLEETADM_CHECK(patch(spoke_, api::applied_manifest_works(), {}, applied_name(work), no_finalizers(), {}));
    return patch(hub_, api::manifest_works(), cluster_, name, no_finalizers(), {});
  }

  kube::Client hub_;
  kube::Client spoke_;
  std::string cluster_;
};

}  // namespace fleetadm::bench
