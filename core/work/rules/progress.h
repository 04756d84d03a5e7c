// Where a work stands, read from its status alone: per work and per manifest, what is in the way and since when. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"

namespace fleetadm::work {

/// A condition that is not as it should be.
struct Blocking {
  std::string condition;  // "Applied", "Available", "Degraded", …
  std::string status;
  std::string reason;
  std::string message;
  std::optional<Instant> since;
};

// States, the worst first. A state is a word for people and for scripts.
inline constexpr std::string_view kStateMissing = "Missing";          // no work yet for a cluster that is to have one
inline constexpr std::string_view kStateUnreachable = "Unreachable";  // the cluster's agent is not heard: the rest is old news
inline constexpr std::string_view kStateDeleting = "Deleting";
inline constexpr std::string_view kStatePending = "Pending";  // the agent has not reported this generation
inline constexpr std::string_view kStateNotApplied = "NotApplied";
inline constexpr std::string_view kStateNotAvailable = "NotAvailable";
inline constexpr std::string_view kStateDegraded = "Degraded";
inline constexpr std::string_view kStateProgressing = "Progressing";
inline constexpr std::string_view kStateNotReady = "NotReady";
inline constexpr std::string_view kStateComplete = "Complete";
inline constexpr std::string_view kStateAvailable = "Available";

struct ManifestProgress {
  Json meta;  // {ordinal, group, version, kind, resource, namespace, name}
  std::string state;
  std::string ready;  // "True", "False (ImagePullBackOff)", "Unknown": the agent does not report it
  std::optional<Instant> since;
  std::optional<Blocking> blocking;

  std::string describe() const;  // "Deployment default/web"
};

struct WorkProgress {
  std::string cluster;
  std::string name;
  std::string state;
  std::string ready;
  std::optional<Instant> since;
  std::optional<Blocking> blocking;
  std::vector<ManifestProgress> manifests;  // in the order of the spec

  /// Nothing is in the way: Available or Complete.
  bool done() const { return !blocking; }
};

WorkProgress progress_of(const Json& work);

/// The work's readiness in a cell, with the reason of the manifest that is not ready: as ManifestProgress::ready.
std::string ready_text(const Json& work);
/// Upstream's agents do not report readiness. False also while nothing of the present generation is reported.
bool reports_readiness(const Json& work);

/// The cluster (a ManagedCluster) is not heard of: what the work reports is old. Nothing where it is.
std::optional<Blocking> unreachable(const Json& cluster);
void mark_unreachable(WorkProgress& progress, Blocking why);

/// A cluster that is to have a work and has none yet.
WorkProgress missing_work(std::string cluster, std::string name, std::string why, std::optional<Instant> since);

Json to_json(const WorkProgress& progress);

}  // namespace fleetadm::work
