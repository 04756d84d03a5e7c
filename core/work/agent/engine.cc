#include "core/work/agent/engine.h"

#include <algorithm>
#include <utility>

#include "core/api/kinds.h"
#include "core/work/agent/executor.h"
#include "core/work/rules/names.h"

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

/// Whether the work's manifest of that place, if it has one, makes the agent own the object.
Result<bool> takes_over(Engine& engine, const Json& work, const AppliedResource& resource) {
  const auto resolve = [&](const std::string& api_version, const std::string& kind) { return engine.resolve(api_version, kind); };
  for (const Manifest& manifest : decode_manifests(work, resolve)) {
    if (manifest.name != resource.name || manifest.group != resource.group) continue;
    if (!manifest.resource) {
      const Category why = manifest.error ? manifest.error->category : Category::kNotFound;
      if (why == Category::kNotFound || why == Category::kInvalid) continue;
      return tl::unexpected(*manifest.error);
    }
    if (manifest.ns != resource.ns || manifest.resource->plural != resource.resource) continue;
    if (!is_owned(work, manifest) || options_for(work, manifest).strategy.type == StrategyType::kReadOnly) continue;
    const Json* entry = status_entry(list_at(work, {"status", "resourceStatus", "manifests"}), manifest.meta());
    if (entry != nullptr && is_true(list_at(*entry, {"conditions"}), kConditionComplete)) continue;
    const Status allowed = check_executor(engine.spoke, work, manifest, true);
    if (allowed) return true;
    if (allowed.error().reason != kExecutorDenied) return tl::unexpected(allowed.error());
  }
  return false;
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

std::string place_index_key(const std::string& group, const std::string& ns, const std::string& name) {
  return group + "/" + ns + "/" + name;
}

std::vector<std::string> place_index_keys(const Json& work) {
  std::vector<std::string> keys;
  for (const Json& manifest : list_at(work, {"spec", "workload", "manifests"})) {
    keys.push_back(
        place_index_key(kube::parse_api_version(str(manifest, {"apiVersion"})).group, namespace_of(manifest), name_of(manifest)));
  }
  return keys;
}

void Superseded::replaced(const Json& before, const Json& after) {
  if (resource_version_of(before) != resource_version_of(after)) versions_.push_back(resource_version_of(before));
}

bool Superseded::holds(const std::string& version) {
  if (std::find(versions_.begin(), versions_.end(), version) != versions_.end()) return true;
  versions_.clear();
  return false;
}

Result<Json> Engine::patch_work(WorkMemory& memory, const Json& before, const Json& after, std::string_view subresource) const {
  FLEETADM_TRY(Json patched, patch_difference(hub, api::manifest_works(), before, after, subresource));
  memory.work.replaced(before, patched);
  return patched;
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
  rights->track(work, false);
}

Result<kube::Resource> Engine::resolve(const std::string& api_version, const std::string& kind) {
  FLEETADM_TRY(kube::DiscoveredResource known, mapper.by_kind(api_version, kind));
  return std::move(known.resource);
}

Result<bool> Engine::wanted_by_another(const AppliedResource& resource, const std::string& name) {
  for (const kube::CachedPtr& cached :
       works->by_index(kWorksByPlace, place_index_key(resource.group, resource.ns, resource.name))) {
    const Json work = cached->decode();
    if (name_of(work) == name || is_deleting(work)) continue;
    if (is_true(list_at(work, {"status", "conditions"}), kConditionComplete)) continue;
    FLEETADM_TRY(const bool taken, takes_over(*this, work, resource));
    if (taken) return true;
  }
  return false;
}

}  // namespace fleetadm::work
