#include "core/addon/rules/config_scenario.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/addon/rules/configuration.h"
#include "core/addon/rules/install_progression.h"
#include "core/addon/rules/installation.h"
#include "core/addon/rules/progressing.h"
#include "core/addon/rules/progressing_scenario.h"

namespace fleetadm::addon {
namespace {

constexpr int kMaxRounds = 100;  // two controllers that undo each other's work never end
constexpr std::array kControllers = {"install",    "owner",         "annotation",      "installProgression",
                                     "configHash", "configuration", "addonConfigHash", "progressing"};

/// The controllers over the objects of a line; what a pass changes is there for the next one.
class Settlement {
 public:
  Settlement(ScenarioInput input, std::set<GroupResource> types, rollout::Semantics conduct)
      : input_(std::move(input)),
        before_(input_.objects),
        known_([types = std::move(types)](const GroupResource& type) { return types.contains(type); }),
        conduct_(conduct) {}

  /// True: something changed.
  bool run(std::string_view controller);
  void settle();
  Json answer() const;

 private:
  bool take(const Pass& pass);
  bool take_declaration(void (*change)(Json&, const Settlement&));
  template <class Change>
  bool take_each_addon(const Change& change);

  ScenarioInput input_;
  const MemoryObjects before_;
  const KnownTypes known_;
  const rollout::Semantics conduct_;
  std::vector<Error> errors_;
  std::set<ObjectRef> deleted_;
  std::optional<Duration> requeue_after_;
};

bool Settlement::take(const Pass& pass) {
  bool changed = false;
  for (const Json& object : pass.changed) {
    const ObjectPtr was = input_.objects.get(type_of(object), namespace_of(object), name_of(object));
    if (was != nullptr && *was == object) continue;
    deleted_.erase({type_of(object), namespace_of(object), name_of(object)});
    input_.objects.put(object);
    changed = true;
  }
  for (const ObjectRef& gone : pass.deleted) {
    changed = input_.objects.remove(gone.type, gone.ns, gone.name) || changed;
    deleted_.insert(gone);
  }
  errors_.insert(errors_.end(), pass.errors.begin(), pass.errors.end());
  if (pass.requeue_after) requeue_after_ = pass.requeue_after;
  return changed;
}

bool Settlement::take_declaration(void (*change)(Json&, const Settlement&)) {
  const ObjectPtr was = input_.objects.get(cluster_management_addons(), {}, input_.addon);
  if (!was) return false;
  Pass pass;
  pass.changed.push_back(*was);
  change(pass.changed.back(), *this);
  return take(pass);
}

template <class Change>
bool Settlement::take_each_addon(const Change& change) {
  const ObjectPtr declaration = input_.objects.get(cluster_management_addons(), {}, input_.addon);
  if (!declaration) return false;
  Pass pass;
  for (const ObjectPtr& addon : input_.objects.addons_named(input_.addon)) {
    pass.changed.push_back(*addon);
    change(pass.changed.back(), *declaration);
  }
  return take(pass);
}

bool Settlement::run(std::string_view controller) {
  const ObjectReader& objects = input_.objects;
  if (controller == "install") return take(install_addon(objects, input_.addon, conduct_));
  if (controller == "owner") return take_each_addon(set_owner);
  if (controller == "annotation") {
    bool changed = false;
    for (const ObjectPtr& cluster : objects.list(managed_clusters())) {
      changed = take(sync_annotations(objects, name_of(*cluster), conduct_)) || changed;
    }
    return changed;
  }
  if (controller == "installProgression") {
    return take_declaration([](Json& declaration, const Settlement&) { set_progressions(declaration); });
  }
  if (controller == "configHash") {
    return take_declaration(
        [](Json& declaration, const Settlement& all) { set_desired_hashes(declaration, all.input_.objects, all.known_); });
  }
  if (controller == "configuration") {
    RolloutStep step = configure_addons(objects, input_.addon, known_, input_.now, conduct_);
    return take(pass_of(std::move(step), objects, input_.addon, input_.now, conduct_));
  }
  if (controller == "addonConfigHash") {
    return take_each_addon([&](Json& addon, const Json&) { observe_configs(addon, objects, known_, conduct_); });
  }
  return take_each_addon([&](Json& addon, const Json& declaration) { judge_progress(addon, declaration, objects, input_.now); });
}

void Settlement::settle() {
  bool changed = true;
  for (int round = 0; changed && round < kMaxRounds; ++round) {
    changed = false;
    errors_.clear();
    requeue_after_.reset();
    for (const char* controller : kControllers) changed = run(controller) || changed;
  }
}

Json Settlement::answer() const {
  Pass pass;
  for (const ObjectPtr& object : input_.objects.all()) pass.changed.push_back(*object);
  pass.deleted.assign(deleted_.begin(), deleted_.end());
  pass.errors = errors_;
  pass.requeue_after = requeue_after_;
  return pass_answer(before_, pass);
}

}  // namespace

Result<Json> answer_config_scenario(const Json& scenario, rollout::Semantics conduct) {
  FLEETADM_TRY(ScenarioInput input, read_scenario(scenario));
  const std::string controller = str(scenario, {"controller"});
  const bool all = controller == "all";
  if (!all && std::find(kControllers.begin(), kControllers.end(), controller) == kControllers.end()) {
    return fail(Category::kInvalid,
                "controller is none of install, owner, annotation, installProgression, configHash, "
                "configuration, addonConfigHash, progressing and all");
  }
  std::set<GroupResource> types;
  for (const Json& type : list_at(scenario, {"configTypes"})) types.insert({str(type, {"group"}), str(type, {"resource"})});
  Settlement settlement(std::move(input), std::move(types), conduct);
  if (all) {
    settlement.settle();
  } else {
    settlement.run(controller);
  }
  return settlement.answer();
}

Result<Json> answer_progressing_scenario(const Json& scenario, rollout::Semantics conduct) {
  FLEETADM_TRY(ScenarioInput input, read_scenario(scenario));
  Settlement settlement(std::move(input), {}, conduct);
  settlement.run("progressing");
  return settlement.answer();
}

}  // namespace fleetadm::addon
