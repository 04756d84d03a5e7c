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

const Item* named_in(const Snapshot& roles, const std::string& name) {
  const auto found = std::lower_bound(roles.items.begin(), roles.items.end(), name,
                                      [](const Item& item, const std::string& wanted) { return item.name < wanted; });
  return found != roles.items.end() && found->name == name ? &*found : nullptr;
}

}  // namespace

/// No role that was written since matches, and what the role was made of is as it was.
bool RoleAggregation::unchanged(const Known& known, const Snapshot& roles) const {
  const bool matched = std::any_of(roles.items.begin(), roles.items.end(), [&](const Item& item) {
    return item.object->revision > seen_ &&
           std::any_of(known.selectors->begin(), known.selectors->end(),
                       [&](const LabelSelector& selector) { return selector.matches(item.object->labels); });
  });
  return !matched && std::all_of(known.sources.begin(), known.sources.end(), [&](const auto& source) {
    const Item* item = named_in(roles, source.first);
    return item != nullptr && item->object->revision == source.second;
  });
}

void RoleAggregation::aggregate(const ControllerContext& context, const Kind& kind, const Item& role, const Snapshot& roles) {
  Known& known = known_[role.name];
  if (known.revision == role.object->revision && (!known.selectors || unchanged(known, roles))) return;
  const Json whole = context.engine.full(kind, *role.object);
  known = {role.object->revision, selectors_of(whole), {}};
  if (!known.selectors) return;
  const auto sources = sources_of(role, *known.selectors, roles);
  for (const Item* one : sources) known.sources.emplace_back(one->name, one->object->revision);
  const Json rules = rules_of(sources);
  if (rules == list_at(whole, {"rules"})) return;
  const bool written = change(context, kind, whole, as_controller("clusterrole-aggregation-controller"),
                              [&](Json& object) { object["rules"] = rules; });
  if (!written) known.revision = 0;  // looked at again with the next write of a role
}

void RoleAggregation::sync(const ControllerContext& context) {
  const auto kind = kind_of(context, "rbac.authorization.k8s.io", "clusterroles");
  const auto roles = context.engine.store().list(kind->storage, "");
  if (!roles) return;
  std::erase_if(known_, [&](const auto& one) { return named_in(*roles, one.first) == nullptr; });
  for (const Item& item : roles->items) {
    // Few roles aggregate others: the text of the rest is looked at once, and never parsed.
    if (!known_.contains(item.name)) {
      if (item.object->revision <= seen_ || item.object->body.find("\"aggregationRule\"") == std::string::npos) continue;
    }
    aggregate(context, *kind, item, *roles);
  }
  seen_ = roles->revision;
}

}  // namespace fleetadm::sandbox
