// msa exec-credential: the credential plugin of programs that find clusters by ClusterProfiles.
#include "core/msa/rules/exec_credential.h"

#include "commands/framework/grammar.h"
#include "commands/framework/write_report.h"
#include "commands/msa/msa.h"
#include "core/msa/rules/profile_copy.h"
#include "kubeclient/config/in_cluster.h"

namespace fleetadm::commands {
namespace {

struct ExecCredentialOptions {
  std::string account;
};

Status validate_exec_credential(const ExecCredentialOptions& options, const std::vector<std::string>&) {
  if (options.account.empty()) {
    return fail(Category::kUsage, "missing flag: --managed-serviceaccount",
                "name the account with --managed-serviceaccount NAME");
  }
  return check_name("account", options.account);
}

/// --namespace, $NAMESPACE, the pod's own, the context's.
Result<std::string> namespace_of_profiles(Context& context) {
  if (const std::string& ns = context.global().config.ns; !ns.empty()) return ns;
  if (const std::string ns = context.env("NAMESPACE"); !ns.empty()) return ns;
  const std::string of_pod = kube::in_cluster_namespace([&](const char* name) { return context.env(name); });
  if (!of_pod.empty()) return of_pod;
  return context.ns();
}

Error no_credential(const std::string& account, const std::string& cluster, const std::string& why, const std::string& hint) {
  Error error;
  error.category = Category::kNotFound;
  error.message = "there is no credential of account " + account + " for cluster " + cluster + ": " + why;
  error.hint = hint;
  return error;
}

Result<Report> run_exec_credential(Context& context, const ExecCredentialOptions& options, const std::vector<std::string>&) {
  FLEETADM_TRY(const auto asked, msa::exec_request(context.env(msa::kExecInfoVariable)));
  FLEETADM_CHECK(check_name("cluster", asked.cluster));
  FLEETADM_TRY(const auto config, context.rest_config());
  // Without this, the plugin would call itself without end.
  if (!asked.server.empty() && asked.server == config.server) {
    return fail(Category::kUsage, "the hub of this command is the very server that it is asked for a credential of",
                "name the hub's context with --context in the exec section's args");
  }
  FLEETADM_TRY(const auto hub, context.client());
  FLEETADM_TRY(const std::string ns, namespace_of_profiles(context));
  const std::string name = msa::copy_name(asked.cluster, options.account);
  FLEETADM_TRY(const auto secret, hub.find(kube::resources::secrets(), ns, name));
  if (!secret) {
    return fail(no_credential(options.account, asked.cluster, "Secret " + ns + "/" + name + " does not exist",
                              "label the ManagedServiceAccount with " + std::string(msa::kSyncLabel) +
                                  "=true, and let the hub copy tokens: fleetadm init --cluster-profiles"));
  }
  if (const Status made = msa::check_copy(*secret, asked.cluster, options.account); !made)
    return fail(no_credential(options.account, asked.cluster, made.error().message, made.error().hint));
  const auto token = msa::usable_token(*secret, context.clock().now());
  if (!token) {
    return fail(no_credential(options.account, asked.cluster, token.error().message,
                              "see fleetadm msa describe " + options.account + " --cluster " + asked.cluster));
  }
  Report report;
  report.data = msa::exec_credential(asked.api_version, token->text, token->claims.expires);
  report.lines.push_back(dump_json(report.data));
  return report;
}

}  // namespace

void register_msa_exec_credential(Registry& registry) {
  Command command;
  command.path = "msa exec-credential";
  command.group = "Add-ons";
  command.summary = "Answer a client that asks for the credential of a ClusterProfile";
  command.description =
      "The credential plugin of programs that find their clusters by ClusterProfiles. The client names the cluster in "
      "$KUBERNETES_EXEC_INFO (cluster.config.clusterName); the answer is an ExecCredential with the token of the Secret "
      "CLUSTER-NAME and the time at which it expires, so that the client asks again in time. The Secret is a copy that the hub "
      "makes (see fleetadm init --cluster-profiles) in the namespace of the ClusterProfile: --namespace, else $NAMESPACE, "
      "else the pod's own, else that of the kubeconfig context. The permission to get that Secret is needed.\n\n"
      "\"fleetadm --managed-serviceaccount NAME\", without a command, is the same.";
  command.examples = {{"The command of an exec section, with provideClusterInfo: true",
                       "fleetadm msa exec-credential --managed-serviceaccount deployer"}};
  command.make = invocation<ExecCredentialOptions>(
      [](FlagSet& flags, ExecCredentialOptions& options) {
        Flag& account = flags.text(&options.account, "managed-serviceaccount", "Name of the ManagedServiceAccount");
        account.value_name = "NAME";
        account.required = true;
      },
      validate_exec_credential, run_exec_credential);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
