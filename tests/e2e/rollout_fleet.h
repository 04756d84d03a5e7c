// Four real spokes with our agent, one of them the canary, and a hub whose controllers run as a process that tests can kill.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/e2e/rollout_course.h"
#include "tests/support/fleet.h"

namespace fleetadm::testkit {

class RolloutFleet {
 public:
  static constexpr int kSpokes = 4;
  static constexpr const char* kHubUser = "rollout-hub";  // tells the controllers apart from the command line in audit logs
  using Names = std::set<std::string>;

  /// The spokes c1 … c4 are joined, accepted and available; in the namespace "apps", the placement "all" selects them, with c1 as
  /// the decision group "canary". On c2, c3 and c4, ConfigMaps are refused whose data.v names the cluster ("2 but not c3").
  static Result<std::unique_ptr<RolloutFleet>> start();

  KubeServer& hub() { return fleet_->hub(); }
  KubeServer& spoke(int i) { return fleet_->spoke(i); }
  const TemporaryFolder& folder() const { return fleet_->folder(); }

  /// (Re)starts the hub's controllers; with `die_after`, they end after so many writes.
  Status start_hub(int die_after = 0);
  void kill_hub() { controllers_.reset(); }
  std::string hub_log() const { return read_file((folder().path() / "hub.log").string()); }
  bool hub_runs() { return controllers_ && controllers_->running(); }

  Ran run(const std::vector<std::string>& args) const { return fleet_->run(args); }
  /// fleetadm rollout ARGS… -n apps
  Ran rollout(std::vector<std::string> args) const;
  Ran wait_for_end(const std::string& set) const { return rollout({"status", set, "-w", "--timeout", "90s"}); }

  /// A set of a placement; `progressive` is its strategy's body.
  Status create_set(const std::string& name, const Json& manifest_work_template, const Json& progressive,
                    const std::string& placement = "all");
  Status change(const std::string& set, const Json& patch);
  std::vector<Json> works(const std::string& set);
  /// The clusters whose work has the value.
  Names with(const std::string& set, const std::string& value);

 private:
  RolloutFleet() = default;
  Status join_spokes(const Json& ticket);
  Status refuse_by_name(int i);
  Status place();
  Status must(const std::vector<std::string>& args) const;

  std::unique_ptr<Fleet> fleet_;
  std::optional<sandbox::Child> controllers_;
};

/// A ConfigMap default/NAME with data.v, and (where asked for) a Deployment default/NAME that has the value in its environment
/// and is progressing until all its replicas are the new ones.
Json rollout_template(const std::string& name, const std::string& value, bool deployment);

}  // namespace fleetadm::testkit
