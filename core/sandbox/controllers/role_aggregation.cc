#include "core/sandbox/controllers/role_aggregation.h"

#include <algorithm>

namespace fleetadm::sandbox {
namespace {

std::optional<std::vector<LabelSelector>> selectors_of(const Json& role) {
  if (find(role, {"aggregationRule"}) == nullptr) return std::nullopt;
  std::vector<LabelSelector> selectors;
  for (const Json& one : list_at(role, {"aggregationRule", "clusterRoleSelectors"})) {
    if (auto selector = LabelSelector::from_object(&one)) selectors.push_back(std::move(*selector));
  }
  return selectors;
}

/// The other roles whose rules the role is made of: selector by selector, and by name.
std::vector<const Item*> sources_of(const Item& role, const std::vector<LabelSelector>& selectors, const Snapshot& roles) {
  std::vector<const Item*> sources;
  for (const auto& selector : selectors) {
    for (const auto& other : roles.items) {
      if (other.name != role.name && selector.matches(other.object->labels)) sources.push_back(&other);
    }
  }
  return sources;
}

Json rules_of(const std::vector<const Item*>& sources) {
  Json rules = Json::array();
  for (const Item* source : sources) {
    for (const Json& rule : list_at(source->object->json(), {"rules"})) {
      if (std::find(rules.begin(), rules.end(), rule) == rules.end()) rules.push_back(rule);
    }
  }
  return rules;
}

}  // namespace

void RoleAggregation::sync(const ControllerContext& context) {
  const auto kind = kind_of(context, "rbac.authorization.k8s.io", "clusterroles");
  const auto roles = context.engine.store().list(kind->storage, "");
  if (!roles) return;
  std::map<std::string, Known> known;
  for (const auto& item : roles->items) {
    // Few roles aggregate others: the text of the rest is not parsed.
    if (item.object->body.find("\"aggregationRule\"") == std::string::npos) continue;
    const auto at = known_.find(item.name);
    const Known* before = at == known_.end() ? nullptr : &at->second;
    const bool same = before != nullptr && before->revision == item.object->revision;
    Known& now = known[item.name];
    now.revision = item.object->revision;
    now.selectors = same ? before->selectors : selectors_of(context.engine.full(*kind, *item.object));
    if (!now.selectors) continue;
    const auto sources = sources_of(item, *now.selectors, *roles);
    for (const Item* one : sources) now.sources.emplace_back(one->name, one->object->revision);
    if (same && before->sources == now.sources) continue;
    const Json role = context.engine.full(*kind, *item.object);
    const Json rules = rules_of(sources);
    if (rules == list_at(role, {"rules"})) continue;
    const bool written = change(context, *kind, role, as_controller("clusterrole-aggregation-controller"),
                                [&](Json& object) { object["rules"] = rules; });
    if (!written) known.erase(item.name);  // looked at again with the next write of a role
  }
  known_ = std::move(known);
}

}  // namespace fleetadm::sandbox
