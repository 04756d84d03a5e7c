// What roles and bindings may be written, by whom.
#include <algorithm>

#include "core/sandbox/auth/rbac.h"

namespace fleetadm::sandbox {
namespace {

const char* const kGroup = "rbac.authorization.k8s.io";

std::string describe(const std::vector<PolicyRule>& rules) {
  std::string out;
  const auto list = [](const std::vector<std::string>& words) {
    std::string text = "[";
    for (const auto& word : words) text += (text.size() > 1 ? " \"" : "\"") + word + "\"";
    return text + "]";
  };
  for (const auto& rule : rules) {
    if (!out.empty()) out += '\n';
    if (!rule.urls.empty()) {
      out += "{NonResourceURLs:" + list(rule.urls);
    } else {
      out += "{APIGroups:" + list(rule.groups) + ", Resources:" + list(rule.resources);
      if (!rule.names.empty()) out += ", ResourceNames:" + list(rule.names);
    }
    out += ", Verbs:" + list(rule.verbs) + "}";
  }
  return out;
}

bool may(const Rbac& rbac, const StrategyContext& context, const std::string& verb, const std::string& resource,
         const std::string& ns, const std::string& name) {
  serve::Attributes what;
  what.resource_request = true;
  what.verb = verb;
  what.group = kGroup;
  what.version = "v1";
  what.resource = resource;
  what.ns = ns;
  what.name = name;
  return rbac.authorize(context.options.user, what).allowed;
}

tl::unexpected<ApiError> escalation(const StrategyContext& context, const std::string& name,
                                    const std::vector<PolicyRule>& missing) {
  const serve::User& user = context.options.user;
  std::string groups;
  for (const auto& group : user.groups) groups += (groups.empty() ? "\"" : " \"") + group + "\"";
  return forbidden(context.kind, name,
                   "user \"" + user.name + "\" (groups=[" + groups +
                       "]) is attempting to grant RBAC permissions not currently held:\n" + describe(missing));
}

ApiStatus check_role(const Rbac& rbac, const StrategyContext& context, const Json& role, const Json* old) {
  std::vector<Cause> causes;
  std::vector<PolicyRule> wanted;
  int index = 0;
  for (const Json& rule : list_at(role, {"rules"})) {
    const auto at = "rules[" + std::to_string(index++) + "]";
    wanted.push_back(PolicyRule::of(rule));
    const PolicyRule& one = wanted.back();
    if (one.verbs.empty()) causes.push_back(required(at + ".verbs", "verbs must contain at least one value"));
    if (!one.urls.empty()) {
      if (context.kind.namespaced)
        causes.push_back(bad_value(at + ".nonResourceURLs", one.urls, "namespaced rules cannot apply to non-resource URLs"));
      if (!one.groups.empty() || !one.resources.empty() || !one.names.empty()) {
        causes.push_back(
            bad_value(at + ".nonResourceURLs", one.urls, "rules cannot apply to both regular resources and non-resource URLs"));
      }
      continue;
    }
    if (one.groups.empty()) causes.push_back(required(at + ".apiGroups", "resource rules must supply at least one api group"));
    if (one.resources.empty()) causes.push_back(required(at + ".resources", "resource rules must supply at least one resource"));
  }
  if (!causes.empty()) return invalid(context.kind, name_of(role), causes);
  if (context.options.internal) return {};
  if (old != nullptr && list_at(*old, {"rules"}) == list_at(role, {"rules"}) &&
      object_at(*old, {"aggregationRule"}) == object_at(role, {"aggregationRule"}))
    return {};
  if (find(role, {"aggregationRule"}) != nullptr) wanted.push_back({{"*"}, {"*"}, {"*"}, {}, {}});
  const auto ns = namespace_of(role);
  const auto missing = rbac.missing(context.options.user, ns, wanted);
  if (missing.empty() || may(rbac, context, "escalate", context.kind.plural, ns, name_of(role))) return {};
  return escalation(context, name_of(role), missing);
}

ApiStatus check_binding(const Rbac& rbac, const StrategyContext& context, const Json& binding, const Json* old) {
  std::vector<Cause> causes;
  const auto role_kind = str(binding, {"roleRef", "kind"});
  const auto role_name = str(binding, {"roleRef", "name"});
  if (str(binding, {"roleRef", "apiGroup"}) != kGroup) {
    causes.push_back(unsupported("roleRef.apiGroup", str(binding, {"roleRef", "apiGroup"}), {kGroup}));
  }
  const bool kind_ok = role_kind == "ClusterRole" || (context.kind.namespaced && role_kind == "Role");
  if (!kind_ok)
    causes.push_back(unsupported(
        "roleRef.kind", role_kind,
        context.kind.namespaced ? std::vector<std::string>{"Role", "ClusterRole"} : std::vector<std::string>{"ClusterRole"}));
  if (role_name.empty()) causes.push_back(required("roleRef.name"));
  int index = 0;
  for (const Json& subject : list_at(binding, {"subjects"})) {
    const auto at = "subjects[" + std::to_string(index++) + "]";
    const auto kind = str(subject, {"kind"});
    if (str(subject, {"name"}).empty()) causes.push_back(required(at + ".name"));
    if (kind != "User" && kind != "Group" && kind != "ServiceAccount")
      causes.push_back(unsupported(at + ".kind", kind, {"Group", "ServiceAccount", "User"}));
    if (kind == "ServiceAccount" && !context.kind.namespaced && str(subject, {"namespace"}).empty())
      causes.push_back(required(at + ".namespace"));
  }
  if (old != nullptr && object_at(*old, {"roleRef"}) != object_at(binding, {"roleRef"})) {
    // As Go prints its internal type.
    const Json shown = {{"APIGroup", str(binding, {"roleRef", "apiGroup"})}, {"Kind", role_kind}, {"Name", role_name}};
    causes.push_back(bad_value("roleRef", shown, "cannot change roleRef"));
  }
  if (!causes.empty()) return invalid(context.kind, name_of(binding), causes);
  if (context.options.internal) return {};
  if (old != nullptr && list_at(*old, {"subjects"}) == list_at(binding, {"subjects"})) return {};
  const auto ns = namespace_of(binding);
  const auto resource = role_kind == "ClusterRole" ? "clusterroles" : "roles";
  const auto wanted = rbac.role(role_kind, ns, role_name);
  if (wanted) {
    const auto missing = rbac.missing(context.options.user, ns, *wanted);
    if (missing.empty() || may(rbac, context, "bind", resource, ns, role_name)) return {};
    return escalation(context, name_of(binding), missing);
  }
  if (context.options.user.in("system:masters") || may(rbac, context, "bind", resource, ns, role_name)) return {};
  Kind role;
  role.group = kGroup;
  role.plural = resource;
  return not_found(role, role_name);
}

void default_binding(Json& binding) {
  if (str(binding, {"roleRef", "apiGroup"}).empty()) at_or_make(binding, {"roleRef", "apiGroup"}) = kGroup;
  const auto subjects = binding.find("subjects");
  if (subjects == binding.end() || !subjects->is_array()) return;
  for (Json& subject : *subjects) {
    const auto kind = str(subject, {"kind"});
    if ((kind == "User" || kind == "Group") && str(subject, {"apiGroup"}).empty()) subject["apiGroup"] = kGroup;
  }
}

}  // namespace

Strategy role_strategy(const Rbac& rbac) {
  Strategy out;
  out.defaults = [](Json& role) {
    if (!role.contains("rules")) role["rules"] = nullptr;
  };
  out.create = [&rbac](const StrategyContext& context, Json& role) { return check_role(rbac, context, role, nullptr); };
  out.update = [&rbac](const StrategyContext& context, Json& role, const Json& old) {
    return check_role(rbac, context, role, &old);
  };
  return out;
}

Strategy binding_strategy(const Rbac& rbac) {
  Strategy out;
  out.defaults = default_binding;
  out.create = [&rbac](const StrategyContext& context, Json& binding) { return check_binding(rbac, context, binding, nullptr); };
  out.update = [&rbac](const StrategyContext& context, Json& binding, const Json& old) {
    return check_binding(rbac, context, binding, &old);
  };
  return out;
}

}  // namespace fleetadm::sandbox
