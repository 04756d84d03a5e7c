#include "core/sandbox/api/health.h"

#include <algorithm>
#include <set>

#include "core/sandbox/model/negotiate.h"

namespace fleetadm::sandbox {
namespace {

/// Of kube-apiserver's checks those that mean something here: who is answered has a server whose store is open.
std::vector<std::string> checks_of(std::string_view endpoint) {
  if (endpoint == "readyz") return {"ping", "log", "etcd", "etcd-readiness", "informer-sync", "shutdown"};
  return {"ping", "log", "etcd"};
}

}  // namespace

bool is_health_path(std::string_view first) { return first == "healthz" || first == "livez" || first == "readyz"; }

serve::HttpResponse answer_health(const std::vector<std::string>& parts, const serve::Query& query) {
  const auto& endpoint = parts.front();
  const auto checks = checks_of(endpoint);
  if (parts.size() > 1) {
    const bool known = parts.size() == 2 && std::find(checks.begin(), checks.end(), parts[1]) != checks.end();
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
