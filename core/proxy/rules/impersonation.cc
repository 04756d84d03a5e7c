#include "core/proxy/rules/impersonation.h"

#include <algorithm>
#include <utility>

namespace fleetadm::proxy {
namespace {

constexpr const char* kVerb = "impersonate";

void add_rule(Json& rules, const char* resource, const std::set<std::string>& names, bool any) {
  if (!any && names.empty()) return;
  Json rule{{"apiGroups", Json::array({""})}, {"resources", Json::array({resource})}, {"verbs", Json::array({kVerb})}};
  if (!any) rule["resourceNames"] = names;
  rules.push_back(std::move(rule));
}

bool holds(const Json& rule, std::string_view list, std::string_view word) {
  const auto words = string_list_at(rule, {list});
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

void Impersonation::add(const Impersonation& other) {
  users.insert(other.users.begin(), other.users.end());
  groups.insert(other.groups.begin(), other.groups.end());
  any_user = any_user || other.any_user || users.size() > kMostNames;
  any_group = any_group || other.any_group || groups.size() > kMostNames;
  if (any_user) users.clear();
  if (any_group) groups.clear();
}

Json impersonation_rules(const Impersonation& who) {
  Json rules = Json::array();
  add_rule(rules, "users", who.users, who.any_user);
  add_rule(rules, "groups", who.groups, who.any_group);
  return rules;
}

Impersonation read_impersonation(const Json& role) {
  Impersonation who;
  for (const Json& rule : list_at(role, {"rules"})) {
    if (!holds(rule, "verbs", kVerb) || !holds(rule, "apiGroups", "")) continue;
    const auto names = string_list_at(rule, {"resourceNames"});
    Impersonation part;
    if (holds(rule, "resources", "users")) {
      part.any_user = names.empty();
      part.users = {names.begin(), names.end()};
    }
    if (holds(rule, "resources", "groups")) {
      part.any_group = names.empty();
      part.groups = {names.begin(), names.end()};
    }
    who.add(part);
  }
  return who;
}

Result<Caller> limit_caller(Caller at_member, const Impersonation& who) {
  if (!who.any_user && !who.users.contains(at_member.name)) {
    return fail({.code = 403,
                 .category = Category::kAuth,
                 .message = "the hub has not granted that user \"" + at_member.name + "\" acts at this cluster",
                 .reason = "Forbidden"});
  }
  std::erase_if(at_member.groups, [&](const std::string& group) { return !who.any_group && !who.groups.contains(group); });
  return at_member;
}

}  // namespace fleetadm::proxy
