#include "core/registration/expiry/spoke_hops.h"

#include <algorithm>

#include "core/api/kinds.h"
#include "core/registration/join/hosted_members.h"
#include "core/registration/join/hosted_sides.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/token_claims.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/pki/chain.h"

namespace fleetadm::registration::expiry {
namespace {

namespace r = kube::resources;

constexpr auto kAskingTimeout = std::chrono::seconds(10);
constexpr const char* kRejoin =
    "give the agent a new bootstrap: fleetadm rejoin --context CONTEXT_OF_THE_CLUSTER --hub-context HUB";

const Json* entry_of(const Json& document, std::string_view list, const std::string& name) {
  for (const Json& one : list_at(document, {list})) {
    if (str(one, {"name"}) == name) return &one;
  }
  return nullptr;
}

std::string decoded(const Json& user, std::string_view key) {
  return base64_decode(str(user, {"user", key})).value_or(std::string());
}

/// The text under "kubeconfig" of a Secret; empty where there is none.
Result<std::string> kubeconfig_of(const kube::Client& cluster, std::string_view ns, std::string_view secret) {
  FLEETADM_TRY(const auto found, cluster.find(r::secrets(), ns, secret));
  if (!found) return std::string();
  return base64_decode(str(*found, {"data", agent::kKubeconfigKey}));
}

/// What the hub at that address shows; where only the cluster reaches it, what it shows to its own kubeconfig.
Shown look_at_hub(const agent::Endpoint& endpoint, const HubView& hub) {
  Shown shown = look_at(endpoint.server, endpoint.proxy_url, endpoint.ca_pem);
  return shown.chain.empty() && !hub.server.empty() ? look_at(hub.server, hub.proxy_url, hub.authorities) : shown;
}

Hop hub_authority(const std::string& place, std::string what, const agent::Endpoint& endpoint, const Shown& shown) {
  if (endpoint.ca_pem.empty()) return unknown(place, std::move(what), "the roots of the agent's system are trusted");
  return stored_authority(place, std::move(what), endpoint.ca_pem, shown, kRejoin);
}

/// A hub that this machine does not reach, or that has another CA, cannot be asked.
bool can_be_asked(const agent::Endpoint& endpoint, const Shown& shown) {
  return shown.server == endpoint.server && pki::anchor_of(shown.chain, endpoint.ca_pem).has_value();
}

void add_agent(const std::string& name, const agent::HubSecret& secret, const HubView& hub, const std::stop_token& stop,
               std::vector<Hop>& hops) {
  Hop certificate = agent_certificate(secret, hub.client_authorities);
  certificate.place = name;
  if (secret.get(agent::kKubeconfigKey).empty()) return hops.push_back(std::move(certificate));
  const auto endpoint = agent::endpoint_of(secret.get(agent::kKubeconfigKey));
  if (!endpoint) {
    hops.push_back(std::move(certificate));
    return hops.push_back(wrong(name, kAuthorityOfAgent, endpoint.error().message, kRejoin));
  }
  const Shown shown = look_at_hub(*endpoint, hub);
  if (certificate.standing != Standing::kWrong && can_be_asked(*endpoint, shown)) {
    kube::Credentials credentials;
    credentials.client_certificate = secret.get(agent::kCertificateKey);
    credentials.client_key = secret.get(agent::kPrivateKeyKey);
    ask_hub(certificate, *endpoint, std::move(credentials), stop);
  }
  hops.push_back(std::move(certificate));
  hops.push_back(hub_authority(name, kAuthorityOfAgent, *endpoint, shown));
}

void add_bootstrap(const std::string& name, const AgentSecrets& secrets, const HubView& hub, const std::stop_token& stop,
                   std::vector<Hop>& hops) {
  const auto text = kubeconfig_of(secrets.cluster, secrets.ns, secrets.bootstrap);
  if (!text) return hops.push_back(unknown(name, "bootstrap credential", text.error().message));
  if (text->empty()) {
    return hops.push_back(
        unknown(name, "bootstrap credential", "there is none: an agent that loses its certificate cannot ask for another"));
  }
  const auto endpoint = agent::endpoint_of(*text);
  const auto credential = bootstrap_credential(*text);
  if (!endpoint || !credential) {
    const Error& error = endpoint ? credential.error() : endpoint.error();
    return hops.push_back(wrong(name, "bootstrap credential", error.message, kRejoin));
  }
  const Shown shown = look_at_hub(*endpoint, hub);
  hops.push_back(hub_authority(name, kAuthorityOfBootstrap, *endpoint, shown));
  Hop hop = bootstrap_hop(name, *credential, hub);
  if ((!credential->token.empty() || !credential->key.empty()) && can_be_asked(*endpoint, shown)) {
    kube::Credentials credentials;
    credentials.client_certificate = credential->certificate;
    credentials.client_key = credential->key;
    credentials.token = credential->token;
    ask_hub(hop, *endpoint, std::move(credentials), stop);
  }
  hops.push_back(std::move(hop));
}

}  // namespace

Hop agent_certificate(const agent::HubSecret& secret, std::string_view client_authorities) {
  const std::string place = secret.get(agent::kClusterNameKey);
  const std::string pem = secret.get(agent::kCertificateKey);
  if (pem.empty()) {
    return wrong(place, kAgentCertificate, "the agent has none yet",
                 "accept the cluster on the hub: fleetadm accept " + (place.empty() ? std::string("NAME") : place));
  }
  const auto parsed = pki::parse_certificates(pem);
  if (!parsed) return wrong(place, kAgentCertificate, parsed.error().message, kRejoin);
  Hop hop = hop_of(place, kAgentCertificate, parsed->front());
  hop.detail = parsed->front().subject.common_name;
  hop.fix = kRejoin;
  if (!pki::key_matches(pem, secret.get(agent::kPrivateKeyKey))) {
    hop.standing = Standing::kWrong;
    hop.detail = "it does not belong to the key beside it";
  } else if (!client_authorities.empty() && !pki::anchor_of(pem, client_authorities)) {
    hop.standing = Standing::kWrong;
    hop.detail = "the hub takes certificates of another CA now";
  }
  return hop;
}

Result<BootstrapCredential> bootstrap_credential(std::string_view kubeconfig) {
  FLEETADM_TRY(const Json document, parse_yaml(kubeconfig));
  const Json* context = entry_of(document, "contexts", str(document, {"current-context"}));
  const Json* user = context == nullptr ? nullptr : entry_of(document, "users", str(*context, {"context", "user"}));
  if (user == nullptr) return fail(Category::kInvalid, "the bootstrap kubeconfig names no user");
  return BootstrapCredential{str(*user, {"user", "token"}), decoded(*user, "client-certificate-data"),
                             decoded(*user, "client-key-data")};
}

Hop bootstrap_hop(const std::string& place, const BootstrapCredential& credential, const HubView& hub) {
  Hop hop;
  hop.fix = kRejoin;
  if (!credential.token.empty()) {
    hop.what = "bootstrap token";
    if (const auto claims = jwt_claims(credential.token)) {
      hop.ends = claims->expires;
    } else {
      const std::string id = credential.token.substr(0, credential.token.find('.'));
      const auto stored =
          std::find_if(hub.tokens.begin(), hub.tokens.end(), [&](const join::BootstrapToken& token) { return token.id == id; });
      if (stored != hub.tokens.end()) hop.ends = stored->expires;
    }
    hop.detail = hop.ends ? "needed only to join again" : "its end cannot be seen";
  } else if (const auto parsed = pki::parse_certificates(credential.certificate)) {
    hop = hop_of(place, "bootstrap certificate", parsed->front());
    hop.detail = "needed only to join again";
    hop.fix = kRejoin;
  } else {
    hop.what = "bootstrap credential";
    hop.detail = "neither a token nor a certificate";
  }
  hop.place = place;
  hop.counts = false;
  return hop;
}

void ask_hub(Hop& hop, const agent::Endpoint& endpoint, kube::Credentials credentials, std::stop_token stop) {
  kube::RestConfig config = agent::config_of(endpoint);
  config.credentials = kube::static_credentials(std::move(credentials));
  const auto hub = kube::Client::connect(config).with_timeout(kAskingTimeout).with_stop(std::move(stop));
  (void)ask_who(hub, hop, "the hub");
}

Status ask_who(const kube::Client& server, Hop& hop, const std::string& who) {
  const Json review{{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "SelfSubjectReview"}};
  const auto answer = server.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review, true);
  const std::string before = hop.detail.empty() ? "" : hop.detail + "; ";
  if (answer) {
    hop.detail = before + who + " takes it";
    if (hop.standing == Standing::kUnknown) hop.standing = Standing::kGood;
    return {};
  }
  if (answer.error().code != 401) return fail(answer.error());
  hop.detail = before + who + " does not take it";
  hop.standing = hop.counts ? Standing::kWrong : Standing::kEnded;
  if (!hop.counts) hop.ends.reset();
  return {};
}

std::vector<Hop> agent_hops(const AgentSecrets& secrets, const std::string& name, const HubView& hub, std::stop_token stop) {
  std::vector<Hop> hops;
  const auto secret = agent::HubSecretStore(secrets.cluster, secrets.ns, secrets.credential).load();
  if (secret) {
    add_agent(name, *secret, hub, stop, hops);
  } else {
    hops.push_back(unknown(name, kAgentCertificate, secret.error().message));
  }
  add_bootstrap(name, secrets, hub, stop, hops);
  for (Hop& hop : hops) {
    if (hop.fix == kRejoin) hop.fix = secrets.fix;
  }
  return hops;
}

std::vector<Hop> spoke_hops(const kube::Client& spoke, const kube::RestConfig& config, const Shown& shown, const HubView& hub,
                            std::stop_token stop) {
  const std::string ns(api::kAgentNamespace);
  if (const auto hosted = join::hosted_as(spoke); hosted && *hosted) {
    const std::string name = (*hosted)->cluster;
    std::vector<Hop> hops = server_hops(name, shown, config.ca_data);
    hops.push_back(unknown(name, kAgentCertificate, join::runs_elsewhere(**hosted, "fleetadm certs check")));
    return hops;
  }
  const auto secret = agent::HubSecretStore(spoke, ns, std::string(api::kHubKubeconfigSecret)).load();
  std::string name = secret ? secret->get(agent::kClusterNameKey) : std::string();
  if (name.empty()) name = "cluster";
  std::vector<Hop> hops = server_hops(name, shown, config.ca_data);
  const AgentSecrets secrets{spoke, ns, std::string(api::kBootstrapSecret), std::string(api::kHubKubeconfigSecret), kRejoin};
  for (Hop& hop : agent_hops(secrets, name, hub, stop)) hops.push_back(std::move(hop));
  return hops;
}

}  // namespace fleetadm::registration::expiry
