#include "core/addon/rules/hub_permissions.h"

#include <algorithm>
#include <set>

#include "core/addon/rules/agent_identity.h"
#include "core/addon/rules/names.h"
#include "core/api/kinds.h"
#include "kubeclient/base/ascii.h"

namespace fleetadm::addon {
namespace {

constexpr const char* kRbacGroup = "rbac.authorization.k8s.io";
constexpr std::string_view kBindingPrefix = "open-cluster-management:";

struct Permission {
  std::string ns;
  Json role;
  bool own_namespace = false;  // the cluster's
};

/// nullopt: a type that is not known, which gives nothing.
Result<std::optional<Permission>> read_permission(const Json& permission, const std::string& cluster) {
  const std::string type = str(permission, {"type"});
  if (type == "CurrentCluster") {
    const Json* block = find(permission, {"currentCluster"});
    if (block == nullptr || !block->is_object()) {
      return fail(Category::kInvalid, "current cluster is required when the HubPermission type is CurrentCluster");
    }
    const Json role{{"apiGroup", kRbacGroup}, {"kind", "ClusterRole"}, {"name", str(*block, {"clusterRoleName"})}};
    return Permission{cluster, role, true};
  }
  if (type == "SingleNamespace") {
    const Json* block = find(permission, {"singleNamespace"});
    if (block == nullptr || !block->is_object()) {
      return fail(Category::kInvalid, "single namespace is required when the HubPermission type is SingleNamespace");
    }
    return Permission{str(*block, {"namespace"}), object_at(*block, {"roleRef"}), false};
  }
  return std::nullopt;
}

/// The first registration with the Kubernetes API has the subject that gets the rights.
const Json& kube_subject(const Json& registrations) {
  for (const Json& registration : registrations) {
    const Json* block = find(registration, {kKubeClient});
    if (str(registration, {"type"}) == kKubeClient && block != nullptr && block->is_object())
      return object_at(*block, {"subject"});
  }
  static const Json kNobody = Json::object();
  return kNobody;
}

Json subjects_of(const Json& subject, const std::set<std::string>& without) {
  Json subjects = Json::array();
  const auto add = [&](const char* kind, const std::string& name) {
    subjects.push_back({{"apiGroup", kRbacGroup}, {"kind", kind}, {"name", name}});
  };
  if (const std::string user = str(subject, {"user"}); !user.empty()) add("User", user);
  for (const std::string& group : string_list_at(subject, {"groups"})) {
    if (!without.contains(group)) add("Group", group);
  }
  return subjects;
}

std::string base_name(const std::string& addon, const Json& role) {
  return std::string(kBindingPrefix) + addon + ":" + lower_case(str(role, {"kind"})) + ":agent";
}

bool same_role(const Json& binding, const Json& role) {
  for (const char* member : {"apiGroup", "kind", "name"}) {
    if (str(binding, {"roleRef", member}) != str(role, {member})) return false;
  }
  return true;
}

void own(Json& binding, const Json& addon) {
  Json owner{{"apiVersion", str(addon, {"apiVersion"})},
             {"kind", "ManagedClusterAddOn"},
             {"name", name_of(addon)},
             {"uid", uid_of(addon)}};
  Json& owners = at_or_make(binding, {"metadata", "ownerReferences"});
  if (!owners.is_array()) owners = Json::array();
  for (Json& other : owners) {
    if (str(other, {"kind"}) == "ManagedClusterAddOn" && str(other, {"name"}) == name_of(addon)) {
      other = std::move(owner);
      return;
    }
  }
  owners.push_back(std::move(owner));
}

bool named_in(const std::vector<Json>& bindings, const std::string& ns, const std::string& name) {
  return std::any_of(bindings.begin(), bindings.end(),
                     [&](const Json& binding) { return namespace_of(binding) == ns && name_of(binding) == name; });
}

class Binder {
 public:
  Binder(const ObjectReader& objects, const Json& addon, rollout::Semantics conduct)
      : objects_(objects),
        addon_(addon),
        cluster_(namespace_of(addon)),
        name_(name_of(addon)),
        strict_(conduct == rollout::Semantics::kStrict) {}

  Json subjects(const Json& registrations) const {
    std::set<std::string> without{"system:authenticated"};
    if (strict_) without.insert(addon_group(name_));  // agents of other clusters have it, too
    return subjects_of(kube_subject(registrations), without);
  }

  Status bind(const Permission& permission, const Json& subjects, std::vector<Json>& bindings) const {
    const std::string name = binding_name(permission, bindings);
    const ObjectPtr existing = current(permission.ns, name, bindings);
    if (strict_ && existing != nullptr && !is_named_ours(*existing) &&
        !(same_role(*existing, permission.role) && list_at(*existing, {"subjects"}) == subjects)) {
      return fail(Category::kInvalid, "RoleBinding " + permission.ns + "/" + name +
                                          " exists and is not this add-on's: delete it so that the hub can make its own");
    }
    if (existing != nullptr && !same_role(*existing, permission.role)) {
      return fail(Category::kInvalid, "RoleBinding.rbac.authorization.k8s.io \"" + name + "\" is invalid: cannot change roleRef");
    }
    Json binding = existing != nullptr ? *existing
                                       : Json{{"apiVersion", "rbac.authorization.k8s.io/v1"},
                                              {"kind", "RoleBinding"},
                                              {"metadata", {{"name", name}, {"namespace", permission.ns}}},
                                              {"roleRef", permission.role}};
    Json& labels = at_or_make(binding, {"metadata", "labels"});
    labels[std::string(api::kAddonNameLabel)] = name_;
    labels[std::string(kTemplateNameLabel)] = "";
    if (strict_) labels[std::string(api::kClusterNameLabel)] = cluster_;
    if (permission.own_namespace) own(binding, addon_);
    binding["subjects"] = subjects;
    std::erase_if(bindings, [&](const Json& other) { return namespace_of(other) == permission.ns && name_of(other) == name; });
    bindings.push_back(std::move(binding));
    return {};
  }

 private:
  ObjectPtr current(const std::string& ns, const std::string& name, const std::vector<Json>& bindings) const {
    for (const Json& binding : bindings) {
      if (namespace_of(binding) == ns && name_of(binding) == name) return std::make_shared<const Json>(binding);
    }
    return objects_.get(role_bindings(), ns, name);
  }

  /// A label can be lost: what else is to the letter as it should be is ours, too.
  bool is_named_ours(const Json& binding) const { return label_of(binding, api::kAddonNameLabel) == name_; }

  /// A role cannot be changed in a binding: where upstream's name is taken by another one, the role's own name is added.
  std::string binding_name(const Permission& permission, const std::vector<Json>& bindings) const {
    std::string base = base_name(name_, permission.role);
    if (!strict_) return base;
    if (!permission.own_namespace) base += ":" + cluster_;
    const std::string longer = base + ":" + str(permission.role, {"name"});
    const auto has = [&](const std::string& name) {
      const ObjectPtr taken = current(permission.ns, name, bindings);
      return taken != nullptr && same_role(*taken, permission.role);
    };
    if (has(base)) return base;
    const ObjectPtr other = current(permission.ns, base, bindings);
    const bool taken = other != nullptr && is_named_ours(*other);
    return taken || has(longer) ? longer : base;
  }

  const ObjectReader& objects_;
  const Json& addon_;
  std::string cluster_;
  std::string name_;
  bool strict_;
};

/// Made here for this agent: by labels and by name. Nobody else's binding is ever deleted.
std::vector<ObjectRef> made_for(const ObjectReader& objects, std::string_view cluster, std::string_view addon,
                                const std::vector<Json>& but) {
  std::vector<ObjectRef> made;
  for (const ObjectPtr& binding : objects.labelled(role_bindings(), cluster, addon)) {
    const std::string ns = namespace_of(*binding);
    const std::string name = name_of(*binding);
    if (name.starts_with(std::string(kBindingPrefix) + std::string(addon) + ":") && !named_in(but, ns, name)) {
      made.push_back({role_bindings(), ns, name});
    }
  }
  return made;
}

}  // namespace

HubPermissions hub_permissions(const ObjectReader& objects, const Json& addon, const Json& registrations,
                               const Json& addon_template, rollout::Semantics conduct) {
  HubPermissions out;
  const Binder binder(objects, addon, conduct);
  const Json subjects = binder.subjects(registrations);
  for (const Json& registration : list_at(addon_template, {"spec", "registration"})) {
    if (str(registration, {"type"}) != "KubeClient") continue;
    for (const Json& entry : list_at(registration, {kKubeClient, "hubPermissions"})) {
      const auto permission = read_permission(entry, namespace_of(addon));
      if (!permission) {
        out.error = permission.error();
        return out;
      }
      if (!*permission) continue;
      if (subjects.empty()) {
        out.pending = true;
        return out;
      }
      if (const Status bound = binder.bind(**permission, subjects, out.bindings); !bound) {
        out.error = bound.error();
        return out;
      }
    }
  }
  if (conduct == rollout::Semantics::kStrict) out.deleted = made_for(objects, namespace_of(addon), name_of(addon), out.bindings);
  return out;
}

std::vector<ObjectRef> left_bindings(const ObjectReader& objects, std::string_view cluster, std::string_view addon) {
  return made_for(objects, cluster, addon, {});
}

}  // namespace fleetadm::addon
