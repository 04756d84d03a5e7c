// One hub and one spoke in memory, and a work agent between them that can be killed after any write.
#pragma once

#include <memory>
#include <string>

#include "core/work/agent/agent.h"
#include "tests/support/fake_api.h"
#include "tests/support/killable.h"

namespace fleetadm::work::testing {

inline constexpr const char* kCluster = "c1";
inline constexpr const char* kHubServer = "https://hub.example:6443";

Json parsed(const std::string& text);
/// A ManifestWork c1/<name> with these manifests; `more` is merged into its spec.
Json work_of(const std::string& name, const std::string& manifests, const std::string& more = "{}");
std::string config_map(const std::string& name, const std::string& value);
std::string deployment(const std::string& name, int replicas);

class Fleet {
 public:
  Fleet();

  /// Starts an agent; where `die_after` is not negative, it sends no write any more after so many.
  void start_agent(int die_after = -1);
  void stop_agent();
  int writes_of_agent() const { return agent_.writes(); }

  std::optional<Json> work(const std::string& name) const;
  std::optional<Json> applied_work(const std::string& name) const;
  std::optional<Json> config_map(const std::string& name) const;
  std::string condition(const std::string& work, const std::string& type, const std::string& member = "status") const;
  bool is_applied(const std::string& work) const;
  bool is_gone(const std::string& work) const;
  void remove_work(const std::string& name);
  /// All objects of both servers, without what differs from run to run (uids, versions, times).
  Json state() const;

  std::shared_ptr<testkit::FakeApi> hub;
  std::shared_ptr<testkit::FakeApi> spoke;
  WorkAgentOptions options;
  /// Where set, the agent's works come from here and not from the hub's API.
  std::shared_ptr<WorkSource> works;

 private:
  testkit::Killable agent_;
};

bool eventually(const std::function<bool()>& done, Duration timeout = std::chrono::seconds(10));
/// Waits until neither server got a new request for a while; a failure where that never is.
void settle(const testkit::FakeApi& api, const testkit::FakeApi& other);

}  // namespace fleetadm::work::testing
