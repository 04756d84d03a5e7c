// Getting a client certificate from the hub: one certificate request at a time, whose key and text are stored on the spoke
// before it is sent, under a name made from its text. So the request can be sent again after any crash without there ever being
// two (docs/reference/registration.md#certificates).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/registration/agent/hub_secret.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::registration::agent {

struct RequestOptions {
  std::int64_t expiration_seconds = 0;  // 0: the signer's own choice
};

/// A client certificate that somebody needs.
struct CertificateOrder {
  pki::Subject subject;
  std::vector<std::string> dns_names;
  std::string name_prefix;                    // of the request: "<cluster>-"
  std::map<std::string, std::string> labels;  // of the request
  std::string counted;                        // label selector of the requests on the hub that count as this one's
  std::string signer;
  std::int64_t expiration_seconds = 0;       // 0: the signer's own choice
  std::map<std::string, std::string> early;  // keys of the secret that are stored with the request
  std::map<std::string, std::string> late;   // that are stored with the certificate
};
/// The order of a cluster's agent.
CertificateOrder agent_order(const Identity& identity, const Endpoint& endpoint, const RequestOptions& options);

struct Issuance {
  enum class State {
    kIssued,   // the new certificate is stored
    kWaiting,  // the request is on the hub and not approved or not signed yet
    kDenied,   // an administrator denied it, or the signer failed it; a new one is made when it is an hour old or gone
    kHalted,   // the hub holds too many requests of this cluster already
  };
  State state = State::kWaiting;
  std::string request_name;
  std::string detail;  // for people
  HubSecret stored;    // with kIssued
};

/// "<prefix><10 characters>": from the request's text.
std::string request_name(const CertificateOrder& order, std::string_view request_pem);

/// Where what belongs together is kept: the request and its key until it is answered, and the credential.
struct Stores {
  HubSecretStore pending;
  HubSecretStore issued;
};

/// Goes as far as it can without waiting; call again until kIssued. Idempotent: safe to end after any write. A store of its own
/// for the request is removed once the certificate is stored. Errors are those of the hub and the spoke.
Result<Issuance> advance(const kube::Client& hub, const Stores& stores, const CertificateOrder& order, const Clock& clock);

/// A request has been answered, for better or worse.
bool is_answered(const Json& request);

}  // namespace fleetadm::registration::agent
