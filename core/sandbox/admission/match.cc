#include "core/sandbox/admission/match.h"

#include <algorithm>

namespace fleetadm::sandbox::admission {
namespace {

bool has_or_star(const std::vector<std::string>& list, std::string_view wanted) {
  return std::any_of(list.begin(), list.end(), [&](const std::string& one) { return one == "*" || one == wanted; });
}

Labels labels_of(const Json& object) {
  Labels out;
  for (auto& [key, value] : strings_at(object, {"metadata", "labels"})) out.emplace_back(key, value);
  return out;
}

LabelSelector selector_of(const Json& resources, const char* field) {
  const Json* selector = find(resources, {field});
  if (selector == nullptr) return {};
  auto parsed = LabelSelector::from_object(selector);
  return parsed ? std::move(*parsed) : LabelSelector();  // checked when it was written
}

}  // namespace

bool Matcher::Rule::matches(const Asked& asked, const Kind& as) const {
  const bool is_namespace = as.group.empty() && as.plural == "namespaces";
  if (scope == "Namespaced" && (is_namespace || asked.ns.empty())) return false;
  if (scope == "Cluster" && !is_namespace && !asked.ns.empty()) return false;
  if (!has_or_star(operations, asked.write.operation) || !has_or_star(groups, as.group) || !has_or_star(versions, as.version))
    return false;
  const bool resource = std::any_of(resources.begin(), resources.end(), [&](const std::string& one) {
    const auto slash = one.find('/');
    const std::string_view plural = std::string_view(one).substr(0, slash);
    const std::string_view sub = slash == std::string::npos ? std::string_view() : std::string_view(one).substr(slash + 1);
    return (plural == "*" || plural == as.plural) && (sub == "*" || sub == asked.subresource);
  });
  return resource && (names.empty() || std::find(names.begin(), names.end(), asked.name) != names.end());
}

std::vector<Matcher::Rule> Matcher::rules_of(const Json& list) {
  std::vector<Rule> out;
  for (const Json& rule : list) {
    out.push_back({string_list_at(rule, {"resourceNames"}), string_list_at(rule, {"operations"}),
                   string_list_at(rule, {"apiGroups"}), string_list_at(rule, {"apiVersions"}),
                   string_list_at(rule, {"resources"}), str(rule, {"scope"})});
  }
  return out;
}

Matcher Matcher::of(const Json* resources) {
  Matcher out;
  if (resources == nullptr || !resources->is_object()) return out;
  out.rules_ = rules_of(list_at(*resources, {"resourceRules"}));
  out.excluded_ = rules_of(list_at(*resources, {"excludeResourceRules"}));
  out.equivalent_ = str(*resources, {"matchPolicy"}) == "Equivalent";
  out.namespaces_ = selector_of(*resources, "namespaceSelector");
  out.objects_ = selector_of(*resources, "objectSelector");
  return out;
}

std::optional<Match> Matcher::by_rules(const std::vector<Rule>& rules, const Engine& engine, const Asked& asked) const {
  const Kind& kind = asked.write.kind;
  if (std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.matches(asked, kind); })) return Match{};
  if (!equivalent_ || rules.empty()) return std::nullopt;
  for (const auto& other : engine.kinds().all()) {
    if (other->storage != kind.storage || (other->group == kind.group && other->version == kind.version)) continue;
    if (std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.matches(asked, *other); }))
      return Match{other};
  }
  return std::nullopt;
}

ApiResult<std::optional<Match>> Matcher::match(const Engine& engine, const Asked& asked) const {
  const Admission& write = asked.write;
  const bool is_namespace = write.kind.storage == "/namespaces";
  std::optional<ApiError> gone;
  if (!namespaces_.empty() && (is_namespace || !asked.ns.empty())) {
    if (is_namespace && asked.subresource.empty() && write.object != nullptr) {
      if (!namespaces_.matches(labels_of(*write.object))) return std::nullopt;
    } else if (const auto stored = engine.store().get("/namespaces", "", asked.ns)) {
      if (!namespaces_.matches(labels_of(stored->json()))) return std::nullopt;
    } else {
      gone = not_found(*engine.kinds().find("", "v1", "namespaces"), asked.ns).value();
    }
  }
  if (!objects_.empty()) {
    const bool fits = (write.object != nullptr && objects_.matches(labels_of(*write.object))) ||
                      (write.old != nullptr && objects_.matches(labels_of(*write.old)));
    if (!fits) return std::nullopt;
  }
  if (by_rules(excluded_, engine, asked)) return std::nullopt;
  auto out = rules_.empty() ? std::optional(Match{}) : by_rules(rules_, engine, asked);
  if (out && gone) return tl::unexpected(std::move(*gone));
  return out;
}

}  // namespace fleetadm::sandbox::admission
