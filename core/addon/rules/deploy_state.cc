#include "core/addon/rules/deploy_state.h"

#include <algorithm>

#include "core/addon/rules/manifest_marks.h"
#include "core/addon/rules/names.h"
#include "core/controller/controller.h"

namespace fleetadm::addon {
namespace {

/// Finalizers of earlier releases: removed whenever ours change.
bool is_deprecated_finalizer(std::string_view name) {
  constexpr std::string_view kOldGroup = "cluster.open-cluster-management.io";
  for (const std::string_view known : {kPreDeleteFinalizer, kHostedPreDeleteFinalizer, kHostedManifestsFinalizer}) {
    if (name.starts_with(kOldGroup) && name.substr(kOldGroup.size()) == known.substr(kGroup.size())) return true;
  }
  return false;
}

void write_finalizers(Json& addon, const std::vector<std::string>& finalizers) {
  if (finalizers.empty()) {
    erase_at(addon, {"metadata", "finalizers"});
  } else {
    at_or_make(addon, {"metadata", "finalizers"}) = finalizers;
  }
}

}  // namespace

std::string_view applied_condition_of(Side side) { return side == Side::kManaged ? "ManifestApplied" : "HostingManifestApplied"; }

bool DeployState::has_finalizer(std::string_view name) const { return fleetadm::has_finalizer(addon, name); }

bool DeployState::add_finalizer(std::string_view name) {
  if (has_finalizer(name) || (strict && is_deleting(addon))) return false;
  std::vector<std::string> finalizers = string_list_at(addon, {"metadata", "finalizers"});
  std::erase_if(finalizers, is_deprecated_finalizer);
  finalizers.emplace_back(name);
  write_finalizers(addon, finalizers);
  return true;
}

void DeployState::remove_finalizer(std::string_view name) {
  std::vector<std::string> finalizers = string_list_at(addon, {"metadata", "finalizers"});
  const auto goes = [&](const std::string& one) { return one == name || is_deprecated_finalizer(one); };
  if (std::erase_if(finalizers, goes) > 0) write_finalizers(addon, finalizers);
}

bool DeployState::condition_is(std::string_view type, std::string_view status) const {
  return controller::condition_is(addon, type, status);
}

bool DeployState::has_condition(std::string_view type) const { return controller::find_condition(addon, type) != nullptr; }

void DeployState::set_condition(std::string_view type, std::string_view status, std::string_view reason,
                                const std::string& message) {
  controller::set_condition(at_or_make(addon, {"status", "conditions"}), type, status, reason, message, now);
}

void DeployState::remove_condition(std::string_view type) {
  if (!has_condition(type)) return;
  Json kept = Json::array();
  for (const Json& condition : list_at(addon, {"status", "conditions"})) {
    if (str(condition, {"type"}) != type) kept.push_back(condition);
  }
  at_or_make(addon, {"status", "conditions"}) = std::move(kept);
}

ObjectPtr DeployState::write_work(const Json& wanted, std::string_view applied_condition) {
  ObjectPtr current = objects.get(manifest_works(), namespace_of(wanted), name_of(wanted));
  if (current == nullptr) {
    works.push_back(wanted);
  } else if (Json updated = updated_work(*current, wanted); !updated.is_null()) {
    works.push_back(std::move(updated));
  }
  const Json* applied = current == nullptr ? nullptr : controller::find_condition(*current, "Applied");
  if (applied == nullptr) {
    if (condition_is(applied_condition, "False")) remove_condition(applied_condition);
  } else if (str(*applied, {"status"}) == "True") {
    set_condition(applied_condition, "True", "AddonManifestApplied", "manifests of addon are applied successfully");
  } else {
    set_condition(applied_condition, "False", "AddonManifestAppliedFailed", "failed to apply the manifests of addon");
  }
  return current;
}

void DeployState::delete_work(const Json& work) {
  if (!is_deleting(work)) deleted.push_back(ObjectRef{manifest_works(), namespace_of(work), name_of(work)});
}

bool DeployState::has_manifests(std::string_view applied_condition) {
  if (!is_decided()) return false;
  if (!agent.error) return true;
  set_condition(applied_condition, "False", "ManifestWorkApplyFailed",
                "failed to get manifest from agent interface: " + agent.error->message);
  errors.push_back(*agent.error);
  return false;
}

std::optional<std::vector<Json>> DeployState::manifests_of(Side side, bool hooks, std::string_view applied_condition) {
  std::vector<Json> wanted;
  for (const Json& manifest : agent.manifests) {
    Location location = Location::kManaged;
    if (agent.hosted_mode_enabled) {
      const Result<Location> read = location_of(manifest);
      if (!read) {
        set_condition(applied_condition, "False", "ManifestWorkApplyFailed",
                      "failed to build manifestwork: " + read.error().message);
        errors.push_back(read.error());
        return std::nullopt;
      }
      if (hosting) location = *read;  // in the default mode everything goes to the managed cluster
    }
    const Location here = side == Side::kManaged ? Location::kManaged : Location::kHosting;
    if (location == here && is_pre_delete_hook(manifest) == hooks) wanted.push_back(manifest);
  }
  return wanted;
}

}  // namespace fleetadm::addon
