// token revoke: ends bootstrap tokens before they expire.
#include <algorithm>

#include "commands/fleet/fleet.h"
#include "commands/framework/dry_run.h"
#include "commands/framework/suggest.h"
#include "core/api/kinds.h"
#include "core/registration/join/bootstrap_secret.h"
#include "core/registration/join/cluster_info.h"

namespace fleetadm::commands {
namespace {

struct TokenRevokeOptions {
  bool expired = false;
  bool issued = false;
};

Status validate_token_revoke(const TokenRevokeOptions& options, const std::vector<std::string>& args) {
  if (args.empty() && !options.expired && !options.issued)
    return fail(Category::kUsage, "no tokens are named", "give ids of tokens, --expired or --issued");
  return {};
}

/// The whole token works as well as its id; what follows the dot is not repeated anywhere.
std::string id_of(const std::string& arg) { return arg.substr(0, arg.find('.')); }

Status remove_token(Context& context, const kube::Client& hub, const join::BootstrapToken& token, Report& report) {
  kube::DeleteOptions exactly;
  exactly.uid = token.uid;
  const auto removed = hub.remove(kube::resources::secrets(), "kube-system", "bootstrap-token-" + token.id, exactly);
  if (!removed && removed.error().category != Category::kNotFound)
    return tl::unexpected(removed.error().wrap("cannot revoke token " + token.id));
  report.lines.push_back("token " + token.id + " revoked" + dry_run_mark(context));
  report.names.push_back(token.id);
  report.data["revoked"].push_back(token.id);
  return {};
}

/// Tokens that the hub issued without storing them are good as long as their ServiceAccount is the one that they were issued for.
Status replace_bootstrap_account(Context& context, const kube::Client& hub, Report& report) {
  const auto& type = kube::resources::service_accounts();
  FLEETADM_TRY(const auto account, hub.find(type, api::kBootstrapNamespace, api::kBootstrapServiceAccount));
  if (!account)
    return fail(Category::kNotFound, "the hub has no bootstrap ServiceAccount",
                "this cluster is not a hub yet: run `fleetadm init`");
  Json next{{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", name_of(*account)}}}};
  next["metadata"]["namespace"] = namespace_of(*account);
  for (const char* member : {"labels", "annotations"}) {
    if (const Json* kept = find(*account, {"metadata", member})) next["metadata"][member] = *kept;
  }
  kube::DeleteOptions exactly;
  exactly.uid = uid_of(*account);
  FLEETADM_TRY([[maybe_unused]] const auto removed, hub.remove(type, namespace_of(next), name_of(next), exactly));
  if (const auto made = hub.create(type, namespace_of(next), next);
      !made && made.error().category != Category::kConflict && !is_dry(context)) {
    return tl::unexpected(made.error()
                              .wrap("the bootstrap ServiceAccount was deleted and cannot be created")
                              .with_hint("run `fleetadm init` again"));
  }
  report.lines.push_back("tokens of serviceaccount " + name_of(next) + " revoked" + dry_run_mark(context));
  report.names.push_back("serviceaccount/" + name_of(next));
  report.data["issued"] = true;
  return {};
}

Result<Report> run_token_revoke(Context& context, const TokenRevokeOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const auto hub, context.client());
  const Instant now = context.clock().now();
  Report report;
  report.data = {{"kind", "TokenRevocation"}, {"revoked", Json::array()}, {"issued", false}};
  std::vector<join::BootstrapToken> tokens;
  if (!args.empty() || options.expired) {
    FLEETADM_TRY(tokens, join::bootstrap_tokens(hub));
  }
  std::vector<std::string> known;
  for (const join::BootstrapToken& token : tokens) known.push_back(token.id);
  std::vector<join::BootstrapToken> chosen;
  for (const std::string& arg : args) {
    const auto at =
        std::find_if(tokens.begin(), tokens.end(), [&](const join::BootstrapToken& one) { return one.id == id_of(arg); });
    if (at == tokens.end()) {
      report.failures.push_back(fail(Category::kNotFound, "there is no token \"" + id_of(arg) + "\" on this hub",
                                     did_you_mean(id_of(arg), known, "list the tokens with: fleetadm token list"))
                                    .value());
    } else {
      chosen.push_back(*at);
    }
  }
  for (const join::BootstrapToken& token : tokens) {
    // kubeadm's own tokens are cleaned up by the cluster.
    const bool ours = std::find(token.groups.begin(), token.groups.end(), join::kJoiningGroup) != token.groups.end();
    if (options.expired && ours && token.expires && *token.expires <= now) chosen.push_back(token);
  }
  std::vector<std::string> signed_by;
  for (const join::BootstrapToken& token : chosen) {
    if (const Status done = remove_token(context, hub, token, report); !done) {
      report.failures.push_back(done.error());
    } else if (token.has_usage("signing")) {
      signed_by.push_back(token.id);
    }
  }
  if (!signed_by.empty()) {
    if (const Status done = join::drop_signatures(hub, signed_by); !done) report.failures.push_back(done.error());
  }
  if (options.issued) {
    if (const Status done = replace_bootstrap_account(context, hub, report); !done) report.failures.push_back(done.error());
  }
  if (report.lines.empty() && report.failures.size() == 1) return tl::unexpected(report.failures.front());
  if (report.lines.empty() && report.failures.empty()) report.notes.emplace_back("No tokens have expired.");
  if (!report.lines.empty()) report.notes.emplace_back("Clusters that have joined keep their own credentials.");
  return report;
}

}  // namespace

void register_token_revoke(Registry& registry) {
  Command command;
  command.path = "token revoke";
  command.group = "Fleet";
  command.summary = "End bootstrap tokens before they expire";
  command.description =
      "Deletes bootstrap tokens by their ids. --issued ends all tokens that \"fleetadm init\" and \"fleetadm get token\" have "
      "printed, by replacing the ServiceAccount that they were issued for. Clusters that have joined are not affected.";
  command.args = {"[ID...]", 0, -1, false};
  command.examples = {{"Revoke one token", "fleetadm token revoke 4dq7zk"},
                      {"Remove all that have expired", "fleetadm token revoke --expired"},
                      {"A join command has leaked: end all that were printed", "fleetadm token revoke --issued"}};
  command.make = invocation<TokenRevokeOptions>(
      [](FlagSet& flags, TokenRevokeOptions& options) {
        flags.boolean(&options.expired, "expired", "Remove the tokens for joining that have expired");
        flags.boolean(&options.issued, "issued", "End all tokens that were issued and not stored");
      },
      validate_token_revoke, run_token_revoke);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
