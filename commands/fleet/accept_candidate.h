// Which request of a cluster that has asked to join may be approved.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::commands {

/// Of the requests, which one is meant.
struct RequestChoice {
  std::vector<std::string> requesters;  // who may have made it, beside the bootstrap identities
  std::string csr;                      // its name; also to give a cluster a second identity
  std::string agent_id;                 // of the agent that must have made it; empty: any
};

struct Candidate {
  Json cluster;
  std::optional<Json> csr;     // to approve; none where it was approved before
  std::vector<Json> approved;  // before
};

/// What would be done for one cluster, or why nothing can be: kNotFound where it, or its request, may be yet to come. `awaited`:
/// that is expected, so no other name is suggested. kConflict: a person has to name the request. kAuth: it must not be approved.
Result<Candidate> find_candidate(const kube::Client& hub, const std::string& name, const RequestChoice& choice, bool awaited,
                                 Instant now);

/// It sends no certificate request: the hub makes its identity when it is accepted.
bool registers_by_aws(const Json& cluster);

/// Who made them, when, for which agent and key.
std::string request_sentences(const std::vector<Json>& csrs, Instant now);

}  // namespace fleetadm::commands
