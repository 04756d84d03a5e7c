// One hub, and two clusters that differ only in their agents: c1 has ours, c2 has upstream's.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "tests/interop/peers.h"
#include "tests/support/fleet.h"

namespace fleetadm::testkit {

class WorkLab {
 public:
  inline static const std::array<std::string, 2> kClusters{"c1", "c2"};

  /// Upstream's controllers run the hub; both clusters are accepted, and hold what work_scenario_grounds() says. In the namespace
  /// "apps", the placement "both" selects them.
  static Result<std::unique_ptr<WorkLab>> start();

  KubeServer& hub() { return fleet_->hub(); }
  KubeServer& spoke(const std::string& cluster) { return fleet_->spoke(cluster == kClusters[0] ? 1 : 2); }
  Ran run(const std::vector<std::string>& args) const { return fleet_->run(args); }
  const TemporaryFolder& folder() const { return fleet_->folder(); }
  std::string logs() const;
  /// From here on our controllers run the hub.
  Status change_hub();

  /// What is reported of a work, without times: its conditions, and each manifest's conditions and feedback. Empty where it has
  /// no Applied and Available of the present generation.
  std::string report(const std::string& cluster, const std::string& work);
  /// What a cluster has of the scenarios: namespaced and cluster-scoped objects with labels, content and number of owners, and
  /// the resources that the AppliedManifestWorks list.
  std::string objects(const std::string& cluster);

 private:
  WorkLab() = default;
  Status prepare(const std::string& cluster);
  Status join_ours(const Json& ticket);
  Status join_theirs(const Json& ticket);
  Status place();
  Status must(const std::vector<std::string>& args) const;

  std::unique_ptr<Fleet> fleet_;
  std::optional<Peers> peers_;  // ends before the servers do
  std::optional<sandbox::Child> our_hub_;
};

}  // namespace fleetadm::testkit
