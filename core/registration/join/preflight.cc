#include "core/registration/join/preflight.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/registration/join/hub_discovery.h"
#include "kubeclient/discovery/mapper.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::join {
namespace {

constexpr auto kLookTimeout = std::chrono::seconds(15);
constexpr auto kClockWarning = std::chrono::seconds(60);
constexpr auto kClockFailure = std::chrono::minutes(5);
constexpr std::string_view kClusterInfo = "/api/v1/namespaces/kube-public/configmaps/cluster-info";

class Run {
 public:
  explicit Run(Preflight& into) : into_(into) {}
  void passed(std::string name, std::string detail) {
    into_.checks.push_back({std::move(name), Outcome::kPassed, std::move(detail)});
  }
  void warning(std::string name, std::string detail) {
    into_.checks.push_back({std::move(name), Outcome::kWarning, std::move(detail)});
  }
  void failed(std::string name, Error error) {
    into_.checks.push_back({std::move(name), Outcome::kFailed, error.message});
    if (!into_.error) into_.error = std::move(error);
  }
  void skipped(std::initializer_list<const char*> names) {
    for (const char* name : names) into_.checks.push_back({name, Outcome::kSkipped, "needs the check before it"});
  }

 private:
  Preflight& into_;
};

struct Right {
  const char* group;
  const char* resource;
  const char* verb;
};
// What the bootstrap identity needs on a hub (docs/reference/registration.md#joining; list and watch of clusters are not
// needed).
constexpr std::array<Right, 6> kRights{{{"cluster.open-cluster-management.io", "managedclusters", "get"},
                                        {"cluster.open-cluster-management.io", "managedclusters", "create"},
                                        {"certificates.k8s.io", "certificatesigningrequests", "create"},
                                        {"certificates.k8s.io", "certificatesigningrequests", "get"},
                                        {"certificates.k8s.io", "certificatesigningrequests", "list"},
                                        {"certificates.k8s.io", "certificatesigningrequests", "watch"}}};

void check_clock(Run& run, const HubLook& look, const Clock& clock) {
  const Check check = clock_check(look.date, clock);
  if (check.outcome == Outcome::kPassed) return run.passed(check.name, check.detail);
  if (check.outcome != Outcome::kFailed) return run.warning(check.name, check.detail);
  Error error;
  error.category = Category::kInvalid;
  error.message = "the clocks of this machine and of the hub are " + check.detail;
  error.hint = "set the clocks right (NTP): certificates and leases depend on them";
  run.failed(check.name, std::move(error));
}

Status check_rights(const kube::Client& hub) {
  std::string missing;
  for (const Right& right : kRights) {
    const Json review{
        {"apiVersion", "authorization.k8s.io/v1"},
        {"kind", "SelfSubjectAccessReview"},
        {"spec", {{"resourceAttributes", {{"group", right.group}, {"resource", right.resource}, {"verb", right.verb}}}}}};
    FLEETADM_TRY(const Json answer, hub.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review, true));
    if (flag(answer, {"status", "allowed"})) continue;
    missing += (missing.empty() ? "" : ", ") + std::string(right.verb) + " " + right.resource;
  }
  if (missing.empty()) return {};
  return fail(Category::kAuth, "the token's identity may not " + missing + " on the hub",
              "use a token of `fleetadm get token` on the hub, or run `fleetadm init` there again to restore the bootstrap role");
}

// The CA that the connection will trust; runs the DNS, TCP, CA pin and clock checks. False: nothing further can be checked.
bool confirm_ca(Run& run, const HubEndpoint& endpoint, const Clock& clock, Preflight& result) {
  const std::string& proxy_ca = endpoint.proxy_ca_pem.empty() ? endpoint.ca_pem : endpoint.proxy_ca_pem;
  auto look = look_at_hub(endpoint.server, kClusterInfo, endpoint.proxy_url, proxy_ca, kLookTimeout);
  if (!look) {
    const std::string& reason = look.error().reason;
    if (reason == "ProxyFailed") {
      run.failed("proxy", look.error().with_hint("check --proxy-url and --proxy-ca-file"));
      return false;
    }
    const char* hop = reason == "DnsFailure" ? "DNS" : reason == "TlsFailure" ? "TLS" : "TCP";
    if (reason != "DnsFailure") run.passed("DNS", "resolved");
    if (reason == "TlsFailure") run.passed("TCP", "connected");
    run.failed(hop, look.error().with_hint("check --hub-apiserver, and that this machine can reach it (firewall, --proxy-url)"));
    return false;
  }
  run.passed("DNS", look->address);
  run.passed("TCP", look->address);
  check_clock(run, *look, clock);
  if (!endpoint.ca_pin.empty()) {
    const bool from_file = !endpoint.ca_pem.empty();
    HubLook source = *look;
    if (from_file) source.chain = {endpoint.ca_pem};
    auto ca = pinned_ca(source, endpoint.ca_pin);
    if (!ca) {
      run.failed("CA pin", ca.error());
      return false;
    }
    result.hub.ca_data = *ca;
    run.passed("CA pin", endpoint.ca_pin);
  } else {
    result.hub.ca_data = endpoint.ca_pem;
    run.warning("CA pin", endpoint.ca_pem.empty() ? "not given: the system's roots are trusted"
                                                  : "not given: the CA of --ca-file is trusted");
  }
  if (!result.hub.ca_data.empty() && !endpoint.proxy_ca_pem.empty()) {
    if (result.hub.ca_data.back() != '\n') result.hub.ca_data += '\n';
    result.hub.ca_data += endpoint.proxy_ca_pem;
  }
  return true;
}

kube::Request look_at(std::string path) {
  kube::Request request;
  request.path = std::move(path);
  request.timeout = kLookTimeout;
  return request;
}

bool check_tls(Run& run, const kube::Client& bare, const HubEndpoint& endpoint) {
  if (auto answer = bare.raw(look_at("/version")); !answer && answer.error().code == 0) {
    Error error = answer.error();
    if (error.category == Category::kTls) {
      error.hint =
          endpoint.ca_pem.empty() && endpoint.ca_pin.empty()
              ? "this system does not trust the hub's CA: pass --ca-cert-hash as `fleetadm get token` prints it on the hub"
              : "the hub's certificate must be signed by the CA of --ca-cert-hash or --ca-file and name the host of "
                "--hub-apiserver; something else may be answering there";
    }
    run.failed("TLS", std::move(error));
    return false;
  }
  run.passed("TLS", "the chain ends in the hub's CA and names the host");
  return true;
}

bool check_token(Run& run, const kube::Client& hub) {
  const Json who{{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "SelfSubjectReview"}};
  auto identity = hub.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", who, true);
  if (!identity) {
    const bool rejected = identity.error().code == 401;
    Error error = identity.error().wrap(rejected ? "the hub rejected the token" : "the hub did not say whose the token is");
    if (rejected) error.hint = "tokens expire: get a new one with `fleetadm get token` on the hub";
    run.failed("token", std::move(error));
    return false;
  }
  run.passed("token", str(*identity, {"status", "userInfo", "username"}));
  return true;
}

bool check_kinds(Run& run, const kube::Client& hub, const HubEndpoint& endpoint) {
  if (auto group = hub.raw(look_at("/apis/cluster.open-cluster-management.io/v1")); !group) {
    Error error = group.error();
    if (error.code == 404) {
      error.category = Category::kInvalid;
      error.message = endpoint.server + " is no hub: it does not serve cluster.open-cluster-management.io/v1";
      error.hint = "run `fleetadm init` on it first, or correct --hub-apiserver";
    }
    run.failed("hub", std::move(error));
    return false;
  }
  run.passed("hub", "serves cluster.open-cluster-management.io/v1");
  return true;
}

}  // namespace

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed: return "ok";
    case Outcome::kWarning: return "warning";
    case Outcome::kFailed: return "failed";
    case Outcome::kSkipped: return "skipped";
  }
  return "";
}

Check clock_check(const std::optional<Instant>& date, const Clock& clock) {
  if (!date) return {"clock", Outcome::kWarning, "the server sends no time"};
  const auto now = clock.now();
  const Instant at = std::max(*date, Instant());  // an earlier one is wrong enough, and its distance need not fit
  const auto apart = now > at ? now - at : at - now;
  const Outcome outcome = apart > kClockFailure ? Outcome::kFailed : apart > kClockWarning ? Outcome::kWarning : Outcome::kPassed;
  return {"clock", outcome, format_duration(std::chrono::duration_cast<std::chrono::seconds>(apart)) + " apart"};
}

Preflight check_hub(const HubEndpoint& endpoint, const Clock& clock, std::stop_token stop) {
  Preflight result;
  Run run(result);
  result.hub.server = endpoint.server;
  result.hub.proxy_url = endpoint.proxy_url;
  result.hub.name = "hub";
  const auto client = [&] { return kube::Client::connect(result.hub).with_timeout(kLookTimeout).with_stop(stop); };
  if (!confirm_ca(run, endpoint, clock, result)) {
    run.skipped({"TLS", "token", "hub", "RBAC", "version"});
    return result;
  }
  // TLS first, still without the token: the chain must end in the confirmed CA and the certificate must carry the host's name.
  if (!check_tls(run, client(), endpoint)) {
    run.skipped({"token", "hub", "RBAC", "version"});
    return result;
  }
  result.hub.credentials = kube::static_credentials(
      {.client_certificate = {}, .client_key = {}, .token = endpoint.token, .username = {}, .password = {}});
  const auto hub = client();
  if (!check_token(run, hub)) {
    run.skipped({"hub", "RBAC", "version"});
    return result;
  }
  if (!check_kinds(run, hub, endpoint)) {
    run.skipped({"RBAC", "version"});
    return result;
  }
  if (Status rights = check_rights(hub); !rights) {
    run.failed("RBAC", rights.error());
  } else {
    run.passed("RBAC", "the token may register a cluster");
  }
  if (auto version = kube::server_version(hub); !version) {
    run.failed("version", version.error());
  } else {
    run.passed("version", version->git_version);
  }
  return result;
}

}  // namespace fleetadm::join
