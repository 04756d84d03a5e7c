// reject: a cluster that asks to join does not get a certificate, and is not accepted.
#include <algorithm>
#include <utility>

#include "commands/cluster/cluster.h"
#include "commands/cluster/denial.h"
#include "commands/framework/dry_run.h"
#include "commands/framework/write_report.h"
#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "core/registration/hub/requests.h"
#include "kubeclient/base/names.h"

namespace fleetadm::commands {
namespace {

namespace hub_rules = registration::hub;

struct RejectOptions {
  std::string csr;
  GuardOptions guard;
};

Status validate_reject(const RejectOptions& options, const std::vector<std::string>& args) {
  for (const std::string& name : args) {
    if (!is_dns_label(name)) return fail(Category::kUsage, "\"" + name + "\" is not a valid cluster name");
  }
  if (!options.csr.empty() && args.size() != 1) return fail(Category::kUsage, "--csr requires exactly one cluster");
  return {};
}

struct Rejected {
  std::string cluster;
  std::vector<Json> requests;  // undecided
};

Result<Rejected> undecided(const kube::Client& hub, const std::string& cluster, const std::string& csr) {
  FLEETADM_TRY(std::vector<Json> requests, hub_rules::agent_requests(hub, cluster));
  const auto named = std::find_if(requests.begin(), requests.end(), [&](const Json& one) { return name_of(one) == csr; });
  if (!csr.empty() && named == requests.end()) {
    return fail(Category::kNotFound, "cluster \"" + cluster + "\" has no certificate request \"" + csr + "\"",
                "list its requests: kubectl get csr -l " + std::string(api::kClusterNameLabel) + "=" + cluster);
  }
  if (!csr.empty() && controller::condition_is(*named, "Approved", "True")) {
    return fail(Category::kConflict, "the request " + csr + " was approved before",
                "take the cluster's access away instead: fleetadm cluster deny " + cluster);
  }
  std::erase_if(requests, [&](const Json& one) { return hub_rules::csr_decided(one) || (!csr.empty() && name_of(one) != csr); });
  return Rejected{cluster, std::move(requests)};
}

Status deny(Context& context, const kube::Client& hub, Json csr) {
  const std::string name = name_of(csr);
  controller::set_condition(at_or_make(csr, {"status", "conditions"}), "Denied", "True", "FleetadmReject",
                            "Denied by an administrator with fleetadm reject.", context.clock().now());
  kube::WriteOptions write;
  write.subresource = "approval";
  const auto& type = kube::resources::certificate_signing_requests();
  FLEETADM_TRY([[maybe_unused]] const Json updated, hub.update(type, csr, write));
  if (is_dry(context)) return {};
  FLEETADM_TRY(const auto stored, hub.find(type, "", name));
  if (stored && !controller::condition_is(*stored, "Denied", "True"))
    return fail(Category::kConflict, "the hub does not show the request " + name + " as denied");
  return {};
}

Json to_json(const hub_rules::RequestView& request) {
  return Json{{"request", request.name},
              {"requester", request.requester},
              {"commonName", request.common_name},
              {"agentId", request.agent},
              {"keyFingerprint", request.fingerprint}};
}

/// Denies the requests of one cluster; its entry of the report.
Json deny_requests(Context& context, const kube::Client& hub, const Rejected& rejected, Report& report) {
  Json requests = Json::array();
  for (const Json& csr : rejected.requests) {
    const auto view = hub_rules::view_request(csr, context.clock().now());
    if (const Status denied = deny(context, hub, csr); !denied) {
      report.failures.push_back(denied.error().with_cluster(rejected.cluster));
      continue;
    }
    report.lines.push_back("request of cluster " + rejected.cluster + " denied: " + hub_rules::request_sentence(view) +
                           dry_run_mark(context));
    report.names.push_back("certificatesigningrequest.certificates.k8s.io/" + view.name);
    requests.push_back(to_json(view));
  }
  return Json{{"cluster", rejected.cluster}, {"requests", std::move(requests)}};
}

/// Those of `args` that are on the hub, or have no request either: these are reported as missing.
Result<std::vector<std::string>> to_deny(const kube::Client& hub, const std::vector<Rejected>& all) {
  std::vector<std::string> names;
  for (const Rejected& one : all) {
    FLEETADM_TRY(const auto cluster, hub.find(api::managed_clusters(), "", one.cluster));
    if (cluster || one.requests.empty()) names.push_back(one.cluster);
  }
  return names;
}

Result<Report> run_reject(Context& context, const RejectOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const auto hub, context.client());
  std::vector<Rejected> all;
  for (const std::string& name : args) {
    FLEETADM_TRY(Rejected one, undecided(hub, name, options.csr));
    all.push_back(std::move(one));
  }
  Report report;
  // First the cluster: whoever approves requests meanwhile then approves one of a cluster that is not accepted.
  if (options.csr.empty()) {
    ClusterSelection selection;
    FLEETADM_TRY(selection.names, to_deny(hub, all));
    if (!selection.names.empty()) {
      FLEETADM_TRY(report, edit_clusters(context, selection, options.guard, denial(context.clock().now())));
    }
    if (options.guard.plan) {
      if (selection.names.empty()) report = plan_report("denying requests", {});
      return report;
    }
  }
  Json items = Json::array();
  bool any = false;
  for (const Rejected& one : all) {
    items.push_back(deny_requests(context, hub, one, report));
    any = any || !one.requests.empty();
  }
  if (any)
    report.notes.emplace_back(
        "The agent may ask again (fleetadm's waits an hour) until its token is revoked: fleetadm token list");
  report.data = Json{{"kind", "RejectReport"}, {"items", std::move(items)}};
  if (report.lines.empty() && report.failures.size() == 1) return fail(report.failures.front());
  if (report.lines.empty() && report.failures.empty()) report.notes.emplace_back("Nothing is left to deny.");
  return report;
}

}  // namespace

void register_reject(Registry& registry) {
  Command command;
  command.path = "reject";
  command.group = "Fleet";
  command.summary = "Reject clusters that have asked to join";
  command.description =
      "Denies each cluster's pending certificate requests, whoever made them, and leaves the cluster unaccepted. A cluster that was "
      "accepted before is denied as \"fleetadm cluster deny\" does it. With --csr only that request is denied: a "
      "cluster that has joined keeps its access.";
  command.description += kGuardText;
  command.args = {"NAME...", 1, -1, false, Complete::kClusters};
  command.examples = {{"Reject a cluster", "fleetadm reject c1"},
                      {"Deny one request of a cluster that has several", "fleetadm reject c1 --csr c1-4f8a2"}};
  command.make = invocation<RejectOptions>(
      [](FlagSet& flags, RejectOptions& options) {
        flags.text(&options.csr, "csr", "Deny only this certificate request, and do not change the cluster").value_name = "NAME";
        bind_guard(flags, options.guard);
      },
      validate_reject, run_reject);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
