#include "core/sandbox/auth/rbac.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <tuple>
#include <unordered_map>
#include <utility>

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

/// Whom a subject names, and how a reason calls it; nothing where it is of no known kind.
struct Subject {
  std::string key;
  std::string text;
};
std::string key_of_user(const std::string& name) { return "u:" + name; }
std::string key_of_group(const std::string& name) { return "g:" + name; }

std::optional<Subject> subject_of(const Json& subject, const std::string& ns) {
  const auto kind = str(subject, {"kind"});
  const auto name = str(subject, {"name"});
  if (kind == "User") return Subject{key_of_user(name), "User \"" + name + "\""};
  if (kind == "Group") return Subject{key_of_group(name), "Group \"" + name + "\""};
  if (kind != "ServiceAccount") return std::nullopt;
  auto in = str(subject, {"namespace"});
  if (in.empty()) in = ns;
  return Subject{key_of_user("system:serviceaccount:" + in + ":" + name), "ServiceAccount \"" + name + "/" + in + "\""};
}

struct Binding {
  std::string name;
  std::string role_kind;
  std::string role_name;
  std::vector<Subject> subjects;
};
using BindingPtr = std::shared_ptr<const Binding>;

/// Of one namespace, or of the cluster.
class Bindings {
 public:
  /// Null: it is gone.
  void set(const std::string& name, BindingPtr binding) {
    if (const auto known = by_name_.find(name); known != by_name_.end()) {
      for (const Subject& subject : known->second->subjects) {
        const auto at = by_subject_.find(subject.key);
        if (at == by_subject_.end()) continue;  // it names one twice
        std::erase_if(at->second, [&](const Entry& entry) { return entry.binding == known->second; });
        if (at->second.empty()) by_subject_.erase(at);
      }
      by_name_.erase(known);
    }
    if (!binding) return;
    for (std::size_t i = 0; i < binding->subjects.size(); ++i) by_subject_[binding->subjects[i].key].push_back({binding, i});
    by_name_.emplace(name, std::move(binding));
  }

  struct Entry {
    BindingPtr binding;
    std::size_t subject = 0;
  };
  /// Those that name the user, by name, each by the first of its subjects that does.
  std::vector<Entry> of(const serve::User& user) const {
    std::vector<Entry> found;
    const auto take = [&](const std::string& key) {
      if (const auto at = by_subject_.find(key); at != by_subject_.end())
        found.insert(found.end(), at->second.begin(), at->second.end());
    };
    take(key_of_user(user.name));
    for (const std::string& group : user.groups) take(key_of_group(group));
    std::sort(found.begin(), found.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.binding->name, a.subject) < std::tie(b.binding->name, b.subject);
    });
    found.erase(std::unique(found.begin(), found.end(), [](const Entry& a, const Entry& b) { return a.binding == b.binding; }),
                found.end());
    return found;
  }

 private:
  std::map<std::string, BindingPtr> by_name_;
  std::unordered_map<std::string, std::vector<Entry>> by_subject_;
};

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

/// What the roles and bindings of the store say. Thread-safe.
struct Rbac::Index {
  using Changed = std::tuple<std::string, std::string, std::string>;  // plural, namespace, name

  explicit Index(const Engine& of) : engine(of) {}

  /// Reads what changed. What was written before this call is seen after it: also while another thread reads it.
  std::shared_lock<std::shared_mutex> current() {
    if (stale.load()) {
      const std::unique_lock writing(mutex);
      std::set<Changed> keys;
      {
        const std::lock_guard lock(changed_mutex);
        keys.swap(changed);
        stale = false;
      }
      if (!std::exchange(loaded, true)) {
        load();
      } else {
        for (const auto& [plural, ns, name] : keys) {
          const auto stored = engine.store().get(kGroup + plural, ns, name);
          set(plural, ns, name, stored ? stored->json() : Json());
        }
      }
    }
    return std::shared_lock(mutex);
  }

  void load() {
    for (const char* plural : {"clusterroles", "roles", "clusterrolebindings", "rolebindings"}) {
      const auto list = engine.store().list(kGroup + plural, "");
      if (!list) continue;
      for (const auto& item : list->items) set(plural, item.ns, item.name, item.object->json());
    }
  }

  /// Null: it is gone.
  void set(const std::string& plural, const std::string& ns, const std::string& name, const Json& object) {
    if (plural == "clusterroles" || plural == "roles") {
      if (object.is_null()) {
        roles.erase({ns, name});
      } else {
        roles[{ns, name}] = rules_in(object);
      }
      return;
    }
    BindingPtr binding;
    if (!object.is_null()) {
      auto made = std::make_shared<Binding>();
      made->name = name;
      made->role_kind = str(object, {"roleRef", "kind"});
      made->role_name = str(object, {"roleRef", "name"});
      for (const Json& one : list_at(object, {"subjects"})) {
        if (auto subject = subject_of(one, ns)) made->subjects.push_back(std::move(*subject));
      }
      binding = std::move(made);
    }
    bindings[ns].set(name, std::move(binding));
  }

  /// Of a cluster role where `ns` is empty.
  RulesPtr rules_of(const std::string& ns, const std::string& name) const {
    const auto at = roles.find({ns, name});
    return at == roles.end() ? nullptr : at->second;
  }

  static inline const std::string kGroup = "rbac.authorization.k8s.io/";
  const Engine& engine;
  std::atomic<bool> stale = true;
  std::mutex changed_mutex;
  std::set<Changed> changed;
  std::shared_mutex mutex;  // of what follows
  bool loaded = false;
  std::map<std::pair<std::string, std::string>, RulesPtr> roles;  // by namespace and name
  std::map<std::string, Bindings> bindings;                       // by namespace
};

Rbac::Rbac(const Engine& engine) : index_(std::make_unique<Index>(engine)) {}
Rbac::~Rbac() = default;

void Rbac::changed(const std::string& plural, const std::string& ns, const std::string& name) {
  const std::lock_guard lock(index_->changed_mutex);
  index_->changed.emplace(plural, ns, name);
  index_->stale = true;
}

template <class Visit>
void Rbac::visit(const serve::User& user, const std::string& ns, Visit&& each) const {
  const auto lock = index_->current();
  const auto all_in = [&](const std::string& in, const std::string& kind, const std::string& place) {
    const auto at = index_->bindings.find(in);
    if (at == index_->bindings.end()) return true;
    for (const auto& [binding, subject] : at->second.of(user)) {
      const auto rules = index_->rules_of(binding->role_kind == "ClusterRole" ? std::string() : in, binding->role_name);
      const auto because = [&, &by = *binding, at = subject] {
        return kind + " \"" + by.name + place + "\" of " + by.role_kind + " \"" + by.role_name + "\" to " + by.subjects[at].text;
      };
      if (rules != nullptr && each(*rules, because)) return false;
    }
    return true;
  };
  if (all_in("", "ClusterRoleBinding", "") && !ns.empty()) all_in(ns, "RoleBinding", "/" + ns);
}

Decision Rbac::authorize(const serve::User& user, const serve::Attributes& what) const {
  if (user.in("system:masters")) return {true, ""};
  Decision out;
  visit(user, what.resource_request ? what.ns : "", [&](const std::vector<PolicyRule>& rules, const auto& because) {
    if (std::none_of(rules.begin(), rules.end(), [&](const PolicyRule& rule) { return rule.allows(what); })) return false;
    out = {true, "RBAC: allowed by " + because()};
    return true;
  });
  return out;
}

std::vector<PolicyRule> Rbac::rules_of(const serve::User& user, const std::string& ns) const {
  std::vector<PolicyRule> out;
  visit(user, ns, [&](const std::vector<PolicyRule>& rules, const auto&) {
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

std::shared_ptr<const std::vector<PolicyRule>> Rbac::role(const std::string& kind, const std::string& ns,
                                                          const std::string& name) const {
  const auto lock = index_->current();
  return index_->rules_of(kind == "ClusterRole" ? std::string() : ns, name);
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
