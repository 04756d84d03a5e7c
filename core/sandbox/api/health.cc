#include "core/sandbox/api/health.h"

#include <algorithm>
#include <array>
#include <set>

#include "core/sandbox/model/negotiate.h"

namespace fleetadm::sandbox {
namespace {

/// What kube-apiserver 1.35 starts, in its order. Whoever is answered here has a server in which all of it has begun: clients and
/// probes ask for a check by its name.
constexpr std::array kStarted = {"start-apiserver-admission-initializer",
                                 "generic-apiserver-start-informers",
                                 "priority-and-fairness-config-consumer",
                                 "priority-and-fairness-filter",
                                 "storage-object-count-tracker-hook",
                                 "start-apiextensions-informers",
                                 "start-apiextensions-controllers",
                                 "crd-informer-synced",
                                 "start-system-namespaces-controller",
                                 "start-cluster-authentication-info-controller",
                                 "start-kube-apiserver-identity-lease-controller",
                                 "start-kube-apiserver-identity-lease-garbage-collector",
                                 "start-legacy-token-tracking-controller",
                                 "start-service-ip-repair-controllers",
                                 "rbac/bootstrap-roles",
                                 "scheduling/bootstrap-system-priority-classes",
                                 "priority-and-fairness-config-producer",
                                 "bootstrap-controller",
                                 "start-kubernetes-service-cidr-controller",
                                 "start-kube-aggregator-informers",
                                 "apiservice-status-local-available-controller",
                                 "apiservice-status-remote-available-controller",
                                 "apiservice-registration-controller",
                                 "apiservice-discovery-controller",
                                 "kube-apiserver-autoregistration",
                                 "autoregister-completion",  // a check of its own, no hook
                                 "apiservice-openapi-controller",
                                 "apiservice-openapiv3-controller"};

std::vector<std::string> checks_of(std::string_view endpoint) {
  std::vector<std::string> checks = {"ping", "log", "etcd"};
  if (endpoint == "readyz") checks.insert(checks.end(), {"etcd-readiness", "informer-sync"});
  for (const std::string_view name : kStarted)
    checks.push_back((name == "autoregister-completion" ? "" : "poststarthook/") + std::string(name));
  if (endpoint == "readyz") checks.emplace_back("shutdown");
  return checks;
}

std::string joined_after(const std::vector<std::string>& parts, std::size_t first) {
  std::string out;
  for (std::size_t i = first; i < parts.size(); ++i) out += (i == first ? "" : "/") + parts[i];
  return out;
}

}  // namespace

bool is_health_path(std::string_view first) { return first == "healthz" || first == "livez" || first == "readyz"; }

serve::HttpResponse answer_health(const std::vector<std::string>& parts, const serve::Query& query) {
  const auto& endpoint = parts.front();
  const auto checks = checks_of(endpoint);
  if (parts.size() > 1) {
    const bool known = std::find(checks.begin(), checks.end(), joined_after(parts, 1)) != checks.end();
    return known ? serve::answer_text(200, "ok") : serve::answer_text(404, "404 page not found\n");
  }
  if (!query.has("verbose")) return serve::answer_text(200, "ok");
  std::set<std::string> excluded;
  for (auto& name : query.all("exclude")) excluded.insert(std::move(name));
  std::string text;
  for (const auto& check : checks) text += "[+]" + check + (excluded.erase(check) > 0 ? " excluded: ok\n" : " ok\n");
  std::string unknown;
  for (const auto& name : excluded) unknown += (unknown.empty() ? "\"" : ", \"") + name + "\"";
  if (!unknown.empty()) text += "warn: some health checks cannot be excluded: no matches for " + unknown + "\n";
  return serve::answer_text(200, text + endpoint + " check passed\n");
}

}  // namespace fleetadm::sandbox
