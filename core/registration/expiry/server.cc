#include "core/registration/expiry/server.h"

#include "core/registration/join/hub_discovery.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/pki/chain.h"

namespace fleetadm::registration::expiry {
namespace {

constexpr auto kLookTimeout = std::chrono::seconds(10);
constexpr const char* kRenewServer = "renew the API server's certificate (with kubeadm: kubeadm certs renew apiserver)";
constexpr const char* kRotateAuthority =
    "rotate the cluster's CA; while both are valid give the new one to kubeconfigs, and to agents with: fleetadm rejoin";

}  // namespace

Shown look_at(const std::string& server, const std::string& proxy_url, const std::string& authorities) {
  Shown shown;
  shown.server = server;
  if (!server.starts_with("https://")) {
    shown.why_not = "its address is no https URL";
    return shown;
  }
  const auto look = join::look_at_hub(server, "/version", proxy_url, authorities, kLookTimeout);
  if (!look) {
    shown.why_not = look.error().message;
    return shown;
  }
  for (const std::string& certificate : look->chain) shown.chain += certificate + "\n";
  if (shown.chain.empty()) shown.why_not = server + " showed no certificate";
  return shown;
}

std::vector<Hop> server_hops(const std::string& place, const Shown& shown, std::string_view authorities) {
  std::vector<Hop> hops;
  const auto parsed = pki::parse_certificates(shown.chain);
  if (!parsed) {
    hops.push_back(unknown(place, "server certificate", shown.why_not.empty() ? parsed.error().message : shown.why_not));
  } else {
    Hop hop = hop_of(place, "server certificate", parsed->front());
    hop.detail = shown.server;
    hop.fix = kRenewServer;
    hops.push_back(std::move(hop));
  }
  if (authorities.empty()) {
    hops.push_back(unknown(place, "server CA", "the system's roots are trusted"));
  } else {
    hops.push_back(stored_authority(place, "server CA", authorities, shown, kRotateAuthority));
    if (hops.back().standing == Standing::kWrong) hops.back().fix = "take the server's CA of now into the kubeconfig";
  }
  return hops;
}

Hop stored_authority(std::string place, std::string what, std::string_view stored, const Shown& shown, std::string fix) {
  const auto longest = pki::longest_lived(stored);
  if (!longest) return wrong(std::move(place), std::move(what), "it has no certificate that can be read", std::move(fix));
  if (shown.chain.empty()) {
    Hop hop = hop_of(std::move(place), std::move(what), *longest);
    hop.detail = "not compared with the server: " + shown.why_not;
    hop.fix = std::move(fix);
    return hop;
  }
  const auto anchor = pki::anchor_of(shown.chain, stored);
  if (!anchor) {
    Hop hop =
        wrong(std::move(place), std::move(what),
              shown.server + " shows a certificate that it does not vouch for: the server has another CA now", std::move(fix));
    hop.begins = longest->not_before;
    hop.ends = longest->not_after;
    return hop;
  }
  Hop hop = hop_of(std::move(place), std::move(what), *anchor);
  hop.detail = "vouches for " + shown.server;
  hop.fix = std::move(fix);
  return hop;
}

}  // namespace fleetadm::registration::expiry
