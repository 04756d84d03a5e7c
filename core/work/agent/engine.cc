#include "core/work/agent/engine.h"

#include <algorithm>
#include <utility>

#include "core/api/kinds.h"
#include "core/work/agent/executor.h"
#include "core/work/rules/names.h"

namespace fleetadm::work {
namespace {

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

Engine::Engine(std::shared_ptr<WorkSource> source, kube::Client spoke_client, WorkAgentOptions given)
    : spoke(std::move(spoke_client)),
      options(std::move(given)),
      hash(hub_hash(options.hub_server)),
      agent_id(options.agent_id.empty() ? hash : options.agent_id),
      mapper(spoke),
      applier(spoke),
      works(std::move(source)) {}

void Superseded::replaced(const Json& before, const Json& after) {
  if (resource_version_of(before) != resource_version_of(after)) versions_.push_back(resource_version_of(before));
}

bool Superseded::holds(std::string_view version) {
  if (std::find(versions_.begin(), versions_.end(), version) != versions_.end()) return true;
  versions_.clear();
  return false;
}

Result<Json> Engine::patch_work(WorkMemory& memory, const Json& before, const Json& after, std::string_view subresource) const {
  FLEETADM_TRY(Json patched, works->patch(before, after, subresource));
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
  for (const kube::CachedPtr& cached : works->works_at(resource.group, resource.ns, resource.name)) {
    const Json work = cached->decode();
    if (name_of(work) == name || is_deleting(work)) continue;
    if (is_true(list_at(work, {"status", "conditions"}), kConditionComplete)) continue;
    FLEETADM_TRY(const bool taken, takes_over(*this, work, resource));
    if (taken) return true;
  }
  return false;
}

}  // namespace fleetadm::work
