// The credential of an agent on its hub, and the hub as this machine sees it.
#include "commands/doctor/checkup.h"
#include "core/registration/agent/hub_secret.h"
#include "core/registration/expiry/spoke_hops.h"
#include "core/registration/join/hub_discovery.h"
#include "core/registration/join/preflight.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::commands {
namespace {

namespace stored = registration::agent;
namespace expiry = registration::expiry;

constexpr auto kHubPatience = std::chrono::seconds(5);

void check_way_to_hub(Checkup& checkup, const stored::HubSecret& secret, const std::string& rejoin, const Clock& clock) {
  const auto endpoint = stored::endpoint_of(secret.get(stored::kKubeconfigKey));
  if (!endpoint) return checkup.fail("hub", endpoint.error().message, "give the agent a new bootstrap: " + rejoin);
  const auto look = join::look_at_hub(endpoint->server, "/version", endpoint->proxy_url, endpoint->ca_pem, kHubPatience);
  if (!look) {
    return checkup.warn("hub", "this machine cannot reach it: " + look.error().message,
                        "check the way from the cluster itself: fleetadm join --preflight-only");
  }
  const join::Check time = join::clock_check(look->date, clock);
  checkup.ok("hub", endpoint->server + " answers this machine, clocks " + time.detail);
  if (endpoint->ca_pem.empty()) return;
  expiry::Shown shown{endpoint->server, joined(look->chain, "\n"), {}};
  check_hop(checkup, "hub CA",
            expiry::stored_authority("", "hub CA", endpoint->ca_pem, shown, "give the agent the hub's CA of now: " + rejoin),
            clock);
}

}  // namespace

void check_hop(Checkup& checkup, std::string name, expiry::Hop hop, const Clock& clock) {
  expiry::judge(hop, {}, clock.now());
  std::string detail = hop.ends ? "valid until " + format_time(*hop.ends) : hop.detail;
  if (hop.ends && !hop.detail.empty()) detail += "; " + hop.detail;
  switch (hop.standing) {
    case expiry::Standing::kGood: return checkup.ok(std::move(name), detail);
    case expiry::Standing::kSoon:
      return checkup.warn(std::move(name), "valid until " + format_time(*hop.ends) + ", and was not renewed", hop.fix);
    case expiry::Standing::kEnded: return checkup.fail(std::move(name), "expired at " + format_time(*hop.ends), hop.fix);
    case expiry::Standing::kWrong: return checkup.fail(std::move(name), hop.detail, hop.fix);
    case expiry::Standing::kUnknown: return checkup.skip(std::move(name), hop.detail);
  }
}

void check_credential(Checkup& checkup, const kube::Client& client, const std::string& ns, const std::string& secret,
                      const std::string& rejoin, const Clock& clock) {
  const auto found = stored::HubSecretStore(client, ns, secret).load();
  if (!found) return checkup.unreadable("hub kubeconfig", found.error());
  if (found->get(stored::kKubeconfigKey).empty()) {
    return checkup.fail("hub kubeconfig", "the agent has none: the cluster has not been accepted yet",
                        "accept it on the hub: fleetadm accept NAME");
  }
  checkup.ok("hub kubeconfig", "for cluster " + found->get(stored::kClusterNameKey));
  expiry::Hop certificate = expiry::agent_certificate(*found, {});
  if (certificate.what == expiry::kAgentCertificate && !certificate.fix.empty())
    certificate.fix = "give the agent a new bootstrap: " + rejoin;
  check_hop(checkup, "certificate", std::move(certificate), clock);
  check_way_to_hub(checkup, *found, rejoin, clock);
}

}  // namespace fleetadm::commands
