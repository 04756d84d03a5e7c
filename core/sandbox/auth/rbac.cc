#include "core/sandbox/auth/rbac.h"

#include <algorithm>
#include <map>
#include <optional>

#include "kubeclient/base/shared_values.h"

namespace fleetadm::sandbox {
namespace {

bool has(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}
bool has_or_all(const std::vector<std::string>& list, std::string_view word) { return has(list, "*") || has(list, word); }

bool url_matches(const std::vector<std::string>& urls, std::string_view path) {
  return std::any_of(urls.begin(), urls.end(), [&](const std::string& url) {
    return url == "*" || url == path || (url.ends_with('*') && path.starts_with(std::string_view(url).substr(0, url.size() - 1)));
  });
}

struct Binding {
  std::string name;
  std::string role_kind;
  std::string role_name;
  Json subjects;
};

/// How the binding names the user; empty where it does not.
std::string subject_of(const Binding& binding, const std::string& ns, const serve::User& user) {
  for (const Json& subject : binding.subjects) {
    const auto kind = str(subject, {"kind"});
    const auto name = str(subject, {"name"});
    if (kind == "User" && name == user.name) return "User \"" + name + "\"";
    if (kind == "Group" && user.in(name)) return "Group \"" + name + "\"";
    if (kind == "ServiceAccount") {
      auto in = str(subject, {"namespace"});
      if (in.empty()) in = ns;
      if (user.name == "system:serviceaccount:" + in + ":" + name) return "ServiceAccount \"" + name + "/" + in + "\"";
    }
  }
  return {};
}

using Rules = std::vector<PolicyRule>;
using RulesPtr = std::shared_ptr<const Rules>;

/// The clusters of a process share them: most roles are the same in all.
RulesPtr rules_in(const Json& role) {
  static auto* const kRules = new SharedValues<Rules>();  // for good: a cluster may outlive static objects
  const Json& list = list_at(role, {"rules"});
  return kRules->of(dump_json(list), [&list] {
    auto rules = std::make_shared<Rules>();
    rules->reserve(list.size());
    for (const Json& rule : list) rules->push_back(PolicyRule::of(rule));
    return rules;
  });
}

bool covers(const PolicyRule& rule, const std::string& verb, const std::string& group, const std::string& resource,
            const std::string* name) {
  if (!has_or_all(rule.verbs, verb) || !has_or_all(rule.groups, group)) return false;
  const auto slash = resource.find('/');
  const bool resource_ok = has_or_all(rule.resources, resource) ||
                           (slash != std::string::npos && has(rule.resources, "*/" + resource.substr(slash + 1)));
  if (!resource_ok) return false;
  return rule.names.empty() || (name != nullptr && has(rule.names, *name));
}

bool covered(const std::vector<PolicyRule>& held, const PolicyRule& wanted) {
  const auto any = [&](const auto& test) { return std::any_of(held.begin(), held.end(), test); };
  for (const auto& verb : wanted.verbs) {
    for (const auto& url : wanted.urls) {
      if (!any([&](const PolicyRule& rule) {
            return has_or_all(rule.verbs, verb) && (has(rule.urls, url) || url_matches(rule.urls, url));
          }))
        return false;
    }
    for (const auto& group : wanted.groups) {
      for (const auto& resource : wanted.resources) {
        if (wanted.names.empty() && !any([&](const PolicyRule& rule) { return covers(rule, verb, group, resource, nullptr); }))
          return false;
        for (const auto& name : wanted.names) {
          if (!any([&](const PolicyRule& rule) { return covers(rule, verb, group, resource, &name); })) return false;
        }
      }
    }
  }
  return true;
}

}  // namespace

PolicyRule PolicyRule::of(const Json& rule) {
  return {string_list_at(rule, {"verbs"}), string_list_at(rule, {"apiGroups"}), string_list_at(rule, {"resources"}),
          string_list_at(rule, {"resourceNames"}), string_list_at(rule, {"nonResourceURLs"})};
}

Json PolicyRule::json() const {
  Json out = {{"verbs", verbs}};
  if (!groups.empty()) out["apiGroups"] = groups;
  if (!resources.empty()) out["resources"] = resources;
  if (!names.empty()) out["resourceNames"] = names;
  if (!urls.empty()) out["nonResourceURLs"] = urls;
  return out;
}

bool PolicyRule::allows(const serve::Attributes& what) const {
  if (!has_or_all(verbs, what.verb)) return false;
  if (!what.resource_request) return url_matches(urls, what.path);
  const auto resource = what.subresource.empty() ? what.resource : what.resource + "/" + what.subresource;
  return covers(*this, what.verb, what.group, resource, what.name.empty() ? nullptr : &what.name);
}

struct Rbac::Snapshot {
  std::map<std::string, RulesPtr> cluster_roles;
  std::map<std::pair<std::string, std::string>, RulesPtr> roles;
  std::vector<Binding> cluster_bindings;
  std::map<std::string, std::vector<Binding>> bindings;
};

std::shared_ptr<const Rbac::Snapshot> Rbac::snapshot() const {
  const std::lock_guard lock(mutex_);
  const auto wanted = wanted_.load();
  if (snapshot_ && built_ == wanted) return snapshot_;
  auto next = std::make_shared<Snapshot>();
  const auto each = [&](const char* plural, const auto& add) {
    const auto list = engine_.store().list(std::string("rbac.authorization.k8s.io/") + plural, "");
    if (!list) return;
    for (const auto& item : list->items) add(item, item.object->json());
  };
  const auto binding_of = [](const std::string& name, const Json& object) {
    return Binding{name, str(object, {"roleRef", "kind"}), str(object, {"roleRef", "name"}), list_at(object, {"subjects"})};
  };
  each("clusterroles", [&](const Item& item, const Json& object) { next->cluster_roles[item.name] = rules_in(object); });
  each("roles", [&](const Item& item, const Json& object) { next->roles[{item.ns, item.name}] = rules_in(object); });
  each("clusterrolebindings",
       [&](const Item& item, const Json& object) { next->cluster_bindings.push_back(binding_of(item.name, object)); });
  each("rolebindings",
       [&](const Item& item, const Json& object) { next->bindings[item.ns].push_back(binding_of(item.name, object)); });
  built_ = wanted;
  snapshot_ = std::move(next);
  return snapshot_;
}

template <class Visit>
void Rbac::visit(const serve::User& user, const std::string& ns, Visit&& each) const {
  const auto now = snapshot();
  const auto rules_for = [&](const Binding& binding, const std::string& in) -> const Rules* {
    if (binding.role_kind == "ClusterRole") {
      const auto at = now->cluster_roles.find(binding.role_name);
      return at == now->cluster_roles.end() ? nullptr : at->second.get();
    }
    const auto at = now->roles.find({in, binding.role_name});
    return at == now->roles.end() ? nullptr : at->second.get();
  };
  for (const auto& binding : now->cluster_bindings) {
    const auto subject = subject_of(binding, "", user);
    const auto* rules = subject.empty() ? nullptr : rules_for(binding, "");
    if (rules != nullptr &&
        each(*rules, "ClusterRoleBinding \"" + binding.name + "\" of ClusterRole \"" + binding.role_name + "\" to " + subject))
      return;
  }
  const auto in_namespace = now->bindings.find(ns);
  if (ns.empty() || in_namespace == now->bindings.end()) return;
  for (const auto& binding : in_namespace->second) {
    const auto subject = subject_of(binding, ns, user);
    const auto* rules = subject.empty() ? nullptr : rules_for(binding, ns);
    if (rules != nullptr && each(*rules, "RoleBinding \"" + binding.name + "/" + ns + "\" of " + binding.role_kind + " \"" +
                                             binding.role_name + "\" to " + subject))
      return;
  }
}

Decision Rbac::authorize(const serve::User& user, const serve::Attributes& what) const {
  if (user.in("system:masters")) return {true, ""};
  Decision out;
  visit(user, what.resource_request ? what.ns : "", [&](const std::vector<PolicyRule>& rules, const std::string& because) {
    if (std::none_of(rules.begin(), rules.end(), [&](const PolicyRule& rule) { return rule.allows(what); })) return false;
    out = {true, "RBAC: allowed by " + because};
    return true;
  });
  return out;
}

std::vector<PolicyRule> Rbac::rules_of(const serve::User& user, const std::string& ns) const {
  std::vector<PolicyRule> out;
  visit(user, ns, [&](const std::vector<PolicyRule>& rules, const std::string&) {
    out.insert(out.end(), rules.begin(), rules.end());
    return false;
  });
  return out;
}

std::vector<PolicyRule> Rbac::missing(const serve::User& user, const std::string& ns,
                                      const std::vector<PolicyRule>& wanted) const {
  std::vector<PolicyRule> out;
  if (user.in("system:masters")) return out;
  const auto held = rules_of(user, ns);
  std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(out),
               [&](const PolicyRule& rule) { return !covered(held, rule); });
  return out;
}

std::optional<std::vector<PolicyRule>> Rbac::role(const std::string& kind, const std::string& ns, const std::string& name) const {
  const auto now = snapshot();
  if (kind == "ClusterRole") {
    const auto at = now->cluster_roles.find(name);
    return at == now->cluster_roles.end() ? std::nullopt : std::optional(*at->second);
  }
  const auto at = now->roles.find({ns, name});
  return at == now->roles.end() ? std::nullopt : std::optional(*at->second);
}

std::string denial(const serve::User& user, const serve::Attributes& what, const std::string& reason) {
  std::string text = "User \"" + user.name + "\" cannot " + what.verb;
  if (!what.resource_request) {
    text += " path \"" + what.path + "\"";
  } else {
    text += " resource \"" + what.resource + (what.subresource.empty() ? "" : "/" + what.subresource) + "\" in API group \"" +
            what.group + "\"";
    text += what.ns.empty() ? " at the cluster scope" : " in the namespace \"" + what.ns + "\"";
  }
  return reason.empty() ? text : text + ": " + reason;
}

}  // namespace fleetadm::sandbox
