// Names that the work engine shares with every other implementation (docs/reference/work.md).
#pragma once

#include <string>
#include <string_view>

namespace fleetadm::work {

inline constexpr std::string_view kWorkApiVersion = "work.open-cluster-management.io/v1";
inline constexpr std::string_view kWorkGroup = "work.open-cluster-management.io";
inline constexpr std::string_view kAppliedKind = "AppliedManifestWork";
inline constexpr std::string_view kWorkFinalizer = "cluster.open-cluster-management.io/manifest-work-cleanup";
inline constexpr std::string_view kAppliedFinalizer = "cluster.open-cluster-management.io/applied-manifest-work-cleanup";
inline constexpr std::string_view kReplicaSetFinalizer = "work.open-cluster-management.io/manifest-work-cleanup";
inline constexpr std::string_view kReplicaSetLabel = "work.open-cluster-management.io/manifestworkreplicaset";
inline constexpr std::string_view kPlacementNameLabel = "work.open-cluster-management.io/placementname";
inline constexpr std::string_view kDefaultFieldManager = "work-agent";

inline constexpr std::string_view kConditionApplied = "Applied";
inline constexpr std::string_view kConditionAvailable = "Available";
inline constexpr std::string_view kConditionDeleting = "Deleting";
inline constexpr std::string_view kConditionComplete = "Complete";
inline constexpr std::string_view kConditionProgressing = "Progressing";
inline constexpr std::string_view kConditionDegraded = "Degraded";
inline constexpr std::string_view kConditionFeedback = "StatusFeedbackSynced";
/// Ours, of a manifest and of a work: with a domain, so that no condition rule of a user means the same type.
inline constexpr std::string_view kConditionReady = "work.fleetadm.io/Ready";
/// The reason of a work's kConditionReady where waiting does not help.
inline constexpr std::string_view kReasonFailed = "ResourcesFailed";

/// The manifests of one work may be this large together (JSON bytes).
inline constexpr std::size_t kManifestLimit = 500UL * 1024;
/// Longest work name: "<64 hex>-<name>" must stay an object name.
inline constexpr std::size_t kMaxWorkName = 188;

/// Lower-case hex SHA-256 of the hub's server URL exactly as the kubeconfig has it.
std::string hub_hash(std::string_view hub_server);
/// "<hubHash>-<work>".
std::string applied_name(std::string_view hash, std::string_view work);

}  // namespace fleetadm::work
