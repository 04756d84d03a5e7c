// ManagedServiceAccounts, by name and cluster: what may be missing for one, and its token.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/framework/command.h"
#include "commands/framework/report.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::commands {

/// -c, --cluster, which each of them needs.
void account_cluster_flag(FlagSet& flags, std::string* into);
/// kUsage: no cluster, or a name that no object can have.
Status validate_account(const std::string& cluster, const std::vector<std::string>& names);

/// The error of a hub that does not have the kind.
template <class T>
Result<T> with_account_kind(Result<T> result) {
  if (result || result.error().code != 404 || result.error().reason != kube::kUnknownPath) return result;
  return fail(Category::kNotFound, "the hub does not have the kind ManagedServiceAccount",
              "install the add-on: fleetadm addon install managed-serviceaccount");
}

/// kNotFound, with names that are near, where there is no such account.
Result<Json> read_account(const kube::Client& hub, const std::string& cluster, const std::string& name);

/// The note to a cluster whose add-on is not there to make the account.
void note_missing_agent(const kube::Client& hub, const std::string& cluster, Report& report);

/// Why there is no token: the message of TokenReported, where it is False.
std::optional<std::string> account_trouble(const Json& object);

struct AccountToken {
  std::string token;
  Instant expires{};
  std::string ca;  // PEM, of the member's API server, as its agent knows it; may be empty
};
/// The one that the hub holds and that is valid now. kNotFound: there is none, or no longer one of this account.
Result<AccountToken> account_token(const kube::Client& hub, const std::string& cluster, const std::string& name, Instant now);

}  // namespace fleetadm::commands
