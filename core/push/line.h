// What the hub has of one push member at one address: its connections, what is watched there, and its works.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "core/controller/controller.h"
#include "core/push/credential.h"
#include "core/push/probe.h"
#include "core/registration/agent/figures.h"
#include "core/registration/agent/optional_source.h"
#include "core/registration/agent/pod_watch.h"
#include "core/registration/agent/status.h"
#include "core/registration/agent/topology.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::push {

/// What all members have in common.
struct Shared {
  kube::Client hub;
  std::string hub_id;
  std::string ns;      // of the Secrets
  std::string hub_ns;  // of the hub itself
  std::function<kube::Client(const kube::RestConfig&)> connect;
  std::shared_ptr<Clock> clock;
  std::shared_ptr<controller::WorkerPool> pool;
  Duration period;
  Holds holds;
  Duration give_up_after;
};

/// One thread at a time, but for what is const or thread-safe itself.
class Line {
 public:
  /// `changed`: what is watched is another; `alarm`: a request or a watch of the member ended without an answer. Any thread.
  Line(const Shared& shared, Credential credential, std::function<void()> changed, const std::function<void()>& alarm);
  ~Line();  // cancels what is asked
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  /// But for the token, which is in credentials(), and for the way there, which the clients know.
  const Credential& credential() const { return credential_; }
  join::MemberCredentials& credentials() const { return *credentials_; }
  const kube::Client& client() const { return client_; }
  /// May renew the token.
  kube::Client renewer() const;
  Prober& prober() { return prober_; }
  /// The same address, and behind it the same cluster and account.
  bool leads_to(const Credential& other) const;

  /// A look, changed to kOtherCluster unless the cluster that joined is behind the address; asked again after each silence.
  Look verify(Look look);

  /// Of a member that answers: begins to read what observe() and write_figures() tell. Whether some of it is still to come.
  bool get_ready(Instant now);
  bool watches() const { return nodes_ != nullptr; }
  Instant watched_since() const { return watched_since_; }
  /// Of a member that answers. What its nodes say is read here alone.
  registration::agent::ClusterObservation observe(Instant now);
  /// The same number as long as an observation, and the figures, would be the same; nullopt: not known.
  using Revision = std::function<std::optional<std::uint64_t>()>;
  /// nullopt: something is to be asked.
  std::optional<std::uint64_t> revision(Instant now) const;
  /// revision() of what is watched now, without what is to be asked. To be called on any thread.
  Revision watched_revision() const;
  /// As observed last.
  void write_figures(Json& status);
  /// As observed last: where it runs; null: not known.
  const registration::agent::Topology* topology() const { return of_nodes_ ? &of_nodes_->topology : nullptr; }
  /// Until it answers again there is nothing to watch: no try of its own goes beside the probes that begin() is called for.
  void end_watches();

  /// Has the hub apply the cluster's works, unless it does.
  void begin_works(const std::string& cluster);
  /// What they are about is cancelled, so that nothing waits for a member that hangs.
  void end_works();

 private:
  kube::RestConfig with_credentials(bool for_works) const;
  void begin_watches(Instant now);
  void begin_pods();
  bool is_version_due(Instant now) const;

  const Shared& shared_;
  Credential credential_;
  const std::shared_ptr<std::atomic<std::uint64_t>> changes_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  const std::function<void()> changed_;  // counts, and tells
  const std::shared_ptr<join::MemberCredentials> credentials_;
  std::stop_source stop_;
  const kube::Client quiet_;  // its failures are no alarm: they are looked at
  kube::Client client_;
  kube::Client worker_;
  Prober prober_;
  bool verified_ = false;
  std::string version_;
  Instant version_read_{};
  Instant watched_since_{};
  std::unique_ptr<registration::agent::OptionalSource> nodes_;  // null, as the next ones: nothing is watched
  std::unique_ptr<registration::agent::OptionalSource> claims_;
  std::unique_ptr<registration::agent::OptionalSource> properties_;
  struct OfNodes {
    registration::agent::NodeCount count;
    registration::agent::Topology topology;
  };
  std::optional<OfNodes> of_nodes_;  // nullopt: not known
  std::shared_ptr<registration::agent::PodWatch> pods_;
  std::stop_source works_stop_;
  std::optional<controller::Manager> works_;
};

}  // namespace fleetadm::push
