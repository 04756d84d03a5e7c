// msa token: the token of an account, for scripts and as a credential plugin of kubeconfigs. The only output that shows one.
#include <algorithm>

#include "commands/msa/accounts.h"
#include "commands/msa/msa.h"
#include "core/api/managed_service_account.h"
#include "core/msa/rules/token_secret.h"

namespace fleetadm::commands {
namespace {

struct AccountTokenOptions {
  std::string cluster;
};

Error no_token(const Json& object, std::string why) {
  Error error;
  error.category = Category::kNotFound;
  error.message = "the hub has no token of account " + name_of(object) + " of cluster " + namespace_of(object) + ": " + why;
  error.hint = "see fleetadm msa describe " + name_of(object) + " --cluster " + namespace_of(object);
  return error;
}

/// Three parts of base64url, as the API server's are. Anything else is not handed to a shell.
bool looks_like_token(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

Result<Report> run_account_token(Context& context, const AccountTokenOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const auto hub, context.client());
  FLEETADM_TRY(const Json object, read_account(hub, options.cluster, args.front()));
  const std::string name = str(object, {"status", "tokenSecretRef", "name"});
  if (name.empty()) return fail(no_token(object, account_trouble(object).value_or("its cluster has not reported one")));
  FLEETADM_TRY(const auto secret, hub.find(kube::resources::secrets(), options.cluster, name));
  if (!secret) return fail(no_token(object, "Secret " + options.cluster + "/" + name + " is gone"));
  if (const Status ours = msa::check_secret(*secret, object); !ours) return fail(no_token(object, ours.error().message));
  const std::string token = msa::token_in(*secret);
  const auto claims = token_claims(token);
  if (!claims || !looks_like_token(token))
    return fail(no_token(object, "what Secret " + options.cluster + "/" + name + " holds is none"));
  if (claims->expires <= context.clock().now()) return fail(no_token(object, "it expired at " + format_time(claims->expires)));
  Report report;
  report.lines.push_back(token);
  report.data = {{"apiVersion", "client.authentication.k8s.io/v1"},
                 {"kind", "ExecCredential"},
                 {"status", {{"token", token}, {"expirationTimestamp", format_time(claims->expires)}}}};
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
