#include "commands/doctor/doctor.h"

#include "commands/doctor/bundle.h"
#include "commands/doctor/checkup.h"
#include "commands/framework/files.h"
#include "commands/framework/grammar.h"
#include "commands/framework/member_side.h"
#include "core/registration/join/roles.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/plural.h"

namespace fleetadm::commands {
namespace {

struct DoctorOptions {
  bool before = false;
  std::string bundle;
  std::vector<std::string> clusters;
  MemberSide member;
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

std::string words_of(const join::Roles& roles) {
  std::vector<std::string> words;
  if (roles.hub) words.emplace_back("hub");
  if (roles.joined) words.emplace_back("managed cluster");
  if (roles.hosting) words.emplace_back("hosting cluster");
  return joined(words, " and ");
}

Report checked_report(Context& context, const DoctorOptions& options, const HostingCase& sides, join::Roles& found) {
  const kube::Client& client = sides.hosting;
  Checkup checkup;
  if (!check_server(checkup, client, context.clock())) {
    checkup.skip("everything else", "needs a server that answers");
    return doctor_report(checkup, "unknown");
  }
  if (options.before) {
    check_before_installation(checkup, client);
    return doctor_report(checkup, "none");
  }
  const auto roles = is_hosted_mode(options.member) ? Result<join::Roles>(join::Roles{.hosting = true}) : join::roles_of(client);
  if (!roles) {
    checkup.unreadable("role", roles.error());
    return doctor_report(checkup, "unknown");
  }
  if (!roles->any()) {
    checkup.fail("role", "neither a hub nor a managed cluster",
                 "run \"fleetadm init\" or \"fleetadm join\" on it, or choose another --context");
    return doctor_report(checkup, "none");
  }
  checkup.ok("role", words_of(*roles));
  found = *roles;
  if (roles->hub) check_hub(checkup, client, context.clock());
  if (roles->joined) check_managed_cluster(checkup, client, context.clock());
  if (roles->hosting) check_hosting(checkup, sides, context.clock(), context.stop());
  return doctor_report(checkup, words_of(*roles));
}

/// What was found and what is there, in a file to be passed on.
Status add_bundle(const kube::Client& client, const DoctorOptions& options, const join::Roles& roles, Report& report) {
  BundleFiles files =
      collect_bundle(client, {roles.hub, roles.joined, roles.hosting ? hosted_namespace(options.member) : std::string()});
  files["doctor.json"] = dump_json_pretty(redact_object(report.data)) + "\n";
  files["fleetadm.txt"] = std::string(FLEETADM_VERSION) + "\n";
  FLEETADM_CHECK(write_bundle(options.bundle, files));
  report.data["bundle"] = options.bundle;
  report.notes.push_back("The bundle " + options.bundle + " has " + pluralize(files.size(), "file") +
                         ". What looked like a secret was left out; look through it before you pass it on.");
  return {};
}

Status validate_doctor(const DoctorOptions& options, const std::vector<std::string>&) {
  if (options.before && is_hosted_mode(options.member))
    return fail(Category::kUsage, "--pre cannot be combined with --mode hosted",
                "check both clusters with: fleetadm join --mode hosted --preflight-only");
  if (!options.clusters.empty() && !is_hosted_mode(options.member))
    return fail(Category::kUsage, "--clusters requires --mode hosted",
                "without it the cluster of the current context is checked");
  return validate_member_side(options.member, false);
}

Result<Report> run_doctor(Context& context, const DoctorOptions& options, const std::vector<std::string>&) {
  std::optional<kube::Client> member;
  if (options.member.named()) {
    FLEETADM_TRY(const HostedSides sides, hosted_sides(context, options.member));
    member = sides.member;
  }
  FLEETADM_TRY(const kube::Client client, context.client());
  join::Roles roles;
  Report report =
      checked_report(context, options, {client, hosted_namespace(options.member), options.clusters, std::move(member)}, roles);
  if (!options.bundle.empty()) FLEETADM_CHECK(add_bundle(client, options, roles, report));
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
      "cluster the CRDs, the agent, its kubeconfig and certificate, and whether this machine reaches the hub; on a cluster that hosts "
      "agents (--mode hosted) their pod, and of each member its agent, the agent's token on the member, and its kubeconfig and "
      "certificate for the hub; with --managed-cluster-context also the managed cluster. "
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
      {"Check the members whose agents the current cluster hosts", "fleetadm doctor --mode hosted --context hub"},
      {"Write a file for somebody who helps", "fleetadm doctor --bundle fleet.tar"},
      {"List the failed checks in a script", "fleetadm doctor -o jsonpath='{.checks[?(@.result==\"fail\")].check}'"}};
  command.make = invocation<DoctorOptions>(
      [](FlagSet& flags, DoctorOptions& options) {
        flags.boolean(&options.before, "pre", "check whether fleetadm can be installed on the cluster");
        file_flag(flags, &options.bundle, "bundle", "write what a person who helps needs to see into this file (tar)");
        clusters_flag(flags, &options.clusters, "Of hosted members only these");
        bind_member_side(flags, options.member,
                         "What is checked: a hub or a managed cluster, or (hosted) the members whose agents the current cluster "
                         "hosts");
      },
      validate_doctor, run_doctor);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
