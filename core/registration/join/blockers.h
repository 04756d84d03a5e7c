// What a cluster that leaves its fleet has to wait for, in the order in which it goes, and who has to let it go.
#pragma once

#include <string>
#include <vector>

#include "kubeclient/rest/client.h"

namespace fleetadm::join {

struct Blocker {
  std::string kind;
  std::string ns;
  std::string name;
  std::string owner;      // whose it is: "ManifestWorkReplicaSet apps/web", "add-on hello"; empty: nobody else's
  std::string waits_for;  // who lets it go: "the agent of c1"; empty: it goes at once
  std::vector<std::string> finalizers;

  /// "ManifestWork c1/web of ManifestWorkReplicaSet apps/web waits for the agent of c1 (finalizer …)".
  std::string text() const;
};

/// On the hub: add-ons, then works, each by the priority of its clean-up, then the ManagedCluster where it has finalizers. A type
/// that the hub does not serve blocks nothing.
Result<std::vector<Blocker>> hub_blockers(const kube::Client& hub, const std::string& cluster);
/// On the cluster: the works that its agent has applied.
Result<std::vector<Blocker>> spoke_blockers(const kube::Client& spoke);

/// "A; B and 3 more"; empty where nothing blocks.
std::string first_blockers(const std::vector<Blocker>& blockers);
Json to_json(const std::vector<Blocker>& blockers);

}  // namespace fleetadm::join
