#include "core/addon/rules/registration.h"

#include <algorithm>

#include "core/addon/rules/agent_identity.h"
#include "core/addon/rules/dialed_cluster.h"
#include "core/addon/rules/hub_permissions.h"
#include "core/addon/rules/names.h"
#include "core/addon/rules/registration_namespace.h"
#include "core/controller/controller.h"

namespace fleetadm::addon {
namespace {

bool owned_by_declaration(const Json& addon) {
  const Json& owners = list_at(addon, {"metadata", "ownerReferences"});
  return std::any_of(owners.begin(), owners.end(), [&](const Json& owner) {
    return str(owner, {"kind"}) == "ClusterManagementAddOn" && str(owner, {"name"}) == name_of(addon);
  });
}

Json supported_configs() {
  Json configs = Json::array();
  for (const GroupResource* type : {&addon_deployment_configs(), &addon_templates()}) {
    configs.push_back({{"group", type->group}, {"resource", type->resource}});
  }
  return configs;
}

/// It is a set: its order means nothing, and is no reason to write.
bool supports(const Json& addon, const Json& wanted) {
  const Json& is = list_at(addon, {"status", "supportedConfigs"});
  return is.size() == wanted.size() &&
         std::is_permutation(is.begin(), is.end(), wanted.begin(), [](const Json& a, const Json& b) {
           return str(a, {"group"}) == str(b, {"group"}) && str(a, {"resource"}) == str(b, {"resource"});
         });
}

Json default_subject(const Json& addon) {
  const std::string cluster = namespace_of(addon);
  const std::string name = name_of(addon);
  return {{"user", agent_user(cluster, name, default_agent(name))},
          {"groups", Json::array({cluster_addon_group(cluster, name), addon_group(name)})}};
}

Json custom_signer(const Json& entry, const Json& addon) {
  Json subject = default_subject(addon);
  if (const Json* own = find(entry, {"subject"}); own != nullptr && own->is_object()) {
    subject = {{"user", str(*own, {"user"})}};
    if (const Json& groups = list_at(*own, {"groups"}); !groups.empty()) subject["groups"] = groups;
    if (const Json& units = list_at(*own, {"organizationUnit"}); !units.empty()) subject["organizationUnits"] = units;
  }
  return {{"type", kCustomSigner},
          {"customSigner", {{"signerName", str(entry, {"signerName"})}, {"subject", std::move(subject)}}}};
}

/// The driver that the agent has reported of its n-th registration with the Kubernetes API stays. With a token so does the
/// subject, as it reported it (kUpstream); or it is the add-on's service account, whatever was reported: rights are bound to it.
Json kube_client(const Json* reported, const Json& addon, bool strict) {
  Json block{{"subject", default_subject(addon)}};
  const std::string driver = reported == nullptr ? std::string() : str(*reported, {"driver"});
  if (!driver.empty()) block["driver"] = driver;
  if (driver == kTokenDriver && strict) {
    block["subject"] = {{"user", service_account_user(namespace_of(addon), default_agent(name_of(addon)))}};
  } else if (driver == kTokenDriver) {
    block["subject"] = object_at(*reported, {"subject"});
  }
  return {{"type", kKubeClient}, {"kubeClient", std::move(block)}};
}

Json registrations_of(const Json& addon, const Json& addon_template, bool strict) {
  std::vector<const Json*> reported;
  for (const Json& registration : list_at(addon, {"status", "registrations"})) {
    const Json* block = find(registration, {kKubeClient});
    if (str(registration, {"type"}) == kKubeClient && block != nullptr && block->is_object()) reported.push_back(block);
  }
  Json registrations = Json::array();
  std::size_t kube_clients = 0;
  for (const Json& entry : list_at(addon_template, {"spec", "registration"})) {
    const std::string type = str(entry, {"type"});
    if (type == "KubeClient") {
      registrations.push_back(kube_client(kube_clients < reported.size() ? reported[kube_clients] : nullptr, addon, strict));
      ++kube_clients;
    }
    const Json* signer = find(entry, {kCustomSigner});
    if (type == "CustomSigner" && signer != nullptr && signer->is_object())
      registrations.push_back(custom_signer(*signer, addon));
  }
  return registrations;
}

class RegistrationPass {
 public:
  RegistrationPass(const ObjectReader& objects, Json addon, Instant now, rollout::Semantics conduct)
      : objects_(objects), addon_(std::move(addon)), now_(now), conduct_(conduct) {}

  Pass run() && {
    const Json configs = supported_configs();
    if (!supports(addon_, configs)) {
      addon_["status"]["supportedConfigs"] = configs;
      if (!strict()) return std::move(*this).answer();
    }
    if (const Status applied = apply(); !applied) pass_.errors.push_back(applied.error());
    return std::move(*this).answer();
  }

 private:
  bool strict() const { return conduct_ == rollout::Semantics::kStrict; }

  Status apply() {
    const auto found = template_of(objects_, addon_);
    if (!found) return refuse(found.error());
    if (strict() && needs_an_agent(objects_, addon_, **found)) {
      addon_["status"].erase("registrations");
      pass_.deleted = left_bindings(objects_, namespace_of(addon_), name_of(addon_));
      set("False", kNoAgent,
          "The add-on's template asks for a registration with the hub, and nothing on a cluster that the hub dials can register");
      return {};
    }
    if (strict()) {
      if (const Status allowed = check_custom_signers(**found); !allowed) return refuse(allowed.error());
    }
    // The rights of a pass go to those whom the status names: with kStrict, to those whom it is about to name.
    Json registrations = registrations_of(addon_, **found, strict());
    const Json& named = strict() ? registrations : list_at(addon_, {"status", "registrations"});
    HubPermissions permissions = hub_permissions(objects_, addon_, named, **found, conduct_);
    for (Json& binding : permissions.bindings) pass_.changed.push_back(std::move(binding));
    pass_.deleted = std::move(permissions.deleted);
    if (permissions.error) return refuse(*permissions.error);
    FLEETADM_TRY(std::string ns, registration_namespace(objects_, addon_));
    addon_["status"]["registrations"] = std::move(registrations);
    addon_["status"]["namespace"] = std::move(ns);
    if (permissions.pending) {
      set("False", "PermissionConfigPending", "registration subject not ready");
    } else {
      set("True", "SetPermissionApplied", "Registration of the addon agent is configured");
    }
    return {};
  }

  Status refuse(const Error& error) {
    set("False", kPermissionFailed, permission_failure(error));
    return tl::unexpected<Error>(error);
  }

  void set(std::string_view status, std::string_view reason, const std::string& message) {
    Json& conditions = at_or_make(addon_, {"status", "conditions"});
    if (!conditions.is_array()) conditions = Json::array();
    controller::set_condition(conditions, kRegistrationApplied, status, reason, message, now_);
  }

  Pass answer() && {
    pass_.changed.push_back(std::move(addon_));
    return std::move(pass_);
  }

  const ObjectReader& objects_;
  Json addon_;
  Instant now_;
  rollout::Semantics conduct_;
  Pass pass_;
};

}  // namespace

std::string permission_failure(const Error& error) { return "Failed to set permission for hub agent: " + error.message; }

Pass registration_pass(const ObjectReader& objects, std::string_view cluster, std::string_view addon, Instant now,
                       rollout::Semantics conduct) {
  const ObjectPtr found = objects.get(managed_cluster_addons(), cluster, addon);
  if (found == nullptr) {
    Pass gone;
    if (conduct == rollout::Semantics::kStrict) gone.deleted = left_bindings(objects, cluster, addon);
    return gone;
  }
  if (is_deleting(*found) || !has_template(*found) || !owned_by_declaration(*found) ||
      objects.get(managed_clusters(), {}, cluster) == nullptr) {
    return {};
  }
  Json copy = *found;
  at_or_make(copy, {"status"});
  return RegistrationPass(objects, std::move(copy), now, conduct).run();
}

}  // namespace fleetadm::addon
