// One push member while the hub dials it: its connections, what is known of it, and its works. Members share threads and know
// nothing of one another.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "core/controller/controller.h"
#include "core/push/health.h"
#include "core/registration/agent/lease.h"
#include "core/registration/agent/optional_source.h"
#include "core/registration/join/member_token.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::push {

/// What all members have in common.
struct Shared {
  kube::Client hub;
  std::string hub_id;
  std::string ns;  // of the Secrets
  std::function<kube::Client(const kube::RestConfig&)> connect;
  std::shared_ptr<Clock> clock;
  std::shared_ptr<controller::WorkerPool> pool;
  Duration period;
  Holds holds;
};

/// What a Secret of the hub says of a member.
struct Credential {
  join::MemberAccess access;
  std::string cluster_id;
  std::string account_ns;  // of the token's account
};
/// kInvalid where it cannot be used.
Result<Credential> credential_of(const Json& secret);

class Member {
 public:
  /// `changed`: there is something new to report. Called on the I/O thread.
  Member(const Shared& shared, std::string cluster, std::function<void()> changed);
  ~Member();  // ends its works, and cancels what they ask the member
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  /// As the Secret is now; an Error: there is none that can be used. The same address with another credential goes on with the
  /// connections that are there.
  void set(const Result<Credential>& credential);

  /// What a look found, written to the hub where it differs; begins one where there is none, after which `changed` is called. One
  /// thread at a time.
  Result<controller::Outcome> report(const Json& cluster);
  /// Renews the lease of the cluster. One thread at a time.
  Result<controller::Outcome> renew_lease(const std::optional<Json>& cluster) { return lease_.reconcile(cluster); }
  /// The connection to renew the token by, and the credential; nullopt: there is none.
  std::optional<std::pair<Credential, kube::Client>> access() const;

 private:
  struct Line;  // what depends on the address

  std::shared_ptr<Line> line() const;
  /// Begins a look, with whose end `changed` is called.
  void probe(const std::shared_ptr<Line>& line);
  /// What the last look found, once; nullopt: one is under way.
  std::optional<Look> look(const std::shared_ptr<Line>& line);
  /// That it is the cluster that joined.
  Look verify(const std::shared_ptr<Line>& line, Look look);
  bool take_stored_credential(const std::shared_ptr<Line>& line) const;
  void begin_works(Line& line) const;
  void keep_works(Line& line, const Look& look, Instant now) const;
  void add_figures(Line& line, Json& status) const;
  /// Writes the labels of where it runs, before the claims by which they are known as ours. Whether it is to be reported again.
  bool tell_labels(const Line& line, const Json& cluster) const;
  registration::agent::ClusterObservation observe(const std::shared_ptr<Line>& line, Instant now) const;

  const Shared& shared_;
  const std::string cluster_;
  std::function<void()> changed_;
  registration::agent::LeaseRenewer lease_;
  Memory memory_;
  mutable std::mutex mutex_;
  std::shared_ptr<Line> line_;
  std::optional<Look> fresh_;
  std::string trouble_ = "its Secret has not been read yet";
};

}  // namespace fleetadm::push
