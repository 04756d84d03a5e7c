#include "core/addon/rules/token_infrastructure.h"

#include "core/addon/rules/agent_identity.h"
#include "core/api/kinds.h"
#include "core/controller/controller.h"

namespace fleetadm::addon {
namespace {

constexpr const char* kRbac = "rbac.authorization.k8s.io";
constexpr const char* kRbacVersion = "rbac.authorization.k8s.io/v1";

bool wants_token(const Json& addon) {
  for (const Json& registration : list_at(addon, {"status", "registrations"})) {
    const Json* block = find(registration, {kKubeClient});
    if (str(registration, {"type"}) == kKubeClient && block != nullptr && block->is_object()) {
      return str(*block, {"driver"}) == kTokenDriver;
    }
  }
  return false;
}

std::string role_name(std::string_view addon) { return std::string(addon) + "-token-role"; }

/// The existing object, or a new one, with the labels of the infrastructure.
Json labelled_object(const ObjectPtr& existing, const char* version, const char* kind, std::string_view ns, std::string name,
                     std::string_view addon) {
  Json object = existing != nullptr ? *existing
                                    : Json{{"apiVersion", version},
                                           {"kind", kind},
                                           {"metadata", {{"name", std::move(name)}, {"namespace", std::string(ns)}}}};
  Json& labels = at_or_make(object, {"metadata", "labels"});
  labels[std::string(kTokenAddonLabel)] = std::string(addon);
  labels[std::string(kTokenMadeLabel)] = "true";
  return object;
}

class TokenInfrastructure {
 public:
  TokenInfrastructure(const ObjectReader& objects, std::string_view cluster, std::string_view addon, bool strict)
      : objects_(objects), cluster_(cluster), addon_(addon), strict_(strict) {}

  std::vector<Json> wanted() const {
    const std::string agent = default_agent(addon_);
    const std::string role = role_name(addon_);
    Json account = labelled_object(account_now(), "v1", "ServiceAccount", cluster_, agent, addon_);
    Json rights = labelled_object(objects_.get(roles(), cluster_, role), kRbacVersion, "Role", cluster_, role, addon_);
    rights["rules"] = Json::array({{{"apiGroups", Json::array({""})},
                                    {"resources", Json::array({"serviceaccounts/token"})},
                                    {"resourceNames", Json::array({agent})},
                                    {"verbs", Json::array({"create"})}}});
    if (!strict_) {
      rights["rules"].push_back({{"apiGroups", Json::array({""})},
                                 {"resources", Json::array({"serviceaccounts/token"})},
                                 {"verbs", Json::array({"subscribe"})}});
    }
    Json binding =
        labelled_object(objects_.get(role_bindings(), cluster_, role), kRbacVersion, "RoleBinding", cluster_, role, addon_);
    binding["roleRef"] = {{"apiGroup", kRbac}, {"kind", "Role"}, {"name", role}};
    binding["subjects"] = Json::array();
    for (const std::string_view prefix : {api::kClusterGroupPrefix, std::string_view("open-cluster-management:")}) {
      binding["subjects"].push_back({{"apiGroup", kRbac}, {"kind", "Group"}, {"name", std::string(prefix) + cluster_}});
    }
    return {std::move(account), std::move(rights), std::move(binding)};
  }

  ObjectPtr account_now() const { return objects_.get(service_accounts(), cluster_, default_agent(addon_)); }

  /// The right goes before the account.
  std::vector<ObjectRef> leftovers() const {
    std::vector<ObjectRef> gone;
    for (const ObjectRef& made :
         {ObjectRef{role_bindings(), cluster_, role_name(addon_)}, ObjectRef{roles(), cluster_, role_name(addon_)},
          ObjectRef{service_accounts(), cluster_, default_agent(addon_)}}) {
      const ObjectPtr now = objects_.get(made.type, made.ns, made.name);
      const bool ours = now != nullptr && label_of(*now, kTokenMadeLabel) == "true" && label_of(*now, kTokenAddonLabel) == addon_;
      if (!strict_ || ours) gone.push_back(made);
    }
    return gone;
  }

 private:
  const ObjectReader& objects_;
  std::string cluster_;
  std::string addon_;
  bool strict_;
};

Json& conditions_of(Json& addon) {
  Json& conditions = at_or_make(addon, {"status", "conditions"});
  if (!conditions.is_array()) conditions = Json::array();
  return conditions;
}

Pass made_ready(const TokenInfrastructure& infrastructure, const Json& addon, Instant now) {
  Pass pass;
  pass.changed = infrastructure.wanted();
  const ObjectPtr account = infrastructure.account_now();
  if (account == nullptr || uid_of(*account).empty()) return pass;
  Json ready = addon;
  controller::set_condition(
      conditions_of(ready), kTokenReady, "True", "TokenInfrastructureReady",
      "ServiceAccount " + namespace_of(*account) + "/" + name_of(*account) + " (UID: " + uid_of(*account) + ") is ready", now);
  pass.changed.push_back(std::move(ready));
  return pass;
}

}  // namespace

Pass token_pass(const ObjectReader& objects, std::string_view cluster, std::string_view addon, Instant now,
                rollout::Semantics conduct) {
  const TokenInfrastructure infrastructure(objects, cluster, addon, conduct == rollout::Semantics::kStrict);
  Pass pass;
  const ObjectPtr found = objects.get(managed_cluster_addons(), cluster, addon);
  if (found == nullptr) {
    pass.deleted = infrastructure.leftovers();
    return pass;
  }
  if (!is_deleting(*found) && wants_token(*found)) return made_ready(infrastructure, *found, now);
  if (controller::find_condition(*found, kTokenReady) == nullptr) return pass;
  pass.deleted = infrastructure.leftovers();
  if (is_deleting(*found)) return pass;
  Json without = *found;
  Json& conditions = conditions_of(without);
  for (auto condition = conditions.begin(); condition != conditions.end();) {
    condition = str(*condition, {"type"}) == kTokenReady ? conditions.erase(condition) : condition + 1;
  }
  pass.changed.push_back(std::move(without));
  return pass;
}

std::string uid_in_message(std::string_view message) {
  constexpr std::string_view kBefore = "(UID: ";
  const std::size_t begin = message.find(kBefore);
  if (begin == std::string_view::npos) return {};
  const std::size_t end = message.find(')', begin);
  if (end == std::string_view::npos) return {};
  return std::string(message.substr(begin + kBefore.size(), end - begin - kBefore.size()));
}

}  // namespace fleetadm::addon
