// proxy kubectl: kubectl on a managed cluster through the gateway.
#include <memory>

#include "commands/framework/accounts.h"
#include "commands/framework/dry_run.h"
#include "commands/framework/grammar.h"
#include "commands/framework/members.h"
#include "commands/proxy/child.h"
#include "commands/proxy/kubectl_lines.h"
#include "commands/proxy/member_kubeconfig.h"
#include "commands/proxy/proxy.h"
#include "core/proxy/client/gateway_access.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/config/kubeconfig.h"
#include "kubeclient/config/process.h"

namespace fleetadm::commands {
namespace {

constexpr const char* kKubectlVariable = "FLEETADM_KUBECTL";

struct ProxyKubectlOptions {
  std::string cluster;
  MemberAsker asker;
  bool interactive = false;
};

Status validate_proxy_kubectl(const ProxyKubectlOptions& options, const std::vector<std::string>& args) {
  if (options.cluster.empty()) return fail(Category::kUsage, "no cluster given", "name it with --cluster");
  FLEETADM_CHECK(proxy::member_prefix(options.cluster));
  if (const std::string& account = options.asker.account; !account.empty())
    FLEETADM_CHECK(validate_account(options.cluster, {account}));
  if (options.interactive) {
    if (args.empty()) return {};
    return fail(Category::kUsage, "--interactive cannot be combined with arguments for kubectl");
  }
  if (args.empty())
    return fail(Category::kUsage, "no arguments for kubectl",
                "for example: fleetadm proxy kubectl --cluster " + options.cluster + " -- get pods");
  return {};
}

Result<std::string> kubectl_program(const Context& context) {
  // Whoever lets no plugin run wants no program of PATH to run.
  if (context.env("FLEETADM_PLUGINS") == "false")
    return fail(Category::kUsage, "kubectl is not run: FLEETADM_PLUGINS=false allows no other programs");
  const std::string chosen = context.env(kKubectlVariable);
  if (chosen.find('/') != std::string::npos) return chosen;
  const std::string name = chosen.empty() ? "kubectl" : chosen;
  std::string found = kube::find_executable(name, context.env("PATH"));
  if (!found.empty()) return found;
  return fail(Category::kNotFound, name + " is not found on PATH",
              std::string("install kubectl, or name another program with ") + kKubectlVariable);
}

/// What the child needs: a kubeconfig, and the connection that it leads to.
struct ChildConnection {
  std::string kubeconfig;
  kube::RestConfig member;
};

Result<ChildConnection> connection_for_child(Context& context, const ProxyKubectlOptions& options) {
  ChildConnection out;
  FLEETADM_TRY(out.member, member_connection(context, options.cluster, options.asker));
  Json user;
  if (options.asker.account.empty()) {
    FLEETADM_TRY(user, hub_user_entry(context));
  } else {
    // Of the relay, which adds what the way needs.
    FLEETADM_TRY(const kube::Credentials relay, out.member.credentials->current());
    user = {{"token", relay.token}};
  }
  Json document = kube::make_kubeconfig("", "", user, options.cluster);
  document["clusters"][0]["cluster"] = member_cluster_entry(out.member);
  if (const std::string& ns = context.global().config.ns; !ns.empty()) document["contexts"][0]["context"]["namespace"] = ns;
  out.kubeconfig = dump_yaml(document);
  return out;
}

Result<Report> run_proxy_kubectl(Context& context, const ProxyKubectlOptions& options, const std::vector<std::string>& args) {
  FLEETADM_CHECK(refuse_dry_run(context, "proxy kubectl"));
  FLEETADM_TRY(const std::string program, kubectl_program(context));
  FLEETADM_TRY(const ChildConnection connection, connection_for_child(context, options));
  FLEETADM_TRY(const SecretFile file, SecretFile::with(connection.kubeconfig));
  Report report;
  const Child kubectl{program, args, {{"KUBECONFIG", file.path()}}};
  FLEETADM_TRY(report.exit_code,
               options.interactive ? run_kubectl_lines(context, kubectl, options.cluster) : run_in_foreground(kubectl));
  return report;
}

}  // namespace

void register_proxy_kubectl(Registry& registry) {
  Command command;
  command.path = "proxy kubectl";
  command.group = "Clusters";
  command.target = Target::kSilent;
  command.summary = "Run kubectl on a cluster behind the gateway";
  command.description =
      "Runs kubectl with exactly the arguments after \"--\", on a cluster that may be reachable only through the hub's gateway, "
      "and ends with its exit code. You act as yourself: the gateway knows you by the credentials of the hub's kubeconfig, and the "
      "cluster's RBAC decides. With --sa you act as a ManagedServiceAccount of the cluster, whose token you must be able to get from "
      "the hub: kubectl then goes through a port of 127.0.0.1 that shows the gateway who you are. Where the hub has no gateway but "
      "upstream's cluster-proxy, --sa is needed.\n\n"
      "kubectl is the one on PATH, or the program that FLEETADM_KUBECTL names. Its kubeconfig is in memory only and gone when it "
      "ends. -n before \"--\" is the namespace that kubectl uses where its arguments name none.";
  command.args = {"[-- ARGS...]", 0, -1, true};
  command.examples = {{"", "fleetadm proxy kubectl --cluster c1 -- get pods -A"},
                      {"A shell in a pod", "fleetadm proxy kubectl --cluster c1 -- exec -it web-0 -- sh"},
                      {"Many commands, one after the other", "fleetadm proxy kubectl --cluster c1 -i"},
                      {"As an account with fewer rights", "fleetadm proxy kubectl --cluster c1 --sa deployer -- get deploy"}};
  command.make = invocation<ProxyKubectlOptions>(
      [](FlagSet& flags, ProxyKubectlOptions& options) {
        cluster_flag(flags, &options.cluster, "cluster to act on").required = true;
        asker_flags(flags, options.asker);
        flags.boolean(&options.interactive, "interactive", "take kubectl commands line by line, with history and completion",
                      'i');
      },
      validate_proxy_kubectl, run_proxy_kubectl);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
