// Kubernetes' bootstrap tokens: Secrets bootstrap-token-ID in kube-system, which the API server takes as credentials of the user
// system:bootstrap:ID until they expire or are deleted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/rest/client.h"

namespace fleetadm::join {

/// Whoever is in it may ask to join the fleet.
inline constexpr const char* kJoiningGroup = "system:bootstrappers:managedcluster";

struct BootstrapToken {
  std::string id;  // six characters
  std::string description;
  std::vector<std::string> usages;  // "authentication", "signing"
  std::vector<std::string> groups;
  std::optional<Instant> expires;  // nullopt: never
  std::string uid;                 // of the Secret

  bool has_usage(std::string_view usage) const;
  /// Whether clusters can join with it at `now`.
  bool joins(Instant now) const;
};

/// What a Secret says, without the token's secret part. Nullopt: it is none of a bootstrap token.
std::optional<BootstrapToken> bootstrap_token_of(const Json& secret);

/// The Secret of a new token; `token` gets "ID.SECRET".
Json new_bootstrap_secret(const BootstrapToken& wanted, std::string& token);

/// All of the hub, by id.
Result<std::vector<BootstrapToken>> bootstrap_tokens(const kube::Client& hub);

/// Whole tokens, secret part and all: those that sign cluster-info at `now`, by id.
Result<std::vector<std::string>> signing_tokens(const kube::Client& hub, Instant now);

/// {"id", "description", "usages", "groups", "expires", "expired", "joins"}.
Json to_json(const BootstrapToken& token, Instant now);

}  // namespace fleetadm::join
