#include "core/registration/expiry/hub_hops.h"

#include <algorithm>

#include "core/api/gateway.h"
#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "core/registration/agent/certificate_keeper.h"
#include "core/registration/join/bootstrap_secret.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/pki/chain.h"

namespace fleetadm::registration::expiry {
namespace {

namespace r = kube::resources;

constexpr const char* kHub = "hub";
constexpr std::string_view kWebhookSecret = "fleetadm-hub-webhook";  // of core/addon/webhook

/// What cannot be read for want of rights, or is not there, is no fault.
Hop not_seen(std::string what, const Error& error) { return unknown(kHub, std::move(what), error.message); }

void add_client_authority(const kube::Client& hub, std::vector<Hop>& hops) {
  const std::string bundle = client_authorities(hub);
  const auto longest = pki::longest_lived(bundle);
  if (!longest) {
    hops.push_back(unknown(kHub, "client CA", "the hub does not show which CA it takes client certificates of"));
    return;
  }
  Hop hop = hop_of(kHub, "client CA", *longest);
  hop.detail = "takes certificates of " + longest->subject.common_name;
  hop.fix =
      "rotate the CA that the hub's API server and its signer use; agents that it no longer takes ask again: fleetadm rejoin";
  hops.push_back(std::move(hop));
}

/// Of a CA that the hub keeps and replaces by itself, in time.
void add_own_authority(const kube::Client& hub, std::string what, std::string_view secret, std::vector<Hop>& hops) {
  const auto found = hub.find(r::secrets(), api::kHubNamespace, secret);
  if (!found) return hops.push_back(not_seen(std::move(what), found.error()));
  if (!*found) return;  // not in use
  const auto pem = base64_decode(str(**found, {"data", "ca.crt"}));
  const auto parsed = pem ? pki::parse_certificates(*pem) : Result<std::vector<pki::CertInfo>>(tl::unexpected(pem.error()));
  const std::string fix = "the hub controllers replace it: see whether they run (fleetadm doctor)";
  if (!parsed) return hops.push_back(wrong(kHub, std::move(what), parsed.error().message, fix));
  Hop hop = hop_of(kHub, std::move(what), parsed->front());
  hop.detail = "secret " + kube::object_key(api::kHubNamespace, secret);
  hop.fix = fix;
  hops.push_back(std::move(hop));
}

void add_tokens(const kube::Client& hub, Instant now, std::vector<Hop>& hops) {
  const auto tokens = join::bootstrap_tokens(hub);
  if (!tokens) return hops.push_back(not_seen("bootstrap tokens", tokens.error()));
  for (const join::BootstrapToken& token : *tokens) {
    const bool joins = std::find(token.groups.begin(), token.groups.end(), join::kJoiningGroup) != token.groups.end();
    if (!joins) continue;
    Hop hop;
    hop.place = kHub;
    hop.what = "bootstrap token " + token.id;
    hop.standing = Standing::kGood;
    hop.ends = token.expires;
    hop.counts = false;
    hop.detail = token.description.empty() ? "clusters can join with it until then" : token.description;
    if (!token.expires) hop.detail += "; it never expires";
    if (token.expires && *token.expires <= now) hop.detail += "; clusters that have joined do not need it";
    hops.push_back(std::move(hop));
  }
}

std::optional<pki::CertInfo> last_signed(const std::vector<Json>& requests) {
  std::optional<pki::CertInfo> last;
  for (const Json& request : requests) {
    if (!label_of(request, api::kAddonNameLabel).empty()) continue;
    const auto pem = base64_decode(str(request, {"status", "certificate"}));
    const auto parsed = pem ? pki::parse_certificates(*pem) : Result<std::vector<pki::CertInfo>>(tl::unexpected(pem.error()));
    if (parsed && (!last || parsed->front().not_after > last->not_after)) last = parsed->front();
  }
  return last;
}

Hop agent_certificate_seen(const Json& cluster, const std::vector<Json>& requests) {
  const std::string name = name_of(cluster);
  Hop hop = unknown(name, kAgentCertificate, "the hub has not seen one lately; with the cluster's own --context it can be read");
  hop.fix =
      "see why the agent does not renew it: fleetadm doctor --context CONTEXT_OF_THE_CLUSTER; or give it a new bootstrap: "
      "fleetadm rejoin --context CONTEXT_OF_THE_CLUSTER --hub-context HUB";
  if (const Json* rotated = controller::find_condition(cluster, agent::kCertificateRotated)) {
    const std::string message = str(*rotated, {"message"});
    if (str(*rotated, {"status"}) == "False") hop.detail = "its renewal failed: " + message;
    if (const auto validity = rotation_of(message)) {
      hop.begins = validity->begins;
      hop.ends = validity->ends;
      hop.detail = "as the agent reported its last rotation";
    }
  }
  if (const auto last = last_signed(requests); last && (!hop.ends || last->not_after > *hop.ends)) {
    hop.begins = last->not_before;
    hop.ends = last->not_after;
    hop.detail = "as the hub signed it last";
  }
  return hop;
}

}  // namespace

std::optional<Validity> rotation_of(const std::string& message) {
  constexpr std::string_view kFrom = "starting from ";
  constexpr std::string_view kTo = " to ";
  // "2026-11-21 18:14:19", followed by " +0000 UTC".
  const auto read = [&](std::size_t at) -> std::optional<Instant> {
    std::string text = message.substr(std::min(at, message.size()), 19);
    if (text.size() != 19 || message.compare(at + 19, 10, " +0000 UTC") != 0) return std::nullopt;
    text[10] = 'T';
    return parse_time(text + "Z");
  };
  const auto from = message.find(kFrom);
  if (from == std::string::npos) return std::nullopt;
  const auto to = message.find(kTo, from + kFrom.size());
  if (to == std::string::npos) return std::nullopt;
  const auto begins = read(from + kFrom.size());
  const auto ends = read(to + kTo.size());
  if (!begins || !ends) return std::nullopt;
  return Validity{*begins, *ends};
}

std::string client_authorities(const kube::Client& hub) {
  const auto found = hub.find(r::config_maps(), "kube-system", "extension-apiserver-authentication");
  return found && *found ? str(**found, {"data", "client-ca-file"}) : std::string();
}

std::vector<Hop> hub_hops(const kube::Client& hub, const kube::RestConfig& config, const Shown& shown, Instant now) {
  std::vector<Hop> hops = server_hops(kHub, shown, config.ca_data);
  add_client_authority(hub, hops);
  add_own_authority(hub, "gateway CA", api::kGatewayAuthoritySecret, hops);
  add_own_authority(hub, "webhook CA", kWebhookSecret, hops);
  add_tokens(hub, now, hops);
  return hops;
}

std::vector<Hop> own_hops(const kube::Client& hub, const kube::RestConfig& config, const Shown& shown) {
  std::vector<Hop> hops = server_hops(kHub, shown, config.ca_data);
  add_own_authority(hub, "webhook CA", kWebhookSecret, hops);
  return hops;
}

std::vector<Hop> member_hops(const Json& cluster, const std::vector<Json>& requests) {
  std::vector<Hop> hops;
  hops.push_back(agent_certificate_seen(cluster, requests));
  for (const Json& config : list_at(cluster, {"spec", "managedClusterClientConfigs"})) {
    const auto pem = base64_decode(str(config, {"caBundle"}));
    if (!pem || pem->empty()) continue;
    const auto longest = pki::longest_lived(*pem);
    const std::string fix = "the agent tells the hub its cluster's CA when it joins: fleetadm rejoin";
    if (!longest) {
      hops.push_back(wrong(name_of(cluster), "server CA", "what the cluster told the hub cannot be read", fix));
      continue;
    }
    Hop hop = hop_of(name_of(cluster), "server CA", *longest);
    hop.detail = "as the cluster told the hub, for " + str(config, {"url"});
    hop.fix = fix;
    hops.push_back(std::move(hop));
  }
  return hops;
}

}  // namespace fleetadm::registration::expiry
