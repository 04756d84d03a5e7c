#include "core/registration/expiry/hosted_hops.h"

#include <utility>

#include "core/api/hosted_member.h"
#include "core/api/kinds.h"
#include "core/registration/join/member_token.h"
#include "kubeclient/base/token_claims.h"

namespace fleetadm::registration::expiry {
namespace {

constexpr auto kMemberTimeout = std::chrono::seconds(10);
constexpr const char* kMemberToken = "member token";

std::string fix_of(const std::string& cluster) {
  return "fleetadm rejoin --context HOSTING_CLUSTER --mode hosted --managed-cluster-context CONTEXT_OF_" + cluster +
         " --hub-context HUB";
}

std::string with(const std::string& detail, const std::string& more) { return detail.empty() ? more : detail + "; " + more; }

}  // namespace

Hop member_credential(const std::string& cluster, const kube::Credentials& credentials) {
  if (credentials.token.empty()) {
    const auto parsed = pki::parse_certificates(credentials.client_certificate);
    if (!parsed) return unknown(cluster, kMemberToken, "the member's kubeconfig has neither a token nor a certificate");
    Hop hop = hop_of(cluster, "member certificate", parsed->front());
    hop.detail = parsed->front().subject.common_name + ", which no agent renews";
    hop.fix = "replace it in the member's Secret: its agent takes it at once";
    return hop;
  }
  Hop hop;
  hop.place = cluster;
  hop.what = kMemberToken;
  hop.fix = "give it a new one: " + fix_of(cluster);
  const auto claims = token_claims(credentials.token);
  const auto due = join::renew_token_at(credentials.token);
  if (!claims || !due) {
    hop.detail = "it is none of a ServiceAccount: its end cannot be seen, and no agent renews it";
    return hop;
  }
  hop.begins = claims->issued;
  hop.ends = claims->expires;
  hop.detail = "ServiceAccount " + claims->account_namespace + "/" + claims->account + ", to be renewed at " + format_time(*due);
  return hop;
}

Hop ask_member(const join::HostedMember& member, std::stop_token stop) {
  const auto access = join::member_access(member.kubeconfig);
  if (!access) {
    return wrong(member.cluster, kMemberToken, "the kubeconfig in Secret " + member.secret + ": " + access.error().message,
                 "give it a new one: " + fix_of(member.cluster));
  }
  Hop hop = member_credential(member.cluster, access->credentials);
  const auto client = kube::Client::connect(access->config).with_timeout(kMemberTimeout).with_stop(std::move(stop));
  if (const auto asked = ask_who(client, hop, "the member"); !asked)
    hop.detail = with(hop.detail, "this machine could not ask the member: " + asked.error().message);
  return hop;
}

std::vector<Hop> hosted_hops(const kube::Client& hosting, std::string_view ns, const join::HostedMember& member,
                             const HubView& hub, std::stop_token stop) {
  std::vector<Hop> hops;
  if (const auto access = join::member_access(member.kubeconfig))
    hops = server_hops(member.cluster, look_at(access->config.server, access->config.proxy_url, access->config.ca_data),
                       access->config.ca_data);
  hops.push_back(ask_member(member, stop));
  const std::string bootstrap =
      member.bootstrap_secrets.empty() ? std::string(api::kBootstrapSecret) : member.bootstrap_secrets.front();
  const AgentSecrets secrets{hosting, std::string(ns), bootstrap, api::hosted_credential_secret(member.cluster),
                             "give the agent a new bootstrap: " + fix_of(member.cluster)};
  for (Hop& hop : agent_hops(secrets, member.cluster, hub, stop)) hops.push_back(std::move(hop));
  return hops;
}

}  // namespace fleetadm::registration::expiry
