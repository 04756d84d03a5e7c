#include "core/addon/rules/addon_pass.h"

#include <algorithm>
#include <utility>

#include "core/addon/rules/deploy_pass.h"
#include "core/addon/rules/dialed_cluster.h"
#include "core/addon/rules/install_progression.h"
#include "core/addon/rules/installation.h"
#include "core/addon/rules/progressing.h"
#include "core/addon/rules/registration.h"
#include "core/addon/rules/token_infrastructure.h"

namespace fleetadm::addon {
namespace {

constexpr rollout::Semantics kConduct = rollout::Semantics::kStrict;

/// The objects as they are once what is planned is written.
class PlannedObjects final : public ObjectReader {
 public:
  PlannedObjects(const ObjectReader& objects, const Json& addon)
      : objects_(objects), addon_(std::make_shared<const Json>(addon)) {}

  void plan_addon(const Json& addon) { addon_ = std::make_shared<const Json>(addon); }
  void plan_work(Json work) {
    const ObjectPtr now = objects_.get(manifest_works(), namespace_of(work), name_of(work));
    // What the agent reported is about the specification before.
    if (now != nullptr && object_at(*now, {"spec"}) != object_at(work, {"spec"}))
      at_or_make(work, {"metadata", "generation"}) = num(*now, {"metadata", "generation"}) + 1;
    works_.push_back(std::make_shared<const Json>(std::move(work)));
  }

  ObjectPtr get(const GroupResource& type, std::string_view ns, std::string_view name) const override {
    const bool planned = type == managed_cluster_addons() && ns == namespace_of(*addon_) && name == name_of(*addon_);
    return planned ? addon_ : objects_.get(type, ns, name);
  }
  std::vector<ObjectPtr> list(const GroupResource& type, std::string_view ns = {}) const override {
    return objects_.list(type, ns);
  }
  std::vector<ObjectPtr> labelled(const GroupResource& type, std::string_view cluster, std::string_view addon) const override {
    return objects_.labelled(type, cluster, addon);
  }
  std::vector<ObjectPtr> addon_works(std::string_view cluster, std::string_view addon) const override {
    std::vector<ObjectPtr> works = objects_.addon_works(cluster, addon);
    for (const ObjectPtr& planned : works_) {
      const auto same = std::find_if(works.begin(), works.end(), [&](const ObjectPtr& one) {
        return namespace_of(*one) == namespace_of(*planned) && name_of(*one) == name_of(*planned);
      });
      if (same != works.end()) {
        *same = planned;
      } else {
        works.push_back(planned);
      }
    }
    return works;
  }

 private:
  const ObjectReader& objects_;
  ObjectPtr addon_;
  std::vector<ObjectPtr> works_;
};

class AddonPassMaker {
 public:
  AddonPassMaker(const ObjectReader& objects, const Json& addon, const AddonRules& rules)
      : objects_(objects, addon), rules_(rules), cluster_(namespace_of(addon)), name_(name_of(addon)) {
    pass_.addon = addon;
  }

  AddonPass make() && {
    const ObjectPtr declaration = objects_.get(cluster_management_addons(), {}, name_);
    if (declaration != nullptr) {
      set_owner(pass_.addon, *declaration);
      take_annotations(pass_.addon, *declaration, objects_);
    }
    if (rules_.decision) configure(pass_.addon, *rules_.decision, rules_.now, kConduct);
    take(planned(&registration_pass), pass_.rights);
    take(planned(&token_pass), pass_.token);
    deploy();
    if (declaration != nullptr) {
      for (const Json& work : pass_.works) objects_.plan_work(work);
      observe_configs(pass_.addon, objects_, rules_.known, kConduct);
      judge_progress(pass_.addon, *declaration, objects_, rules_.now);
    }
    return std::move(pass_);
  }

 private:
  using Rule = Pass (*)(const ObjectReader&, std::string_view cluster, std::string_view addon, Instant, rollout::Semantics);
  Pass planned(Rule rule) {
    objects_.plan_addon(pass_.addon);
    return rule(objects_, cluster_, name_, rules_.now, kConduct);
  }

  void deploy() {
    objects_.plan_addon(pass_.addon);
    if (const std::optional<AgentDescription> agent = rules_.describe(objects_, pass_.addon)) {
      take(deploy_pass(objects_, name_, cluster_, *agent, rules_.now, kConduct), pass_.works);
    } else {
      take(dialed_health_pass(objects_, cluster_, name_, rules_.now), pass_.works);
    }
  }

  /// The add-on as the rule has it, and what else it wants written.
  void take(Pass pass, std::vector<Json>& others) {
    for (Json& object : pass.changed) {
      if (type_of(object) == managed_cluster_addons()) {
        pass_.addon = std::move(object);
      } else {
        others.push_back(std::move(object));
      }
    }
    std::move(pass.deleted.begin(), pass.deleted.end(), std::back_inserter(pass_.deleted));
    std::move(pass.errors.begin(), pass.errors.end(), std::back_inserter(pass_.errors));
  }

  PlannedObjects objects_;
  const AddonRules& rules_;
  const std::string cluster_;
  const std::string name_;
  AddonPass pass_;
};

}  // namespace

AddonPass look_after_addon(const ObjectReader& objects, const Json& addon, const AddonRules& rules) {
  return AddonPassMaker(objects, addon, rules).make();
}

std::vector<ObjectRef> leftovers_of_addon(const ObjectReader& objects, std::string_view cluster, std::string_view addon) {
  std::vector<ObjectRef> left = registration_pass(objects, cluster, addon, {}, kConduct).deleted;
  for (ObjectRef& one : token_pass(objects, cluster, addon, {}, kConduct).deleted) left.push_back(std::move(one));
  return left;
}

}  // namespace fleetadm::addon
