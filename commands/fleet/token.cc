#include "commands/fleet/bootstrap_token.h"
#include "commands/fleet/fleet.h"

namespace fleetadm::commands {
namespace {

struct TokenOptions {
  bool show_token = false;
  Duration lifetime = std::chrono::hours(1);
  std::string join_file;
};

void bind_token(FlagSet& flags, TokenOptions& options) {
  flags.boolean(&options.show_token, "show-token", "Show the token even if stdout is a terminal");
  flags.duration(&options.lifetime, "lifetime", "Lifetime of the token (at least 10m)").default_text = "1h";
  join_file_flag(flags, &options.join_file);
}

Status validate_token(const TokenOptions& options, const std::vector<std::string>&) {
  if (options.lifetime < std::chrono::minutes(10)) {
    return fail(Category::kUsage, "--lifetime is shorter than 10m", "API servers do not issue tokens with a shorter lifetime");
  }
  return {};
}

Result<Report> run_token(Context& context, const TokenOptions& options, const std::vector<std::string>&) {
  FLEETADM_TRY(const auto config, context.rest_config());
  FLEETADM_TRY(const auto hub, context.client());
  FLEETADM_TRY(const auto ticket, make_ticket(hub, config, options.lifetime));
  Report report = ticket_report(ticket, may_show_token(context, options.show_token));
  FLEETADM_CHECK(write_join_script(context, options.join_file, ticket, report));
  return report;
}

}  // namespace

void register_token(Registry& registry) {
  Command command;
  command.path = "get token";
  command.group = "Fleet";
  command.summary = "Get a bootstrap token and the join command";
  command.description =
      "Requests a short-lived token for the bootstrap service account from the hub and prints the join "
      "command with it and the hash of the hub's CA. Nothing is stored on the hub, and previously issued "
      "tokens remain valid until they expire.";
  command.examples = {
      {"The join command, with the token hidden on a terminal", "fleetadm get token"},
      {"The token alone, for a script", "fleetadm get token -o jsonpath={.hub-token}"},
      {"A script that joins a cluster, for whoever runs it there", "fleetadm get token --output-join-command-file join.sh"}};
  command.make = invocation<TokenOptions>(bind_token, validate_token, run_token);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
