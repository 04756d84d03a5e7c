// The copy of an account's Secret for the users of a ClusterProfile (docs/reference/managed-serviceaccount.md#clusterprofiles).
// Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "kubeclient/base/json.h"

namespace fleetadm::msa {

inline constexpr std::string_view kSyncLabel = "authentication.open-cluster-management.io/sync-to-clusterprofile";
inline constexpr std::string_view kSyncedFromLabel = "authentication.open-cluster-management.io/synced-from";
/// On a ClusterProfile: the names of the accounts whose copies may exist, a JSON list. It is written before a copy is, so that
/// copies are found again without a list of Secrets.
inline constexpr std::string_view kCopiesAnnotation = "fleetadm.io/credential-copies";

/// Of Open Cluster Management, and named after its cluster: only the accounts in that cluster's namespace are copied.
bool is_copied_to(const Json& profile);

std::string copy_name(std::string_view cluster, std::string_view account);

/// kConflict with kNotOurs: the Secret was not made for that profile and account; it is neither written nor handed out.
Status check_copy(const Json& secret, std::string_view cluster, std::string_view account);
/// Whether a Secret that passes check_copy() was made for this very profile, not for an earlier one of the name.
bool is_owned_by(const Json& secret, const Json& profile);
/// What the copy should be; `existing` (or null) is what it was: other labels are kept.
Json copy_object(const Json& existing, const Json& profile, std::string_view account, const Json& source);

std::set<std::string> noted_copies(const Json& profile);
void note_copies(Json& profile, const std::set<std::string>& accounts);

}  // namespace fleetadm::msa
