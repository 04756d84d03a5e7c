// Clusters whose agents run in another cluster's pod, with those of others. A work of the hub cannot change such an agent: the
// pod changes for all of its members at once, where it runs.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "commands/fleet/upgrade.h"
#include "commands/framework/report.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::commands {

class HostedTargets {
 public:
  HostedTargets(kube::Client hub, const UpgradeTarget& target) : hub_(std::move(hub)), target_(target) {}

  /// Those of `targets`, which are sorted, that are hosted. `clusters`: all of the hub.
  void find(const std::vector<Json>& clusters, const std::vector<std::string>& targets);
  bool contains(const std::string& cluster) const { return hosted_.contains(cluster); }

  /// A line for each: that it is up to date, or where to upgrade it.
  void add_plan_lines(std::vector<std::string>& lines) const;
  /// A row of the table, an item of `list`, and the name or the failure of each.
  void add_to(Report& report, Json& list) const;

 private:
  struct Hosted {
    std::string told;  // the agent's version
    bool current = false;
    Error elsewhere;
  };

  Hosted judge(const Json& cluster, const std::string& by, std::size_t members);
  bool is_here(const std::string& by, const std::string& ns);

  kube::Client hub_;
  const UpgradeTarget& target_;
  std::map<std::string, Hosted> hosted_;
  std::map<std::string, std::string> hub_hosts_;  // by namespace: what a member that the hub hosts there claims
};

}  // namespace fleetadm::commands
