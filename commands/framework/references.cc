#include "commands/framework/references.h"

#include <algorithm>
#include <set>

#include "commands/framework/named.h"
#include "commands/framework/suggest.h"
#include "core/api/kinds.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::commands {
namespace {

constexpr const char* kAllowMissing = "add --allow-missing if it is to be created later";

std::string hint_for(const std::string& meant) { return meant.empty() ? kAllowMissing : meant + " Or " + kAllowMissing; }

}  // namespace

Status check_cluster_sets(const kube::Client& hub, const std::vector<std::string>& sets, std::vector<std::string>& notes) {
  for (const std::string& set : sets) {
    const auto found = hub.find(api::managed_cluster_sets(), "", set);
    if (!found && found.error().code == 403) {
      notes.push_back("whether cluster set \"" + set + "\" exists could not be checked: " + found.error().message);
      continue;
    }
    if (!found) return tl::unexpected(found.error());
    if (*found) continue;
    return fail(Category::kNotFound, "cluster set \"" + set + "\" does not exist",
                hint_for(NearNames(hub, api::managed_cluster_sets()).hint(set)));
  }
  return {};
}

Status check_decision_groups(const kube::Client& hub, const std::string& ns, const std::string& placement,
                             const std::vector<std::string>& groups) {
  if (groups.empty()) return {};
  FLEETADM_TRY(const auto object, hub.find(api::placements(), ns, placement));
  if (!object) return {};
  std::set<std::string> known;
  for (const Json& one : list_at(*object, {"spec", "decisionStrategy", "groupStrategy", "decisionGroups"}))
    known.insert(str(one, {"groupName"}));
  // Decisions that are written by another scheduler may have groups that the spec does not name.
  for (const Json& one : list_at(*object, {"status", "decisionGroups"})) known.insert(str(one, {"decisionGroupName"}));
  known.erase("");
  const std::vector<std::string> names(known.begin(), known.end());
  for (const std::string& group : groups) {
    if (known.contains(group)) continue;
    std::string why = "placement " + ns + "/" + placement + " has no decision group \"" + group + "\"";
    why += names.empty() ? " (it has no named groups)" : " (it has " + joined(names, ", ") + ")";
    return fail(Category::kNotFound, why, hint_for(did_you_mean(group, names)));
  }
  return {};
}

}  // namespace fleetadm::commands
