#include "core/registration/rejoin/rejoin.h"

#include <algorithm>
#include <set>

#include "core/api/certificate_request.h"
#include "core/api/hosted_member.h"
#include "core/api/kinds.h"
#include "core/install/install.h"
#include "core/registration/agent/issuance.h"
#include "core/registration/hub/csr_rules.h"
#include "core/work/rules/names.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/config/kubeconfig.h"

namespace fleetadm::registration::rejoin {
namespace {

namespace r = kube::resources;

constexpr const char* kEntry = "bootstrap";
constexpr const char* kApproval = "Approved by an administrator with fleetadm rejoin.";

void read_args(const Json& deployment, Agent& agent) {
  const auto take = [](const std::string& arg, std::string_view flag, std::string& into) {
    if (arg.starts_with(flag)) into = arg.substr(flag.size());
  };
  for (const Json& container : list_at(deployment, {"spec", "template", "spec", "containers"})) {
    for (const std::string& arg : string_list_at(container, {"args"})) {
      take(arg, "--bootstrap-secret=", agent.bootstrap_secret);
      take(arg, "--hub-kubeconfig-secret=", agent.hub_secret);
      take(arg, "--cluster-name=", agent.cluster_name);
    }
  }
}

std::ptrdiff_t count_args(const Json& deployment, std::string_view begin) {
  std::ptrdiff_t count = 0;
  for (const Json& container : list_at(deployment, {"spec", "template", "spec", "containers"})) {
    const auto args = string_list_at(container, {"args"});
    count += std::count_if(args.begin(), args.end(), [begin](const std::string& arg) { return arg.starts_with(begin); });
  }
  return count;
}

/// Of the bootstrap, else of what the agent joined with.
std::optional<agent::Endpoint> known_endpoint(const Agent& agent) {
  for (const std::string& text : {agent.bootstrap, agent.stored.get(agent::kKubeconfigKey)}) {
    if (text.empty()) continue;
    if (auto endpoint = agent::endpoint_of(text)) return std::move(*endpoint);
  }
  return std::nullopt;
}

std::set<std::string> keys_of(const std::string& authorities) {
  std::set<std::string> keys;
  const auto parsed = pki::parse_certificates(authorities);
  if (!parsed) return keys;
  for (const pki::CertInfo& one : *parsed) keys.insert(one.spki_sha256 + format_time(one.not_after));
  return keys;
}

Step waiting(std::string what) {
  Step step;
  step.waits_for = std::move(what);
  return step;
}

/// Approves the request that belongs to what the cluster has stored, as long as it is what an agent of the cluster asks for.
Result<Step> approve(const kube::Client& hub, const agent::HubSecret& secret, const agent::Endpoint& endpoint, Instant now) {
  const std::string pem = secret.get(agent::kPendingRequestKey);
  const std::string name = agent::request_name(agent::agent_order(secret.identity(), endpoint, {}), pem);
  FLEETADM_TRY(auto request, hub.find(r::certificate_signing_requests(), "", name));
  if (!request) return waiting("the agent to send certificate request " + name);
  if (str(*request, {"spec", "request"}) != base64_encode(pem))
    return fail(Category::kConflict, "certificate request " + name + " on the hub is not the one of this cluster",
                "somebody else made it: look at it with kubectl describe csr " + name + ", and deny it");
  if (api::csr_decided(*request)) return waiting("certificate request " + name + " to be signed, and the agent to take it");
  FLEETADM_TRY(const hub::CsrIdentity identity, hub::csr_identity(*request));
  if (identity.cluster != secret.identity().cluster || identity.agent != secret.identity().agent)
    return fail(Category::kConflict, "certificate request " + name + " asks for another identity than the cluster's");
  api::add_approval(*request, kApproval, now);
  kube::WriteOptions write;
  write.subresource = "approval";
  const auto approved = hub.update(r::certificate_signing_requests(), *request, write);
  if (!approved && approved.error().category == Category::kConflict) return waiting("certificate request " + name);
  if (!approved) return tl::unexpected(approved.error().wrap("cannot approve certificate request " + name));
  Step step = waiting("certificate request " + name + " to be signed, and the agent to take it");
  step.approved = name;
  return step;
}

Status read_secrets(const kube::Client& home, Agent& agent) {
  FLEETADM_TRY(agent.stored, agent::HubSecretStore(home, agent.ns, agent.hub_secret).load());
  if (const std::string stored = agent.stored.get(agent::kClusterNameKey); !stored.empty()) agent.cluster_name = stored;
  FLEETADM_TRY(const auto bootstrap, home.find(r::secrets(), agent.ns, agent.bootstrap_secret));
  if (bootstrap) {
    FLEETADM_TRY(agent.bootstrap, base64_decode(str(*bootstrap, {"data", agent::kKubeconfigKey})));
  }
  return {};
}

}  // namespace

Result<Agent> read_agent(const kube::Client& spoke) {
  Agent agent;
  agent.ns = api::kAgentNamespace;
  agent.labels = {{std::string(install::kPartLabel), std::string(install::kAgentPart)}};
  agent.bootstrap_secret = api::kBootstrapSecret;
  agent.hub_secret = api::kHubKubeconfigSecret;
  FLEETADM_TRY(const auto deployment, spoke.find(r::deployments(), api::kAgentNamespace, api::kAgentDeployment));
  if (deployment) {
    agent.deployed = true;
    if (count_args(*deployment, "--bootstrap-secret=") > 1)
      return fail(Category::kConflict, "the agent has the bootstrap secrets of several hubs (--bootstrap-secret)",
                  "replace the kubeconfig in the Secret of this hub: the agent reads it again at once");
    if (count_args(*deployment, "--bootstrap-kubeconfig") > 0)
      return fail(Category::kConflict, "the agent reads its bootstrap kubeconfig from a file of its own (--bootstrap-kubeconfig)",
                  "replace that file: the agent reads it again within a minute");
    read_args(*deployment, agent);
  }
  FLEETADM_CHECK(read_secrets(spoke, agent));
  return agent;
}

Result<Agent> read_hosted_agent(const kube::Client& hosting, const std::string& ns, const join::HostedMember& member) {
  if (member.bootstrap_secrets.size() > 1)
    return fail(Category::kConflict,
                "the agent has the bootstrap secrets of several hubs (annotation of Secret " + member.secret + ")",
                "replace the kubeconfig in the Secret of this hub: the agent reads it again at once");
  Agent agent;
  agent.deployed = true;
  agent.ns = ns;
  agent.labels = {{std::string(install::kPartLabel), std::string(join::kHostingPart)},
                  {std::string(api::kHostedOfLabel), member.cluster}};
  agent.cluster_name = member.cluster;
  agent.hub_secret = api::hosted_credential_secret(member.cluster);
  agent.bootstrap_secret =
      member.bootstrap_secrets.empty() ? api::hosted_bootstrap_secret(member.cluster) : member.bootstrap_secrets.front();
  FLEETADM_CHECK(read_secrets(hosting, agent));
  if (agent.cluster_name != member.cluster)
    return fail(Category::kConflict, "Secret " + agent.hub_secret + " is of cluster \"" + agent.cluster_name + "\"");
  return agent;
}

agent::Endpoint next_endpoint(const Agent& agent, const std::string& server, const std::string& ca_pem) {
  agent::Endpoint next = known_endpoint(agent).value_or(agent::Endpoint{});
  if (next.entry.empty()) next.entry = kEntry;
  if (!server.empty()) next.server = server;
  // Another text of the same authorities is no reason to ask for another certificate.
  const std::set<std::string> before = keys_of(next.ca_pem);
  const std::set<std::string> now = keys_of(ca_pem);
  const bool proxied = !next.proxy_url.empty() && !ca_pem.empty();
  if (now == before || (proxied && std::includes(before.begin(), before.end(), now.begin(), now.end()))) return next;
  next.ca_pem = proxied ? ca_pem + (ca_pem.ends_with('\n') ? "" : "\n") + next.ca_pem : ca_pem;
  return next;
}

std::string bootstrap_kubeconfig(const agent::Endpoint& endpoint, const std::string& token) {
  Json kubeconfig = kube::make_kubeconfig(endpoint.server, endpoint.ca_pem, Json{{"token", token}}, endpoint.entry);
  Json& cluster = kubeconfig["clusters"][0]["cluster"];
  if (!endpoint.proxy_url.empty()) cluster["proxy-url"] = endpoint.proxy_url;
  if (!endpoint.tls_server_name.empty()) cluster["tls-server-name"] = endpoint.tls_server_name;
  return dump_yaml(kubeconfig);
}

Result<bool> write_bootstrap(const kube::Client& home, const Agent& agent, const std::string& kubeconfig) {
  FLEETADM_TRY(const auto before, home.find(r::secrets(), agent.ns, agent.bootstrap_secret));
  if (before) {
    FLEETADM_TRY([[maybe_unused]] const Json written,
                 home.modify(r::secrets(), agent.ns, agent.bootstrap_secret, [&](Json& secret) -> Status {
                   at_or_make(secret, {"data", agent::kKubeconfigKey}) = base64_encode(kubeconfig);
                   return {};
                 }));
    return false;
  }
  const Json secret{{"apiVersion", "v1"},
                    {"kind", "Secret"},
                    {"type", "Opaque"},
                    {"metadata", {{"name", agent.bootstrap_secret}, {"namespace", agent.ns}, {"labels", agent.labels}}},
                    {"data", {{agent::kKubeconfigKey, base64_encode(kubeconfig)}}}};
  FLEETADM_TRY([[maybe_unused]] const Json made, home.create(r::secrets(), agent.ns, secret));
  return true;
}

Result<std::vector<std::string>> works_unknown_to_hub(const kube::Client& spoke, const kube::Client& hub, const Agent& agent) {
  const auto endpoint = known_endpoint(agent);
  std::set<std::string> applied;
  const Status read = spoke.list_each(api::applied_manifest_works(), "", {}, [&](const Json& one) -> Status {
    // Those of another hub are that hub's affair.
    const bool of_this = !endpoint || str(one, {"spec", "hubHash"}) == work::hub_hash(endpoint->server);
    if (of_this && !is_deleting(one)) applied.insert(str(one, {"spec", "manifestWorkName"}, name_of(one)));
    return {};
  });
  if (!read && read.error().category == Category::kNotFound) return std::vector<std::string>{};
  if (!read) return tl::unexpected(read.error());
  if (applied.empty()) return std::vector<std::string>{};
  FLEETADM_CHECK(hub.list_each(api::manifest_works(), agent.cluster_name, {}, [&](const Json& one) -> Status {
    applied.erase(name_of(one));
    return {};
  }));
  return std::vector<std::string>(applied.begin(), applied.end());
}

Result<Step> advance(const kube::Client& home, const kube::Client& hub, const Agent& agent, const agent::Endpoint& endpoint,
                     const std::string& before, Instant now) {
  FLEETADM_TRY(const agent::HubSecret secret, agent::HubSecretStore(home, agent.ns, agent.hub_secret).load());
  const std::string certificate = secret.get(agent::kCertificateKey);
  // An agent whose certificate the hub still takes only takes over the hub's CA.
  const bool changed = certificate != before || secret.get(agent::kKubeconfigKey) != agent.stored.get(agent::kKubeconfigKey);
  if (changed && agent::why_unusable(secret, secret.identity(), endpoint, now).empty()) {
    Step step;
    step.done = true;
    step.issued = certificate != before;
    if (const auto parsed = pki::parse_certificates(certificate)) step.expires = parsed->front().not_after;
    return step;
  }
  if (secret.get(agent::kPendingRequestKey).empty()) return waiting("the agent to ask for a certificate");
  return approve(hub, secret, endpoint, now);
}

}  // namespace fleetadm::registration::rejoin
