#include "commands/fleet/accept_candidate.h"

#include <algorithm>
#include <utility>

#include "commands/framework/named.h"
#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "core/registration/aws/names.h"
#include "core/registration/hub/requests.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::commands {
namespace {

using registration::hub::request_sentence;
using registration::hub::view_request;

constexpr std::string_view kBootstrapUser = "system:serviceaccount:open-cluster-management:agent-registration-bootstrap";
constexpr std::string_view kBootstrapTokenUser = "system:bootstrap:";
constexpr std::string_view kBootstrapTokenGroup = "system:bootstrappers:managedcluster";

bool is_trusted_requester(const Json& csr, const RequestChoice& choice) {
  const std::string user = str(csr, {"spec", "username"});
  if (user == kBootstrapUser) return true;
  if (std::find(choice.requesters.begin(), choice.requesters.end(), user) != choice.requesters.end()) return true;
  const auto groups = string_list_at(csr, {"spec", "groups"});
  return user.starts_with(kBootstrapTokenUser) && std::find(groups.begin(), groups.end(), kBootstrapTokenGroup) != groups.end();
}

struct Seen {
  std::vector<Json> pending;
  std::vector<std::string> refused;  // "csr-x: why"
  std::vector<Json> approved;
};

Result<Seen> requests_of(const kube::Client& hub, const std::string& name, const RequestChoice& choice) {
  FLEETADM_TRY(const auto all, registration::hub::agent_requests(hub, name));
  Seen seen;
  for (const Json& csr : all) {
    const auto identity = registration::hub::csr_identity(csr);
    if (registration::hub::csr_decided(csr)) {
      if (identity && controller::condition_is(csr, "Approved", "True")) seen.approved.push_back(csr);
    } else if (!choice.csr.empty() && name_of(csr) != choice.csr) {
      continue;
    } else if (!identity) {
      seen.refused.push_back(name_of(csr) + ": " + identity.error().message);
    } else if (identity->cluster != name) {
      seen.refused.push_back(name_of(csr) + ": it asks for cluster " + identity->cluster);
    } else if (!choice.agent_id.empty() && identity->agent != choice.agent_id) {
      seen.refused.push_back(name_of(csr) + ": it was made by the agent with the ID " + identity->agent + ", not " +
                             choice.agent_id);
    } else if (!is_trusted_requester(csr, choice)) {
      seen.refused.push_back(name_of(csr) + ": it was requested by " + str(csr, {"spec", "username"}) +
                             ", which is not a bootstrap identity (use --requester to allow it)");
    } else {
      seen.pending.push_back(csr);
    }
  }
  return seen;
}

/// Whether one of the requests is of that agent; also where none is asked for, or there are none.
bool is_of_agent(const std::vector<Json>& csrs, const std::string& agent) {
  return agent.empty() || csrs.empty() || std::any_of(csrs.begin(), csrs.end(), [&](const Json& csr) {
           const auto identity = registration::hub::csr_identity(csr);
           return identity && identity->agent == agent;
         });
}

/// A second identity for a cluster that has one: whoever holds a bootstrap token can ask for it, so a person names the request.
Status check_second_identity(const std::string& name, const Candidate& candidate, const std::vector<Json>& pending, Instant now) {
  const bool has_joined = controller::condition_is(candidate.cluster, api::kConditionJoined, "True");
  if (pending.empty() || (!has_joined && candidate.approved.empty())) return {};
  std::string before = has_joined ? "has already joined" : "already has an approved request";
  if (!candidate.approved.empty()) before += "; approved before: " + request_sentences(candidate.approved, now);
  return fail(Category::kConflict,
              "cluster \"" + name + "\" " + before + "; new: " + request_sentences(pending, now) +
                  ". Approving it would give the cluster's identity to whoever made it",
              "if its agent really asked again (its credential was lost), approve that request: fleetadm accept " + name +
                  " --csr " + name_of(pending.front()));
}

}  // namespace

std::string request_sentences(const std::vector<Json>& csrs, Instant now) {
  std::vector<std::string> all;
  for (const Json& csr : csrs) all.push_back(request_sentence(view_request(csr, now)));
  return joined(all, ", ");
}

bool registers_by_aws(const Json& cluster) {
  return !annotation_of(cluster, registration::aws::kArnAnnotation).empty() &&
         !annotation_of(cluster, registration::aws::kSuffixAnnotation).empty();
}

Result<Candidate> find_candidate(const kube::Client& hub, const std::string& name, const RequestChoice& choice, bool awaited,
                                 Instant now) {
  FLEETADM_TRY(auto cluster, hub.find(api::managed_clusters(), "", name));
  if (!cluster) {
    std::string next = "run `fleetadm join --cluster-name " + name + " …` on that cluster, or use --wait to wait for it";
    if (!awaited) next = NearNames(hub, api::managed_clusters()).hint(name, std::move(next));
    return fail(Category::kNotFound, "no cluster \"" + name + "\" has asked to join", std::move(next));
  }
  FLEETADM_TRY(Seen seen, requests_of(hub, name, choice));
  Candidate candidate{std::move(*cluster), std::nullopt, std::move(seen.approved)};
  if (choice.csr.empty()) FLEETADM_CHECK(check_second_identity(name, candidate, seen.pending, now));
  if (seen.pending.size() > 1) {
    std::vector<std::string> names;
    for (const Json& csr : seen.pending) names.push_back(name_of(csr));
    return fail(Category::kConflict,
                "cluster \"" + name + "\" has " + std::to_string(seen.pending.size()) + " requests: " + joined(names, ", "),
                "an agent sends only one: inspect them (kubectl describe csr), then select one with --csr NAME");
  }
  if (seen.pending.size() == 1) {
    candidate.csr = std::move(seen.pending.front());
    return candidate;
  }
  if (choice.csr.empty() && registers_by_aws(candidate.cluster)) {
    if (choice.agent_id.empty()) return candidate;
    return fail(Category::kUsage, "cluster \"" + name + "\" registers with an identity of AWS: nothing of it has the agent's ID",
                "compare its ARN instead: " + annotation_of(candidate.cluster, registration::aws::kArnAnnotation));
  }
  if (!choice.csr.empty() && seen.refused.empty() &&
      std::none_of(candidate.approved.begin(), candidate.approved.end(),
                   [&](const Json& csr) { return name_of(csr) == choice.csr; })) {
    return fail(Category::kNotFound, "cluster \"" + name + "\" has no certificate request \"" + choice.csr + "\"",
                "list its requests: kubectl get csr -l " + std::string(api::kClusterNameLabel) + "=" + name);
  }
  if (!is_of_agent(candidate.approved, choice.agent_id)) {
    return fail(Category::kAuth, "the request of cluster \"" + name +
                                     "\" that was approved before is not of the agent with the ID " + choice.agent_id + ": " +
                                     request_sentences(candidate.approved, now));
  }
  if (choice.csr.empty() ? !candidate.approved.empty() : seen.refused.empty()) return candidate;
  if (!seen.refused.empty()) {
    return fail(Category::kAuth, "no request from cluster \"" + name + "\" can be approved: " + joined(seen.refused, "; "));
  }
  // Accepted and joined long ago: its request has been cleaned up since, so that its agent is not known any more.
  const bool comparable = choice.agent_id.empty() || flag(candidate.cluster, {"spec", "hubAcceptsClient"});
  if (comparable && controller::condition_is(candidate.cluster, api::kConditionJoined, "True")) return candidate;
  return fail(Category::kNotFound, "cluster \"" + name + "\" has no certificate request",
              "a running agent creates one within seconds; wait for it with --wait");
}

}  // namespace fleetadm::commands
