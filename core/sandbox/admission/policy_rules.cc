// What a policy or binding must be to be stored, in the server's words (Kubernetes 1.35, 422).
#include <algorithm>
#include <set>

#include "core/sandbox/admission/match_checks.h"
#include "core/sandbox/admission/policies.h"
#include "kubeclient/base/names.h"

namespace fleetadm::sandbox::admission {
namespace {

constexpr std::size_t kMaxConditions = 64;
constexpr std::size_t kMaxAnnotations = 20;
constexpr std::size_t kMaxAnnotationBytes = 5 * 1024;
bool is_blank(const std::string& text) { return text.find_first_not_of(" \t\n\v\f\r") == std::string::npos; }

void check_compiled(const Expression& expression, const std::string& shown, const std::string& field, Causes& out) {
  if (!expression.error.empty()) out.push_back(bad_value(field, shown, expression.error));
}

// --- expressions ---

void check_conditions(const CompiledPolicy& policy, Causes& out) {
  const Json& given = list_at(policy.spec, {"matchConditions"});
  if (given.size() > kMaxConditions) {
    out.push_back({"FieldValueTooMany", "Too many: " + std::to_string(given.size()) + ": must have at most 64 items",
                   "spec.matchConditions"});
  }
  std::set<std::string> names;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto at = item("spec.matchConditions", i);
    const Expression& expression = policy.conditions[i].expression;
    if (expression.text.empty()) {
      out.push_back(required(at + ".expression"));
    } else {
      check_compiled(expression, expression.text, at + ".expression", out);
    }
    const auto& name = policy.conditions[i].name;
    if (name.empty()) {
      out.push_back(required(at + ".name"));
    } else {
      if (!is_qualified_name(name)) out.push_back(bad_value(at + ".name", name, kQualifiedName));
      if (!names.insert(name).second) out.push_back(duplicate(at + ".name", name));
    }
  }
}

bool is_identifier(const std::string& name) {
  static const std::set<std::string> kReserved = {"true",     "false",   "null",      "in",       "as",  "break",  "const",
                                                  "continue", "else",    "for",       "function", "if",  "import", "let",
                                                  "loop",     "package", "namespace", "return",   "var", "void",   "while"};
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name.front()) && !kReserved.contains(name) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

void check_variables(const CompiledPolicy& policy, Causes& out) {
  for (std::size_t i = 0; i < policy.variables.size(); ++i) {
    const auto at = item("spec.variables", i);
    const auto& [name, expression] = policy.variables[i];
    if (is_blank(name)) {
      out.push_back(required(at + ".name", "name is not specified"));
    } else if (!is_identifier(name)) {
      out.push_back(bad_value(at + ".name", name, "must be a valid CEL identifier"));
    }
    if (is_blank(expression.text)) {
      out.push_back(required(at + ".expression", "expression is not specified"));
    } else {
      check_compiled(expression, expression.text, at + ".expression", out);
    }
  }
}

void check_validations(const CompiledPolicy& policy, Causes& out) {
  static const std::vector<std::string> kReasons = {"Forbidden", "Invalid", "RequestEntityTooLarge"};
  const Json& given = list_at(policy.spec, {"validations"});
  for (std::size_t i = 0; i < policy.validations.size(); ++i) {
    const auto at = item("spec.validations", i);
    const Validation& one = policy.validations[i];
    if (is_blank(one.expression.text)) {
      out.push_back(required(at + ".expression", "expression is not specified"));
    } else {
      check_compiled(one.expression, one.expression.text, at + ".expression", out);
    }
    if (one.message_expression) {
      const auto& text = one.message_expression->text;
      if (is_blank(text)) {
        out.push_back(bad_value(at + ".messageExpression", text, "must be non-empty if specified"));
      } else {
        check_compiled(*one.message_expression, text, at + ".messageExpression", out);
      }
    }
    if (!one.message.empty()) {
      const auto end = one.message.find_last_not_of(" \t\n\v\f\r");
      const auto begin = one.message.find_first_not_of(" \t\n\v\f\r");
      if (is_blank(one.message)) {
        out.push_back(bad_value(at + ".message", one.message, "must be non-empty if specified"));
      } else if (one.message.substr(begin, end - begin + 1).find_first_of("\n\r") != std::string::npos) {
        out.push_back(bad_value(at + ".message", one.message, "must not contain line breaks"));
      }
    }
    check_one_of(given[i], "reason", at + ".reason", kReasons, false, out);
  }
}

void check_annotations(const std::string& policy_name, const CompiledPolicy& policy, Causes& out) {
  const Json& given = list_at(policy.spec, {"auditAnnotations"});
  if (given.size() > kMaxAnnotations)
    out.push_back(bad_value("spec.auditAnnotations", given, "must not have more than 20 auditAnnotations"));
  std::set<std::string> keys;
  for (std::size_t i = 0; i < policy.annotations.size(); ++i) {
    const auto at = item("spec.auditAnnotations", i);
    const auto& [key, expression] = policy.annotations[i];
    if (const auto name = policy_name + "/" + key; !is_qualified_name(name))
      out.push_back(bad_value(at + ".key", name, kQualifiedName));
    if (expression.text.empty()) {
      out.push_back(required(at + ".valueExpression", "valueExpression is not specified"));
    } else if (expression.text.size() > kMaxAnnotationBytes) {
      out.push_back(required(at + ".valueExpression", "must not exceed 5120 bytes in length"));
    } else {
      check_compiled(expression, str(given[i], {"valueExpression"}), at + ".valueExpression", out);
    }
    if (!keys.insert(key).second) out.push_back(duplicate(at + ".key", key));
  }
}

void check_param_kind(const Json& spec, Causes& out) {
  if (find(spec, {"paramKind"}) == nullptr) return;
  const auto version = str(spec, {"paramKind", "apiVersion"});
  if (version.empty()) {
    out.push_back(required("spec.paramKind.apiVersion"));
  } else if (std::count(version.begin(), version.end(), '/') > 1) {
    out.push_back(bad_value("spec.paramKind.apiVersion", version, "unexpected GroupVersion string: " + version));
  } else if (version.ends_with('/')) {
    out.push_back(bad_value("spec.paramKind.apiVersion", version, "version must be specified"));
  }
  if (str(spec, {"paramKind", "kind"}).empty()) out.push_back(required("spec.paramKind.kind"));
}

Causes policy_problems(const std::string& name, const Json& spec) {
  Causes out;
  const auto policy = CompiledPolicy::of(name, spec);
  check_one_of(spec, "failurePolicy", "spec.failurePolicy", {"Fail", "Ignore"}, true, out);
  check_param_kind(spec, out);
  if (const Json* match = find(spec, {"matchConstraints"}); match == nullptr) {
    out.push_back(required("spec.matchConstraints"));
  } else {
    check_match(*match, "spec.matchConstraints", out);
    if (list_at(*match, {"resourceRules"}).empty()) out.push_back(required("spec.matchConstraints.resourceRules"));
  }
  check_conditions(policy, out);
  check_variables(policy, out);
  if (policy.validations.empty() && policy.annotations.empty()) {
    for (const char* field : {"spec.validations", "spec.auditAnnotations"})
      out.push_back(required(field, "validations or auditAnnotations must contain at least one item"));
  }
  check_validations(policy, out);
  check_annotations(name, policy, out);
  return out;
}

// --- the right to read parameters ---

/// A user as Go prints one.
std::string shown(const serve::User& user) {
  std::string groups;
  for (const auto& group : user.groups) groups += (groups.empty() ? "" : " ") + group;
  std::string extra;
  for (const auto& [key, values] : user.extra) {
    std::string list;
    for (const auto& value : values) list += (list.empty() ? "" : " ") + value;
    extra += (extra.empty() ? "" : " ") + key + ":[" + list + "]";
  }
  return "&{" + user.name + " " + user.uid + " [" + groups + "] map[" + extra + "]}";
}

serve::Attributes reading(Engine& engine, const Json* param_kind) {
  serve::Attributes out;
  out.resource_request = true;
  out.resource = out.group = out.version = "*";
  if (param_kind == nullptr) return out;
  const auto version = str(*param_kind, {"apiVersion"});
  const auto slash = version.find('/');
  out.group = slash == std::string::npos ? "" : version.substr(0, slash);
  out.version = slash == std::string::npos ? version : version.substr(slash + 1);
  if (const auto row = engine.kinds().find_kind(out.group, str(*param_kind, {"kind"}))) out.resource = row->plural;
  return out;
}

bool skips_rights(const StrategyContext& context) {
  return context.options.internal || context.options.user.in("system:masters");
}

ApiStatus check_policy(const Rbac& rbac, const StrategyContext& context, const Json& policy, const Json* old) {
  const Json& spec = object_at(policy, {"spec"});
  if (context.options.subresource == "status") return {};
  if (const auto problems = policy_problems(name_of(policy), spec); !problems.empty())
    return invalid(context.kind, name_of(policy), problems);
  const Json* param_kind = find(spec, {"paramKind"});
  if (param_kind == nullptr || skips_rights(context)) return {};
  if (old != nullptr && object_at(*old, {"spec", "paramKind"}) == *param_kind) return {};
  auto what = reading(context.engine, param_kind);
  what.verb = "get";
  what.name = what.ns = "*";
  if (rbac.authorize(context.options.user, what).allowed) return {};
  return invalid(context.kind, name_of(policy),
                 {forbidden_field("spec.paramKind",
                                  "user " + shown(context.options.user) +
                                      " must have \"get\" permission on all objects of the referenced paramKind (kind=" +
                                      str(*param_kind, {"kind"}) + ", apiVersion=" + str(*param_kind, {"apiVersion"}) + ")")});
}

Causes binding_problems(const Json& spec) {
  Causes out;
  const auto policy = str(spec, {"policyName"});
  if (policy.empty()) {
    out.push_back(required("spec.policyName"));
  } else if (!is_dns_subdomain(policy)) {
    out.push_back(
        bad_value("spec.policyName", policy,
                  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
                  "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
                  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"));
  }
  if (const Json* ref = find(spec, {"paramRef"})) {
    const bool named = !str(*ref, {"name"}).empty();
    const bool selected = find(*ref, {"selector"}) != nullptr;
    if (named && selected) {
      out.push_back(forbidden_field("spec.paramRef.name", "name and selector are mutually exclusive"));
      out.push_back(forbidden_field("spec.paramRef.selector", "name and selector are mutually exclusive"));
    }
    if (selected) check_selector(*ref, "selector", "spec.paramRef.selector", out);
    if (!named && !selected) out.push_back(required("spec.paramRef", "one of name or selector must be specified"));
    check_one_of(*ref, "parameterNotFoundAction", "spec.paramRef.parameterNotFoundAction", {"Deny", "Allow"}, true, out);
  }
  if (const Json* match = find(spec, {"matchResources"})) check_match(*match, "spec.matchResources", out);
  const auto actions = string_list_at(spec, {"validationActions"});
  std::set<std::string> seen;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const auto at = item("spec.validationActions", i);
    if (actions[i] != "Deny" && actions[i] != "Warn" && actions[i] != "Audit")
      out.push_back(unsupported(at, actions[i], {"Audit", "Deny", "Warn"}));
    if (!seen.insert(actions[i]).second) out.push_back(duplicate(at, actions[i]));
  }
  if (seen.contains("Deny") && seen.contains("Warn")) {
    out.push_back(bad_value("spec.validationActions", actions,
                            "must not contain both Deny and Warn (repeating the same validation failure information in the API "
                            "response and headers serves no purpose)"));
  }
  if (seen.empty()) out.push_back(required("spec.validationActions", "at least one validation action is required"));
  return out;
}

ApiStatus check_policy_binding(const Rbac& rbac, const StrategyContext& context, const Json& binding, const Json* old) {
  const Json& spec = object_at(binding, {"spec"});
  if (const auto problems = binding_problems(spec); !problems.empty()) return invalid(context.kind, name_of(binding), problems);
  const Json* ref = find(spec, {"paramRef"});
  if (ref == nullptr || skips_rights(context)) return {};
  if (old != nullptr && object_at(*old, {"spec", "paramRef"}) == *ref &&
      str(*old, {"spec", "policyName"}) == str(spec, {"policyName"}))
    return {};
  const auto policy =
      context.engine.store().get("admissionregistration.k8s.io/validatingadmissionpolicies", "", str(spec, {"policyName"}));
  const Json known = policy ? policy->json() : Json();
  auto what = reading(context.engine, find(known, {"spec", "paramKind"}));
  what.verb = str(*ref, {"name"}).empty() ? "list" : "get";
  what.name = str(*ref, {"name"});
  what.ns = str(*ref, {"namespace"});
  if (rbac.authorize(context.options.user, what).allowed) return {};
  const auto why = policy ? "user " + shown(context.options.user) + " does not have \"" + what.verb +
                                "\" permission on the object referenced by paramRef"
                          : "unable to get policy " + str(spec, {"policyName"}) +
                                " to determine minimum required permissions and user " + shown(context.options.user) +
                                " does not have \"" + what.verb + "\" permission for all groups, versions and resources";
  return invalid(context.kind, name_of(binding), {forbidden_field("spec.paramRef", why)});
}

}  // namespace

Strategy policy_strategy(const Rbac& rbac) {
  Strategy out;
  out.create = [&rbac](const StrategyContext& context, Json& policy) { return check_policy(rbac, context, policy, nullptr); };
  out.update = [&rbac](const StrategyContext& context, Json& policy, const Json& old) {
    return check_policy(rbac, context, policy, &old);
  };
  return out;
}

Strategy policy_binding_strategy(const Rbac& rbac) {
  Strategy out;
  out.create = [&rbac](const StrategyContext& context, Json& binding) {
    return check_policy_binding(rbac, context, binding, nullptr);
  };
  out.update = [&rbac](const StrategyContext& context, Json& binding, const Json& old) {
    return check_policy_binding(rbac, context, binding, &old);
  };
  return out;
}

}  // namespace fleetadm::sandbox::admission
