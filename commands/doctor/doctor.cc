#include "commands/doctor/doctor.h"

#include "commands/doctor/bundle.h"
#include "commands/doctor/checkup.h"
#include "commands/framework/files.h"
#include "core/registration/join/roles.h"
#include "kubeclient/base/plural.h"

namespace fleetadm::commands {
namespace {

struct DoctorOptions {
  bool before = false;
  std::string bundle;
};

Report doctor_report(const Checkup& checkup, const std::string& role) {
  Report report;
  report.data = Json{{"kind", "DoctorReport"}, {"role", role}, {"healthy", !checkup.failed()}, {"checks", Json::array()}};
  report.table = Table{{{"#"}, {"CHECK"}, {"RESULT"}, {"DETAIL"}}, {}, ""};
  int number = 0;
  for (const DoctorCheck& check : checkup.checks()) {
    const std::string finding(to_string(check.finding));
    Json entry{{"number", ++number}, {"check", check.name}, {"result", finding}, {"detail", check.detail}};
    if (!check.fix.empty()) {
      entry["fix"] = check.fix;
      report.notes.push_back(std::to_string(number) + ". " + check.name + ": " + check.fix);
    }
    report.data["checks"].push_back(std::move(entry));
    report.table->rows.push_back({std::to_string(number), check.name, finding, check.detail});
  }
  report.exit_code = checkup.failed() ? 1 : 0;
  return report;
}

/// What the cluster turned out to be.
struct Role {
  bool hub = false;
  bool joined = false;
};

Report checked_report(Context& context, const DoctorOptions& options, const kube::Client& client, Role& found) {
  Checkup checkup;
  if (!check_server(checkup, client, context.clock())) {
    checkup.skip("everything else", "needs a server that answers");
    return doctor_report(checkup, "unknown");
  }
  if (options.before) {
    check_before_installation(checkup, client);
    return doctor_report(checkup, "none");
  }
  const auto hub = join::is_hub(client);
  auto joined = join::has_joined(client);
  if (hub && *hub && !joined && joined.error().code == 403) joined = false;  // what its user may not see is not checked
  if (!hub || !joined) {
    checkup.unreadable("role", hub ? joined.error() : hub.error());
    return doctor_report(checkup, "unknown");
  }
  std::string role = *hub ? "hub" : "";
  if (*joined) role += *hub ? " and managed cluster" : "managed cluster";
  if (role.empty()) {
    checkup.fail("role", "neither a hub nor a managed cluster",
                 "run \"fleetadm init\" or \"fleetadm join\" on it, or choose another --context");
    return doctor_report(checkup, "none");
  }
  checkup.ok("role", role);
  found = {*hub, *joined};
  if (*hub) check_hub(checkup, client, context.clock());
  if (*joined) check_managed_cluster(checkup, client, context.clock());
  return doctor_report(checkup, role);
}

/// What was found and what is there, in a file to be passed on.
Status add_bundle(const kube::Client& client, const DoctorOptions& options, const Role& role, Report& report) {
  BundleFiles files = collect_bundle(client, role.hub, role.joined);
  files["doctor.json"] = dump_json_pretty(redact_object(report.data)) + "\n";
  files["fleetadm.txt"] = std::string(FLEETADM_VERSION) + "\n";
  FLEETADM_CHECK(write_bundle(options.bundle, files));
  report.data["bundle"] = options.bundle;
  report.notes.push_back("The bundle " + options.bundle + " has " + pluralize(files.size(), "file") +
                         ". What looked like a secret was left out; look through it before you pass it on.");
  return {};
}

Result<Report> run_doctor(Context& context, const DoctorOptions& options, const std::vector<std::string>&) {
  FLEETADM_TRY(const kube::Client client, context.client());
  Role role;
  Report report = checked_report(context, options, client, role);
  if (!options.bundle.empty()) FLEETADM_CHECK(add_bundle(client, options, role, report));
  return report;
}

}  // namespace

void register_doctor(Registry& registry) {
  Command command;
  command.path = "doctor";
  command.group = "Fleet";
  command.summary = "Check a hub or a managed cluster, and say how to fix what is wrong";
  command.description =
      "Checks the cluster of the current context in numbered steps: the server, its version and clock; on a hub the CRDs, "
      "controllers, leader lease, admission policies, your permissions, waiting requests, clusters and add-ons; on a managed "
      "cluster the CRDs, the agent, its kubeconfig and certificate, and whether this machine reaches the hub. "
      "Each result is ok, warn, fail or skip, and what is wrong comes with the next step. Nothing is changed.\n\n"
      "With --pre it checks a cluster before \"fleetadm init\" or \"fleetadm join\". The way from a cluster to its future hub is "
      "checked by \"fleetadm join --preflight-only\".\n\n"
      "With --bundle it also writes a tar file with the fleet's objects and their conditions, events, versions, and the logs and "
      "metrics of fleetadm's pods. Values of Secrets and of variables, the contents of works, and whatever looks like a credential "
      "are left out.\n\n"
      "Exit codes: 0 no check failed, 1 a check failed.";
  command.examples = {
      {"Check the hub of the current context", "fleetadm doctor"},
      {"Check whether fleetadm can be installed", "fleetadm doctor --pre"},
      {"Write a file for somebody who helps", "fleetadm doctor --bundle fleet.tar"},
      {"List the failed checks in a script", "fleetadm doctor -o jsonpath='{.checks[?(@.result==\"fail\")].check}'"}};
  command.make = invocation<DoctorOptions>(
      [](FlagSet& flags, DoctorOptions& options) {
        flags.boolean(&options.before, "pre", "check whether fleetadm can be installed on the cluster");
        file_flag(flags, &options.bundle, "bundle", "write what a person who helps needs to see into this file (tar)");
      },
      [](const DoctorOptions&, const std::vector<std::string>&) -> Status { return {}; }, run_doctor);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
