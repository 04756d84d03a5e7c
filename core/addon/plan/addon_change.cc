#include "core/addon/plan/addon_change.h"

#include <set>
#include <utility>

#include "core/addon/rules/config_hash.h"
#include "core/addon/rules/configuration.h"
#include "core/addon/rules/install_progression.h"
#include "core/addon/rules/render.h"
#include "core/api/kinds.h"
#include "core/work/plan/diff.h"

namespace fleetadm::addon {
namespace {

void set_own_configs(Json& addon, const Json& configs) {
  if (configs.empty()) {
    erase_at(addon, {"spec", "configs"});
  } else {
    at_or_make(addon, {"spec", "configs"}) = configs;
  }
}

bool same_parts(const Json& a, const Json& b) {
  return object_at(a, {"spec"}) == object_at(b, {"spec"}) &&
         object_at(a, {"metadata", "annotations"}) == object_at(b, {"metadata", "annotations"});
}

bool has_template(const Json& addon) {
  for (const Json& reference : list_at(addon, {"status", "configReferences"})) {
    const std::optional<DesiredConfig> config = config_of(reference);
    if (config && config->key.type == addon_templates() && !config->hash.empty()) return true;
  }
  return false;
}

/// What the clusters that change would lose: objects that are rendered now, and would not be any more. What cannot be rendered
/// now takes nothing away.
void compare_renderings(const ObjectReader& before, PreparedChange& prepared) {
  const std::string& addon = prepared.change.addon;
  const ObjectReader& after = prepared.plan.outcome;
  prepared.removals.of = static_cast<std::int64_t>(before.addons_named(addon).size());
  for (const PlannedCluster& one : prepared.plan.clusters) {
    const ObjectPtr then = after.get(managed_cluster_addons(), one.cluster, addon);
    if (!then || is_deleting(*then) || !has_template(*then)) continue;
    const auto next = render_template(after, *then, rollout::Semantics::kStrict);
    if (!next) {
      if (!prepared.unrendered) prepared.unrendered = next.error().wrap("cluster " + one.cluster);
      continue;
    }
    const ObjectPtr now = before.get(managed_cluster_addons(), one.cluster, addon);
    const auto old = now ? render_template(before, *now, rollout::Semantics::kStrict) : Result<Rendering>(Rendering());
    if (!old) continue;
    std::set<std::string> kept;
    for (const Json& manifest : next->manifests) kept.insert(work::manifest_identity(manifest));
    const std::int64_t lost =
        work::deleted_objects({{"workload", {{"manifests", old->manifests}}}, {"manifestConfigs", next->manifest_configs}}, kept);
    if (lost == 0) continue;
    prepared.removals.clusters.insert(one.cluster);
    prepared.removals.objects += lost;
  }
}

/// Whether every cluster has `configs`, as the hub's next step would note.
bool is_settled(const AddonRolloutObjects& read, const Json& declaration, const RevisionConfigs& configs, Instant now) {
  const RolloutStep step = roll_out_addon(read.objects, name_of(declaration), read.known(), now);
  const std::vector<AddonRevision> revisions = addon_revisions(step.declaration.value_or(declaration));
  return !revisions.empty() && revisions.back().finished && same_configs(revisions.back().configs, configs);
}

void set_hash(RevisionConfigs& configs, const ConfigKey& key, const std::string& hash) {
  const auto set = [&](std::vector<DesiredConfig>& list) {
    for (DesiredConfig& one : list) {
      if (one.key == key) one.hash = hash;
    }
  };
  set(configs.defaults);
  for (auto& [placement, own] : configs.placements) set(own);
}

Status write_own(const kube::Client& hub, const AddonChange& change) {
  for (const auto& [cluster, configs] : change.own) {
    FLEETADM_CHECK(hub.modify(api::managed_cluster_addons(), cluster, change.addon, [&](Json& addon) -> Status {
      set_own_configs(addon, configs);
      return {};
    }));
  }
  return {};
}

}  // namespace

RevisionConfigs live_configs(const ObjectReader& objects, Json declaration, const KnownTypes& known) {
  set_progressions(declaration);
  set_desired_hashes(declaration, objects, known);
  return configs_now(declaration);
}

Result<PreparedChange> prepare_change(const AddonRolloutObjects& read, AddonChange change, Instant now, Course course) {
  PreparedChange prepared;
  const ObjectPtr before = read.declaration(change.addon);
  if (!before) return fail(Category::kNotFound, "there is no add-on \"" + change.addon + "\"");
  if (!is_managed(*before))
    return fail(Category::kUnsupported, "add-on \"" + change.addon + "\" is rolled out by its own manager");
  prepared.before = *before;
  MemoryObjects objects = read.objects;
  Json after = *before;
  if (change.edit) FLEETADM_CHECK(change.edit(after));
  for (const ConfigEdit& edit : change.edits) make_edit(objects, edit);
  prepared.differs = !change.edits.empty() || !same_parts(*before, after);
  for (const auto& [cluster, configs] : change.own) {
    const ObjectPtr own = objects.get(managed_cluster_addons(), cluster, change.addon);
    if (!own) {
      return fail(Category::kNotFound, "add-on \"" + change.addon + "\" is not on cluster \"" + cluster + "\"",
                  "enable it with: fleetadm addon enable " + change.addon + " --clusters " + cluster);
    }
    prepared.differs = prepared.differs || list_at(*own, {"spec", "configs"}) != configs;
    Json changed = *own;
    set_own_configs(changed, configs);
    objects.put(std::move(changed));
  }
  const KnownTypes known = read.known();
  prepared.from = live_configs(read.objects, *before, known);
  prepared.settled = is_settled(read, *before, prepared.from, now);
  prepared.to = live_configs(objects, after, known);
  prepared.changes = config_changes(prepared.from, prepared.to);
  objects.put(std::move(after));
  FLEETADM_TRY(prepared.plan, plan_addon_rollout(std::move(objects), change.addon, known, now, course));
  prepared.change = std::move(change);
  compare_renderings(read.objects, prepared);
  return prepared;
}

Result<Json> carry_out_change(const kube::Client& hub, const PreparedChange& prepared, Instant now) {
  const AddonChange& change = prepared.change;
  RevisionConfigs to = prepared.to;
  for (const ConfigEdit& edit : change.edits) {
    FLEETADM_TRY(const Json stored, write_edit(hub, edit));
    set_hash(to, edit.key, config_spec_hash(stored));  // with the server's defaults
  }
  FLEETADM_TRY(Json stored, modify_declaration(hub, change.addon, [&](Json& declaration) -> Status {
                 if (object_at(declaration, {"spec"}) != object_at(prepared.before, {"spec"}))
                   return fail(Category::kConflict, "add-on \"" + change.addon + "\" was changed in the meantime",
                               "run the command again");
                 // The way back, unless the hub has noted it, or even what was written above.
                 const std::vector<AddonRevision> noted = addon_revisions(declaration);
                 if (noted.empty() || !same_configs(noted.back().configs, to)) note_revision(declaration, prepared.from, {}, now);
                 if (prepared.settled) finish_revision(declaration, prepared.from, now);
                 if (change.edit) FLEETADM_CHECK(change.edit(declaration));
                 note_revision(declaration, to, change.note, now);
                 return {};
               }));
  FLEETADM_CHECK(write_own(hub, change));
  return stored;
}

}  // namespace fleetadm::addon
