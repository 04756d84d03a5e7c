// token create: a bootstrap token that is kept on the hub, so that it can be listed and revoked.
#include <algorithm>

#include "commands/fleet/bootstrap_token.h"
#include "commands/fleet/fleet.h"
#include "commands/framework/dry_run.h"
#include "core/registration/join/bootstrap_secret.h"

namespace fleetadm::commands {
namespace {

constexpr auto kLongest = std::chrono::hours(24 * 365 * 10);

struct TokenCreateOptions {
  Duration ttl = std::chrono::hours(24);
  std::vector<std::string> usages;
  std::string description;
  bool show_token = false;
};

void bind_token_create(FlagSet& flags, TokenCreateOptions& options) {
  flags.duration(&options.ttl, "ttl", "How long clusters can join with it; 0 for ever").default_text = "24h";
  flags.texts(&options.usages, "usages", "What it can be used for: authentication (the default), signing of cluster-info");
  flags.text(&options.description, "description", "What it is for, shown by `fleetadm token list`");
  flags.boolean(&options.show_token, "show-token", "Show the token even if stdout is a terminal");
}

Status validate_token_create(const TokenCreateOptions& options, const std::vector<std::string>&) {
  if (options.ttl < Duration::zero() || options.ttl > kLongest)
    return fail(Category::kUsage, "--ttl is not between 0 and 10 years", "write for example --ttl 2h");
  for (const std::string& usage : options.usages) {
    if (usage != "authentication" && usage != "signing")
      return fail(Category::kUsage, "--usages: unknown usage \"" + usage + "\"", "use authentication or signing");
  }
  return {};
}

Result<Report> run_token_create(Context& context, const TokenCreateOptions& options, const std::vector<std::string>&) {
  if (!may_show_token(context, options.show_token)) {
    return fail(
        Category::kUsage, "the token would be shown on a terminal",
        "add --show-token, or pass it on without displaying it: fleetadm token create -o jsonpath={.hub-token} | fleetadm "
        "join --hub-token-file - …");
  }
  FLEETADM_TRY(const auto config, context.rest_config());
  FLEETADM_TRY(const auto hub, context.client());
  join::BootstrapToken wanted;
  wanted.description = options.description;
  wanted.usages = options.usages;
  if (wanted.usages.empty()) wanted.usages = {"authentication"};
  std::sort(wanted.usages.begin(), wanted.usages.end());
  wanted.usages.erase(std::unique(wanted.usages.begin(), wanted.usages.end()), wanted.usages.end());
  // Only a token that authenticates may have groups.
  if (wanted.usages.front() == "authentication") wanted.groups = {join::kJoiningGroup};
  if (options.ttl > Duration::zero()) wanted.expires = context.clock().now() + options.ttl;
  FLEETADM_TRY(JoinTicket ticket, ticket_without_token(config));
  const Json secret = join::new_bootstrap_secret(wanted, ticket.token);
  auto made = hub.create(kube::resources::secrets(), namespace_of(secret), secret);
  if (!made) return tl::unexpected(made.error().wrap("cannot create the bootstrap token"));
  if (wanted.expires) ticket.expires = format_time(*wanted.expires);
  Report report = ticket_report(ticket, true);
  const std::string id = ticket.token.substr(0, ticket.token.find('.'));
  report.data["id"] = id;
  report.names.push_back("secret/" + name_of(secret));
  report.lines.insert(report.lines.begin(), "token " + id + " created" + dry_run_mark(context));
  report.notes.push_back("To end it before: fleetadm token revoke " + id);
  return report;
}

}  // namespace

void register_token_create(Registry& registry) {
  Command command;
  command.path = "token create";
  command.group = "Fleet";
  command.summary = "Create a bootstrap token that can be listed and revoked";
  command.description =
      "Creates a bootstrap token of Kubernetes (a Secret in kube-system) with which clusters can ask to join, and prints the join "
      "command. Unlike the tokens of \"fleetadm get token\", which the hub does not store, it is shown by \"fleetadm token list\" "
      "and ended by \"fleetadm token revoke\". The hub's API server has to accept bootstrap tokens "
      "(--enable-bootstrap-token-auth).";
  command.aliases = {"create token"};
  command.examples = {{"A token for an afternoon", "fleetadm token create --ttl 4h --description 'edge sites, batch 7'"},
                      {"The token alone, for a script", "fleetadm token create -o jsonpath={.hub-token}"}};
  command.make = invocation<TokenCreateOptions>(bind_token_create, validate_token_create, run_token_create);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
