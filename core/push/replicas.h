// The replicas of a hub that share its push members: each has a lease, and a member is dialed by the one that share.h names among
// those whose leases hold (docs/reference/registration.md#replicas-of-the-hub).
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "kubeclient/lease/leader.h"
#include "kubeclient/rest/client.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::push {

/// On the leases of replicas.
inline constexpr std::string_view kReplicaLabel = "fleetadm.io/push-replica";

struct ReplicaOptions {
  std::string ns;  // of the leases
  std::string identity;
  /// A lease is renewed every `retry`; a replica that has not renewed its own for `renew_deadline` dials no member any more, and
  /// the others wait for `lease` before they do.
  kube::LeaderTiming timing;
  /// A new replica begins so long after its lease was there: the others have seen it and let go by then.
  Duration settle = std::chrono::seconds(1);
};

/// Other replicas' clocks say nothing: each counts from when it saw a renewal. Thread-safe.
class Replicas {
 public:
  Replicas(const kube::Client& hub, ReplicaOptions options);
  ~Replicas();  // leaves
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  /// Once. `changed`: members may be another replica's now; on a thread of its own.
  void join(std::function<void()> changed);
  /// Takes its lease away, so that the others need not wait. Nothing is this one's from now on.
  void leave();

  /// Whether this replica dials the cluster, now.
  bool is_mine(std::string_view cluster) const;
  /// Those that share, this one included; empty: it dials nothing.
  std::vector<std::string> sharing() const;

 private:
  using Steady = std::chrono::steady_clock;
  struct Seen {
    std::string identity;
    std::string renewed;  // as its lease says; only compared
    Steady::time_point at;
    Duration lasts{};
    std::string uid;
  };

  void run(const std::stop_token& stop);
  void renew();
  Status put_lease();
  /// Takes note of who shares; whether that has changed.
  bool look();
  void take(const kube::CachedPtr& before, const kube::CachedPtr& after);
  void remove_abandoned();
  bool holds(Steady::time_point now) const { return renewed_ && now - *renewed_ < options_.timing.renew_deadline; }

  const kube::Client hub_;
  const ReplicaOptions options_;
  const std::string lease_name_;
  std::function<void()> changed_;
  std::shared_ptr<kube::Informer> leases_;
  Json lease_;  // as it was written last; null: it is to be read. Of the thread alone.

  mutable std::mutex mutex_;
  std::condition_variable_any woken_;
  bool wake_ = false;
  std::map<std::string, Seen> seen_;  // others, by the names of their leases
  std::optional<Steady::time_point> joined_;
  std::optional<Steady::time_point> renewed_;
  std::vector<std::string> sharing_;
  std::jthread thread_;
};

}  // namespace fleetadm::push
