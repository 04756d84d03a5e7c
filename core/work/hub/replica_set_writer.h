// Writes of the ManifestWorkReplicaSet controller, and the memory that keeps limits across a late cache: after a work was begun,
// nothing is decided about its set until the cache shows it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/work/rules/replica_set_rules.h"
#include "kubeclient/rest/client.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::work {

class ReplicaSetWriter {
 public:
  ReplicaSetWriter(kube::Client hub, std::shared_ptr<Clock> clock) : hub_(std::move(hub)), clock_(std::move(clock)) {}

  /// Everything of the plan; every cluster gets its turn, the first failure is answered at the end. kCancelled on `stop`.
  Status carry_out(const Json& set, const ReplicaSetPlan& plan, const std::stop_token& stop);
  Status remove(const std::string& ns, const std::string& name, const std::string& uid) const;
  /// A merge patch of the difference, with uid and resourceVersion; nothing is sent where there is none.
  Result<Json> patch(const kube::Resource& resource, const Json& before, const Json& after, std::string_view subresource) const;

  /// Whether the cache shows all that was written for the set. The first time a set is seen, the server is asked for its works:
  /// another process may have written what the cache does not have yet.
  Result<bool> caught_up(const Json& set, const kube::Informer& works);
  void forget(const Json& set);

 private:
  struct Expected {
    std::string uid;
    std::int64_t generation = 0;
    Instant since;
  };
  Status create(const Json& set, const WantedWork& wanted);
  Status update(const Json& set, const WorkChange& change);
  void expect(const Json& set, const Json& work);
  Result<bool> arrived(const std::string& key, const Expected& expected, const kube::Informer& works) const;

  kube::Client hub_;
  std::shared_ptr<Clock> clock_;
  std::mutex mutex_;
  std::map<std::string, std::map<std::string, Expected>> expected_;  // owner → work → what the cache must show
};

}  // namespace fleetadm::work
