#include "core/work/engine.h"

#include <algorithm>
#include <random>
#include <utility>

#include "core/api/kinds.h"
#include "core/work/names.h"

namespace fleetadm::work {
namespace {

Result<Json> patch_difference(const kube::Client& client, const kube::Resource& resource, const Json& before, const Json& after,
                              std::string_view subresource) {
  Json patch = kube::merge_diff(before, after);
  if (patch.empty()) return after;
  at_or_make(patch, {"metadata", "uid"}) = uid_of(before);
  at_or_make(patch, {"metadata", "resourceVersion"}) = resource_version_of(before);
  kube::WriteOptions options;
  options.field_manager = kDefaultFieldManager;
  options.subresource = std::string(subresource);
  return client.patch(resource, namespace_of(before), name_of(before), kube::PatchType::kMerge, patch, options);
}

}  // namespace

Engine::Engine(kube::Client hub_client, kube::Client spoke_client, WorkAgentOptions given)
    : hub(std::move(hub_client)),
      spoke(std::move(spoke_client)),
      options(std::move(given)),
      hash(hub_hash(options.hub_server)),
      agent_id(options.agent_id.empty() ? hash : options.agent_id),
      mapper(spoke),
      applier(spoke),
      events(hub, "work-agent", "work-agent-" + options.cluster, options.clock) {}

Result<Json> Engine::patch_work(const Json& before, const Json& after, std::string_view subresource) const {
  return patch_difference(hub, api::manifest_works(), before, after, subresource);
}

Result<Json> Engine::patch_applied(const Json& before, const Json& after, std::string_view subresource) const {
  return patch_difference(spoke, api::applied_manifest_works(), before, after, subresource);
}

std::shared_ptr<WorkMemory> Engine::memory_of(const std::string& work) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<WorkMemory>& memory = memories_[work];
  if (!memory) memory = std::make_shared<WorkMemory>();
  return memory;
}

void Engine::forget(const std::string& work) {
  {
    const std::lock_guard lock(mutex_);
    memories_.erase(work);
  }
  watch->track(work, {});
}

bool Engine::wanted_by_another(const AppliedResource& resource, const std::string& work) const {
  // A work is tracked from its first round on, and no more once its deletion was seen.
  const std::vector<std::string> names = watch->works_at({resource.kube_resource(), resource.ns, resource.name});
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return name != work; });
}

Duration Engine::jittered(Duration base, double spread) const {
  thread_local std::mt19937_64 random{std::random_device{}()};
  const double factor = 1.0 + std::uniform_real_distribution<double>(0.0, spread)(random);
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double, std::nano>(static_cast<double>(base.count()) * factor));
}

}  // namespace fleetadm::work
