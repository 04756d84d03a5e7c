#include "core/sandbox/admission/match_checks.h"

#include <algorithm>
#include <set>

#include "kubeclient/base/names.h"

namespace fleetadm::sandbox::admission {
namespace {

bool has_star(const std::vector<std::string>& list) { return std::find(list.begin(), list.end(), "*") != list.end(); }

void check_resources(const Json& rule, const std::string& field, Causes& out) {
  const auto resources = string_list_at(rule, {"resources"});
  if (resources.empty()) out.push_back(required(field));
  std::set<std::string> all_of_resource;
  std::set<std::string> all_of_sub;
  bool plain = false;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    const std::string& one = resources[i];
    if (one.empty()) {
      out.push_back(required(item(field, i)));
      continue;
    }
    const auto slash = one.find('/');
    if (slash == std::string::npos) {
      plain = one != "*";
      continue;
    }
    const auto resource = one.substr(0, slash);
    const auto sub = one.substr(slash + 1);
    if (all_of_resource.contains(resource))
      out.push_back(bad_value(item(field, i), one, "if '" + resource + "/*' is present, must not specify " + one));
    if (all_of_sub.contains(sub))
      out.push_back(bad_value(item(field, i), one, "if '*/" + sub + "' is present, must not specify " + one));
    if (sub == "*") all_of_resource.insert(resource);
    if (resource == "*") all_of_sub.insert(sub);
  }
  if (resources.size() > 1 && std::find(resources.begin(), resources.end(), "*/*") != resources.end())
    out.push_back(bad_value(field, resources, "if '*/*' is present, must not specify other resources"));
  if (has_star(resources) && plain)
    out.push_back(bad_value(field, resources, "if '*' is present, must not specify other resources without subresources"));
}

void check_list(const Json& rule, const char* name, const std::string& field, const char* others, Causes& out) {
  const auto list = string_list_at(rule, {name});
  if (list.empty()) out.push_back(required(field));
  if (list.size() > 1 && has_star(list))
    out.push_back(bad_value(field, list, std::string("if '*' is present, must not specify other ") + others));
}

void check_rule(const Json& rule, const std::string& at, Causes& out) {
  static const std::vector<std::string> kOperations = {"*", "CONNECT", "CREATE", "DELETE", "UPDATE"};
  std::set<std::string> names;
  const auto given = string_list_at(rule, {"resourceNames"});
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!names.insert(given[i]).second) out.push_back(duplicate(item(at + ".resourceNames", i), given[i]));
  }
  check_list(rule, "operations", at + ".operations", "operations", out);
  const auto operations = string_list_at(rule, {"operations"});
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (std::find(kOperations.begin(), kOperations.end(), operations[i]) == kOperations.end())
      out.push_back(unsupported(item(at + ".operations", i), operations[i], kOperations));
  }
  check_list(rule, "apiGroups", at + ".apiGroups", "API groups", out);
  check_list(rule, "apiVersions", at + ".apiVersions", "API versions", out);
  const auto versions = string_list_at(rule, {"apiVersions"});
  for (std::size_t i = 0; i < versions.size(); ++i) {
    if (versions[i].empty()) out.push_back(required(item(at + ".apiVersions", i)));
  }
  check_resources(rule, at + ".resources", out);
  check_one_of(rule, "scope", at + ".scope", {"*", "Cluster", "Namespaced"}, false, out);
}

}  // namespace

std::string item(const std::string& field, std::size_t index) { return field + "[" + std::to_string(index) + "]"; }

void check_one_of(const Json& holder, const char* name, const std::string& field, const std::vector<std::string>& allowed,
                  bool needed, Causes& out) {
  const Json* value = find(holder, {name});
  if (value == nullptr) {
    if (needed) out.push_back(required(field));
  } else if (std::find(allowed.begin(), allowed.end(), str(holder, {name})) == allowed.end()) {
    out.push_back(unsupported(field, *value, allowed));
  }
}

void check_selector(const Json& holder, const char* name, const std::string& field, Causes& out) {
  const Json* selector = find(holder, {name});
  if (selector == nullptr) {
    out.push_back(required(field));
    return;
  }
  const Json& terms = list_at(*selector, {"matchExpressions"});
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const auto at = item(field + ".matchExpressions", i);
    const auto op = str(terms[i], {"operator"});
    const bool listed = op == "In" || op == "NotIn";
    const bool empty = list_at(terms[i], {"values"}).empty();
    if (listed && empty) {
      out.push_back(required(at + ".values", "must be specified when `operator` is 'In' or 'NotIn'"));
    } else if ((op == "Exists" || op == "DoesNotExist") && !empty) {
      out.push_back(forbidden_field(at + ".values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    } else if (!listed && op != "Exists" && op != "DoesNotExist") {
      out.push_back(bad_value(at + ".operator", op, "not a valid selector operator"));
    }
    if (const auto key = str(terms[i], {"key"}); !is_qualified_name(key))
      out.push_back(bad_value(at + ".key", key, kQualifiedName));
  }
}

void check_match(const Json& match, const std::string& at, Causes& out) {
  check_one_of(match, "matchPolicy", at + ".matchPolicy", {"Equivalent", "Exact"}, true, out);
  check_selector(match, "namespaceSelector", at + ".namespaceSelector", out);
  check_selector(match, "objectSelector", at + ".objectSelector", out);
  for (const char* list : {"resourceRules", "excludeResourceRules"}) {
    const Json& rules = list_at(match, {list});
    for (std::size_t i = 0; i < rules.size(); ++i) check_rule(rules[i], item(at + "." + list, i), out);
  }
}

}  // namespace fleetadm::sandbox::admission
