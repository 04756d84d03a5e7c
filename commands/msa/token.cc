// msa token: the token of an account, for scripts and as a credential plugin of kubeconfigs. The only output that shows one.
#include "commands/framework/accounts.h"
#include "commands/msa/msa.h"
#include "core/msa/rules/exec_credential.h"

namespace fleetadm::commands {
namespace {

struct AccountTokenOptions {
  std::string cluster;
};

Result<Report> run_account_token(Context& context, const AccountTokenOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const auto hub, context.client());
  FLEETADM_TRY(const AccountToken found, account_token(hub, options.cluster, args.front(), context.clock().now()));
  Report report;
  report.lines.push_back(found.token);
  report.data = msa::exec_credential(msa::kExecCredentialVersion, found.token, found.expires);
  if (context.terminal().stdout_is_terminal())
    report.notes.emplace_back("Whoever has this token acts as the account until it expires: keep it out of files and logs.");
  return report;
}

}  // namespace

void register_msa_token(Registry& registry) {
  Command command;
  command.path = "msa token";
  command.group = "Add-ons";
  command.summary = "Print the token of a managed service account";
  command.description =
      "Prints the token that the hub holds, and nothing else. With -o json it is an ExecCredential with the time at which the "
      "token expires, so the command can be the credential plugin of a kubeconfig for the cluster. The permission to get the "
      "Secret of the account in the cluster's namespace is needed.";
  command.args = {"NAME", 1, 1};
  command.examples = {{"For a request to the cluster", "fleetadm msa token deployer --cluster c1"},
                      {"As a credential plugin", "fleetadm msa token deployer --cluster c1 -o json"}};
  command.make = invocation<AccountTokenOptions>(
      [](FlagSet& flags, AccountTokenOptions& options) { account_cluster_flag(flags, &options.cluster); },
      [](const AccountTokenOptions& options, const std::vector<std::string>& args) {
        return validate_account(options.cluster, args);
      },
      run_account_token);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
