#include "commands/doctor/checkup.h"

#include <algorithm>
#include <set>

#include "core/api/kinds.h"
#include "core/install/pod_trouble.h"
#include "core/install/supported.h"
#include "core/registration/join/hub_discovery.h"
#include "core/registration/join/preflight.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/plural.h"
#include "kubeclient/discovery/mapper.h"
#include "templates/templates.h"

namespace fleetadm::commands {
namespace {

namespace r = kube::resources;

void check_version(Checkup& checkup, const kube::Client& client) {
  const auto version = kube::server_version(client);
  if (!version) return checkup.unreadable("version", version.error());
  const std::string text = version->git_version + " (supported: " + install::supported_range() + ")";
  switch (install::support_of(*version)) {
    case install::Support::kSupported: return checkup.ok("version", text);
    case install::Support::kTooOld: return checkup.fail("version", text, "upgrade Kubernetes on this cluster");
    case install::Support::kNewerThanTested:
      return checkup.warn("version", text, "use a newer fleetadm if there is one; this version was not tested");
    case install::Support::kUnknown: return checkup.warn("version", text, "check that this is a Kubernetes API server");
  }
}

std::set<std::string> served_versions(const Json& crd) {
  std::set<std::string> versions;
  for (const Json& version : list_at(crd, {"spec", "versions"})) {
    if (flag(version, {"served"})) versions.insert(str(version, {"name"}));
  }
  return versions;
}

bool is_established(const Json& crd) {
  const Json& conditions = list_at(crd, {"status", "conditions"});
  return std::any_of(conditions.begin(), conditions.end(), [](const Json& condition) {
    return str(condition, {"type"}) == "Established" && str(condition, {"status"}) == "True";
  });
}

/// "" where the installed CRD is as good as ours.
std::string wrong_with(const Json& ours, const std::optional<Json>& installed) {
  if (!installed) return "is missing";
  if (!is_established(*installed)) return "is not established";
  const std::set<std::string> served = served_versions(*installed);
  for (const std::string& version : served_versions(ours)) {
    if (!served.count(version)) return "does not serve " + version;
  }
  return {};
}

std::string permission_text(const Permission& permission) {
  std::string text = std::string(permission.verb) + " " + std::string(permission.resource);
  if (!permission.subresource.empty()) text += "/" + std::string(permission.subresource);
  return text;
}

}  // namespace

std::string_view to_string(Finding finding) {
  switch (finding) {
    case Finding::kOk: return "ok";
    case Finding::kWarn: return "warn";
    case Finding::kFail: return "fail";
    case Finding::kSkip: return "skip";
  }
  return "";
}

void Checkup::unreadable(std::string name, const Error& error) {
  if (error.code == 403) return skip(std::move(name), "not permitted: " + error.message);
  fail(std::move(name), error.message, error.hint.empty() ? "run the command again" : error.hint);
}

bool Checkup::failed() const {
  return std::any_of(checks_.begin(), checks_.end(), [](const DoctorCheck& check) { return check.finding == Finding::kFail; });
}

bool check_server(Checkup& checkup, const kube::Client& client, const Clock& clock) {
  kube::Request request;
  request.path = "/version";
  const auto answer = client.raw(request);
  if (!answer) {
    checkup.fail("server", answer.error().message,
                 answer.error().hint.empty() ? "check that the server is running and that its address in the kubeconfig is right"
                                             : answer.error().hint);
    return false;
  }
  checkup.ok("server", client.transport()->address() + " answers");
  check_version(checkup, client);
  const auto date = answer->headers.find("date");
  const join::Check time =
      join::clock_check(date == answer->headers.end() ? std::nullopt : join::parse_http_date(date->second), clock);
  const std::string fix = "synchronize the clocks (NTP): certificates and leases depend on them";
  switch (time.outcome) {
    case join::Outcome::kPassed: checkup.ok("clock", time.detail); break;
    case join::Outcome::kWarning: checkup.warn("clock", time.detail, fix); break;
    case join::Outcome::kFailed: checkup.fail("clock", time.detail, fix); break;
    case join::Outcome::kSkipped: checkup.skip("clock", time.detail); break;
  }
  return true;
}

void check_permissions(Checkup& checkup, const kube::Client& client, const std::vector<Permission>& permissions, bool needed) {
  std::vector<std::string> missing;
  for (const Permission& permission : permissions) {
    Json attributes{{"verb", permission.verb}, {"group", permission.group}, {"resource", permission.resource}};
    if (!permission.subresource.empty()) attributes["subresource"] = permission.subresource;
    if (!permission.name.empty()) attributes["name"] = permission.name;
    const Json review{{"apiVersion", "authorization.k8s.io/v1"},
                      {"kind", "SelfSubjectAccessReview"},
                      {"spec", {{"resourceAttributes", std::move(attributes)}}}};
    const auto answer = client.post(r::self_subject_access_reviews().path(""), review, true);
    if (!answer) return checkup.unreadable("permissions", answer.error());
    if (!flag(*answer, {"status", "allowed"})) missing.push_back(permission_text(permission));
  }
  if (missing.empty()) return checkup.ok("permissions", pluralize(permissions.size(), "permission") + " granted");
  const std::string detail = "missing: " + joined(missing, ", ");
  const std::string fix = "ask an administrator, or use a context of one";
  if (needed) return checkup.fail("permissions", detail, fix);
  checkup.warn("permissions", detail, fix);
}

void check_crds(Checkup& checkup, const kube::Client& client, std::string_view folder, std::string_view fix) {
  std::vector<std::string> wrong;
  std::size_t count = 0;
  for (const std::string_view file : templates::list(folder)) {
    const auto rendered = templates::render(file, {});
    if (!rendered) return checkup.unreadable("CRDs", rendered.error());
    for (const Json& ours : *rendered) {
      const auto installed = client.find(r::custom_resource_definitions(), "", name_of(ours));
      if (!installed) return checkup.unreadable("CRDs", installed.error());
      ++count;
      if (const std::string what = wrong_with(ours, *installed); !what.empty()) wrong.push_back(name_of(ours) + " " + what);
    }
  }
  if (wrong.empty()) return checkup.ok("CRDs", pluralize(count, "CRD") + " installed");
  checkup.fail("CRDs", joined(wrong, ", "), std::string(fix));
}

bool check_deployment(Checkup& checkup, const kube::Client& client, std::string_view name, std::string_view ns,
                      std::string_view deployment) {
  const auto found = client.find(r::deployments(), ns, deployment);
  if (!found) {
    checkup.unreadable(std::string(name), found.error());
    return true;
  }
  if (!*found) return false;
  const auto wanted = num(**found, {"spec", "replicas"}, 1);
  const auto available = num(**found, {"status", "availableReplicas"});
  std::string detail = std::to_string(available) + " of " +
                       pluralize(static_cast<std::uint64_t>(std::max<std::int64_t>(wanted, 0)), "replica") + " available";
  for (const install::PodTrouble& trouble : install::read_pod_troubles(client, ns, deployment)) detail += "; " + trouble.text();
  if (available >= wanted && wanted > 0) {
    checkup.ok(std::string(name), detail);
  } else {
    const std::string fix = "see its pods: kubectl -n " + std::string(ns) + " describe pods -l app=" + std::string(deployment);
    available > 0 ? checkup.warn(std::string(name), detail, fix) : checkup.fail(std::string(name), detail, fix);
  }
  return true;
}

void check_lease(Checkup& checkup, const kube::Client& client, const Clock& clock, std::string_view ns, std::string_view lease,
                 bool needed, std::string_view fix) {
  const auto found = client.find(r::leases(), ns, lease);
  if (!found) return checkup.unreadable("leader", found.error());
  if (!*found || str(**found, {"spec", "holderIdentity"}).empty()) {
    if (needed) return checkup.fail("leader", "nobody holds the lease " + kube::object_key(ns, lease), std::string(fix));
    return checkup.skip("leader", "nobody holds the lease: without leader election, or not running");
  }
  const auto renewed = parse_time(str(**found, {"spec", "renewTime"}));
  if (!renewed) return checkup.fail("leader", "the lease " + kube::object_key(ns, lease) + " has no time", std::string(fix));
  const auto now = clock.now();
  const Duration age = now > *renewed ? Duration(now - *renewed) : Duration::zero();
  const std::string detail = str(**found, {"spec", "holderIdentity"}) + ", renewed " +
                             format_duration(std::chrono::duration_cast<std::chrono::seconds>(age)) + " ago";
  // The leader renews several times within the lease's duration; one missed round is no failure.
  const Duration stale = 2 * std::chrono::seconds(std::max<std::int64_t>(num(**found, {"spec", "leaseDurationSeconds"}), 1));
  if (age > stale) return checkup.fail("leader", detail, std::string(fix));
  checkup.ok("leader", detail);
}

}  // namespace fleetadm::commands
