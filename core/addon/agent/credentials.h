// Keeps one credential of an add-on's agent fresh: a client certificate, or a token of its ServiceAccount on the hub
// (docs/reference/addon.md#on-the-cluster). Nothing waits here: a call goes as far as it can and tells when to come again.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/controller/controller.h"
#include "core/registration/agent/issuance.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::addon::agent {

namespace reg = registration::agent;

/// Sets a condition of the ManagedClusterAddOn.
using Report = std::function<void(std::string_view type, bool good, std::string_view reason, const std::string& message)>;

/// What is remembered of a credential between two looks.
struct Progress {
  int waits = 0;        // looks in a row that found nothing new
  bool tidied = false;  // what an agent that was killed may have left was removed, and what it did not tell was told
};

struct CredentialTools {
  const kube::Client& hub;
  const Clock& clock;
  Duration check;  // between two looks where nothing is due
  Report report;
};

/// Renews at 20 to 25 % of what is left of the lifetime; the key is stored before its request is sent. Condition
/// ClusterCertificateRotated.
controller::Outcome keep_certificate(const CredentialTools& tools, const reg::Stores& stores, const reg::CertificateOrder& order,
                                     Progress& progress);

struct TokenOrder {
  std::string cluster;
  std::string account;      // the ServiceAccount
  std::string account_uid;  // empty: the hub has not made it yet
  std::int64_t expiration_seconds = 0;
  reg::Endpoint endpoint;
};
/// Gets another token where there is none, where it is of another account, and with a fifth of its lifetime left. Condition
/// TokenRefreshed.
controller::Outcome keep_token(const CredentialTools& tools, const reg::Stores& stores, const TokenOrder& order,
                               Progress& progress);

}  // namespace fleetadm::addon::agent
