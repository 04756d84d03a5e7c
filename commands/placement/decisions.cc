#include "commands/placement/decisions.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "core/api/kinds.h"
#include "core/placement/engine/decode.h"

namespace fleetadm::commands {
namespace {

int number_of(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// "p-decision-12" → 12: objects are in the order of their counters, not of their names.
int counter_of(const Json& decision) {
  const std::string name = name_of(decision);
  const std::size_t dash = name.rfind('-');
  return dash == std::string::npos ? 0 : number_of(std::string_view(name).substr(dash + 1));
}

}  // namespace

std::vector<ChosenGroup> groups_of(std::vector<Json> decisions) {
  std::stable_sort(decisions.begin(), decisions.end(),
                   [](const Json& a, const Json& b) { return counter_of(a) < counter_of(b); });
  std::map<int, ChosenGroup> groups;
  for (const Json& object : decisions) {
    const placement::Decision decision = placement::decode_decision(object);
    ChosenGroup& group = groups[number_of(decision.group_index)];
    group.index = number_of(decision.group_index);
    group.name = decision.group_name;
    group.clusters.insert(group.clusters.end(), decision.clusters.begin(), decision.clusters.end());
  }
  std::vector<ChosenGroup> out;
  out.reserve(groups.size());
  for (auto& [index, group] : groups) out.push_back(std::move(group));
  return out;
}

Result<std::vector<Json>> decisions_of(const kube::Client& hub, const std::string& ns, const std::string& placement) {
  kube::ListOptions options;
  options.label_selector = std::string(api::kPlacementLabel) + "=" + placement;
  FLEETADM_TRY(const Json list, hub.list(api::placement_decisions(), ns, options));
  const Json& items = list_at(list, {"items"});
  return std::vector<Json>(items.begin(), items.end());
}

}  // namespace fleetadm::commands
