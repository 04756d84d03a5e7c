#include "core/registration/join/preflight.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/registration/join/cluster_info.h"
#include "core/registration/join/hub_discovery.h"
#include "kubeclient/discovery/mapper.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::join {
namespace {

constexpr auto kLookTimeout = std::chrono::seconds(15);
constexpr auto kClockWarning = std::chrono::seconds(60);
constexpr auto kClockFailure = std::chrono::minutes(5);

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

/// What a hub without a proof that it is the right one answered.
Result<std::string> kubeconfig_shown(const HubLook& look, const HubEndpoint& endpoint) {
  if (look.status == 200) return signed_kubeconfig(look.body, endpoint.token);
  Error error;
  error.category = Category::kInvalid;
  error.message = "the hub answered GET cluster-info with " + std::to_string(look.status);
  if (look.status >= 300 && look.status < 400) {
    error.message += ", a redirect, which is not followed";
    error.hint = "give the address of the hub's API server itself";
  } else if (look.status == 401 || look.status == 403) {
    error.message += ": not everybody may read it";
    error.hint = "allow it on the hub (fleetadm token create --print-register-command), or join with fleetadm join --ca-file";
  } else if (look.status == 404) {
    error.message += ": it is not published";
    error.hint = "publish it on the hub: fleetadm token create --print-register-command";
  }
  return fail(std::move(error));
}

/// The CA of a cluster-info that nobody without the token has made. False: nothing further can be checked.
bool confirm_signed_ca(Run& run, const HubEndpoint& endpoint, const HubLook& look, std::string& kubeconfig, Preflight& result) {
  auto shown = kubeconfig_shown(look, endpoint);
  auto authorities = shown ? authorities_of(*shown) : Result<std::string>(tl::unexpected(shown.error()));
  if (!authorities) {
    run.failed("cluster-info", authorities.error());
    return false;
  }
  kubeconfig = std::move(*shown);
  run.passed("cluster-info", "signed with the token");
  result.hub.ca_data = with_pin(*authorities, endpoint.ca_pin);
  if (!result.hub.ca_data.empty()) return true;
  Error error;
  error.category = Category::kTls;
  error.message = "no CA in cluster-info has the pin " + endpoint.ca_pin;
  error.hint = "compare it with what fleetadm token create --print-register-command prints on the hub: this may be another hub";
  run.failed("CA pin", std::move(error));
  return false;
}

// The CA that the connection will trust; runs the DNS, TCP, CA pin and clock checks. False: nothing further can be checked.
bool confirm_ca(Run& run, const HubEndpoint& endpoint, const Clock& clock, std::string& kubeconfig, Preflight& result) {
  const std::string& proxy_ca = endpoint.proxy_ca_pem.empty() ? endpoint.ca_pem : endpoint.proxy_ca_pem;
  auto look = look_at_hub(endpoint.server, kClusterInfoPath, endpoint.proxy_url, proxy_ca, kLookTimeout);
  if (!look) {
    const std::string& reason = look.error().reason;
    if (reason == "ProxyFailed") {
      run.failed("proxy", look.error().with_hint("check --proxy-url and --proxy-ca-file"));
      return false;
    }
    const bool too_large = reason == "AnswerTooLong";
    const char* hop = reason == "DnsFailure" ? "DNS" : reason == "TlsFailure" ? "TLS" : too_large ? "cluster-info" : "TCP";
    if (reason != "DnsFailure") run.passed("DNS", "resolved");
    if (reason == "TlsFailure" || too_large) run.passed("TCP", "connected");
    const std::string address = endpoint.signed_info ? "HOST:PORT" : "--hub-apiserver";
    run.failed(hop, look.error().with_hint(too_large ? "something else than a hub may be answering there: check " + address
                                                     : "check " + address +
                                                           ", and that this machine can reach it (firewall, --proxy-url)"));
    return false;
  }
  run.passed("DNS", look->address);
  run.passed("TCP", look->address);
  check_clock(run, *look, clock);
  if (endpoint.signed_info) {
    if (!confirm_signed_ca(run, endpoint, *look, kubeconfig, result)) return false;
    run.passed("CA pin", endpoint.ca_pin);
  } else if (!endpoint.ca_pin.empty()) {
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
          endpoint.signed_info ? "the hub's certificate must be signed by the CA in cluster-info and name the host of HOST:PORT; "
                                 "something else may be answering there"
          : endpoint.ca_pem.empty() && endpoint.ca_pin.empty()
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

/// The same over a connection that the CA vouches for: what was signed long ago is not played back.
bool check_same_info(Run& run, const kube::Client& bare, const std::string& kubeconfig) {
  Error error;
  if (auto answer = bare.raw(look_at(std::string(kClusterInfoPath))); !answer) {
    error = answer.error().wrap("cluster-info cannot be read again");
  } else {
    const auto again = parse_json(answer->body);
    if (again && str(*again, {"data", "kubeconfig"}) == kubeconfig) return true;
    error.category = Category::kTls;
    error.message = "cluster-info differs when it is read over a verified connection";
    error.hint = "something between this machine and the hub alters or keeps it; if the hub has just been changed, run it again";
  }
  run.failed("cluster-info", std::move(error));
  return false;
}

bool check_token(Run& run, const kube::Client& hub, const HubEndpoint& endpoint) {
  const Json who{{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "SelfSubjectReview"}};
  auto identity = hub.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", who, true);
  if (!identity) {
    const bool rejected = identity.error().code == 401;
    Error error = identity.error().wrap(rejected ? "the hub rejected the token" : "the hub did not say whose the token is");
    if (rejected) {
      error.hint = std::string("tokens expire: get a new one with `fleetadm ") +
                   (endpoint.signed_info ? "token create --print-register-command" : "get token") + "` on the hub";
    }
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
  std::string kubeconfig;  // of the signed cluster-info
  if (!confirm_ca(run, endpoint, clock, kubeconfig, result)) {
    run.skipped({"TLS", "token", "hub", "RBAC", "version"});
    return result;
  }
  // TLS first, still without the token: the chain must end in the confirmed CA and the certificate must carry the host's name.
  if (!check_tls(run, client(), endpoint) || (endpoint.signed_info && !check_same_info(run, client(), kubeconfig))) {
    run.skipped({"token", "hub", "RBAC", "version"});
    return result;
  }
  result.hub.credentials = kube::static_credentials(
      {.client_certificate = {}, .client_key = {}, .token = endpoint.token, .username = {}, .password = {}});
  const auto hub = client();
  if (!check_token(run, hub, endpoint)) {
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
