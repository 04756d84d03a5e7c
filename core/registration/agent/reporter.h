// The status controller's round: look at the spoke, compute, write the difference, tell of flips by an Event.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/controller/controller.h"
#include "core/registration/agent/optional_source.h"
#include "core/registration/agent/pod_watch.h"
#include "core/registration/agent/readiness.h"
#include "core/registration/agent/status.h"
#include "core/registration/agent/topology.h"
#include "kubeclient/events/recorder.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::registration::agent {

/// Where the facts about the spoke come from.
struct SpokeSources {
  std::shared_ptr<OptionalSource> nodes;
  std::shared_ptr<OptionalSource> cluster_claims;
  std::shared_ptr<OptionalSource> cluster_properties;
  std::shared_ptr<OptionalSource> own_deployment;  // of own_health.h; null: nothing is told of it
  std::function<std::string()> parts;  // what of the agent is not ready; empty: all of it is; null: nothing is told of that
  /// Of figures.h, with nodes as project_placed_node() leaves them, and with the conditions of readiness.h; null: none of that
  /// is told, as by upstream's agents.
  std::shared_ptr<PodWatch> pods;
};

class StatusReporter {
 public:
  StatusReporter(kube::Client hub, kube::Client spoke, std::string hub_server, ClaimOptions claims, SpokeSources sources,
                 std::shared_ptr<kube::Recorder> events, std::shared_ptr<Clock> clock);

  /// One round for the ManagedCluster as cached now. An Error: the hub refused the patch or could not be reached; come back soon.
  Result<controller::Outcome> reconcile(const Json& cached);

 private:
  ClusterObservation look(const Json& managed_cluster, Instant now);
  Probe probe(const Json& managed_cluster, Instant now);
  /// At the beginning, while lists are under way.
  bool is_listing(Instant now) const;
  /// Where the cluster runs, as labels of it; answers the cluster as it is then.
  Result<Json> with_labels(const Json& managed_cluster);
  /// Ready and the figures, or their absence.
  void add_figures(const Json& managed_cluster, const ClusterObservation& seen, Instant now, Json& status);
  std::optional<Duration> look_again(const Json& managed_cluster, const ClusterObservation& seen, Instant now) const;
  /// From the beginning on where it was told before.
  bool tells_own_health(const Json& managed_cluster, Instant now) const;
  /// Of the cached Deployment. While it is ready and stays as it is, so do its pods: a container that restarts shows in it.
  std::optional<OwnHealth> own_health(const std::vector<Json>& deployments);
  /// Of the agent as its Deployment says, or as it knows itself where a part of it is not ready.
  std::optional<OwnHealth> agent_health(const Json& managed_cluster, Instant now);
  /// The spoke's, asked for now and then; empty where it was never answered.
  std::string version(Instant now);
  void tell_flip(const Json& before, const Json& wanted_status) const;

  kube::Client hub_;
  kube::Client spoke_;
  ClaimOptions claim_options_;
  SpokeSources sources_;
  std::shared_ptr<kube::Recorder> events_;
  std::shared_ptr<Clock> clock_;
  kube::MutationCache written_;
  Instant began_;
  std::optional<Instant> first_look_;
  bool listing_ = false;  // when it last looked: the first status shall be a whole one
  ManagedNamespaces namespaces_;
  ProbeJudge judge_;
  Look last_;  // as the next ones where figures are told
  Memory memory_;
  Health health_;
  std::optional<NodeCount> nodes_;
  std::optional<Topology> topology_;
  std::string version_;
  std::optional<Instant> version_read_;
  std::optional<OwnHealth> own_health_;
  std::string own_version_;   // resourceVersion of the Deployment that was judged
  std::size_t left_out_ = 0;  // claims, as last logged
};

}  // namespace fleetadm::registration::agent
