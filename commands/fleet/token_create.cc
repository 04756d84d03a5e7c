// token create: a bootstrap token that is kept on the hub, so that it can be listed and revoked.
#include <algorithm>
#include <set>

#include "commands/fleet/bootstrap_token.h"
#include "commands/fleet/fleet.h"
#include "commands/framework/dry_run.h"
#include "core/install/install.h"
#include "core/registration/join/bootstrap_secret.h"
#include "core/registration/join/cluster_info.h"
#include "core/registration/join/hub_discovery.h"
#include "kubeclient/base/host_port.h"

namespace fleetadm::commands {
namespace {

constexpr auto kLongest = std::chrono::hours(24 * 365 * 10);

struct TokenCreateOptions {
  Duration ttl = std::chrono::hours(24);
  std::vector<std::string> usages;
  std::string description;
  bool print_register_command = false;
  bool show_token = false;
};

void bind_token_create(FlagSet& flags, TokenCreateOptions& options) {
  flags.duration(&options.ttl, "ttl", "How long clusters can join with it; 0 for ever").default_text = "24h";
  flags.comma_texts(&options.usages, "usages",
                    "What it can be used for: authentication (the default), signing of cluster-info, which `fleetadm register` "
                    "needs, too");
  flags.text(&options.description, "description", "What it is for, shown by `fleetadm token list`");
  flags.boolean(&options.print_register_command, "print-register-command",
                "Print only the command that registers a cluster with the token; publishes the hub's CA "
                "(kube-public/cluster-info) where it is not yet, and signs it with the token");
  flags.boolean(&options.show_token, "show-token", "Show the token even if stdout is a terminal");
}

Status validate_token_create(const TokenCreateOptions& options, const std::vector<std::string>&) {
  if (options.ttl < Duration::zero() || options.ttl > kLongest)
    return fail(Category::kUsage, "--ttl is not between 0 and 10 years", "write for example --ttl 2h");
  for (const std::string& usage : options.usages) {
    if (usage != "authentication" && usage != "signing")
      return fail(Category::kUsage, "--usages: unknown usage \"" + usage + "\"", "use authentication or signing");
  }
  if (options.print_register_command && !options.usages.empty() &&
      std::set(options.usages.begin(), options.usages.end()).size() < 2)
    return fail(Category::kUsage, "--print-register-command requires both usages", "leave --usages out");
  return {};
}

join::BootstrapToken wanted_token(const TokenCreateOptions& options, Instant now) {
  join::BootstrapToken wanted;
  wanted.description = options.description;
  const std::set<std::string> usages(options.usages.begin(), options.usages.end());
  wanted.usages = {usages.begin(), usages.end()};
  if (wanted.usages.empty()) wanted.usages = {"authentication"};
  if (options.print_register_command) wanted.usages = {"authentication", "signing"};
  // Only a token that authenticates may have groups.
  if (wanted.has_usage("authentication")) wanted.groups = {join::kJoiningGroup};
  if (options.ttl > Duration::zero()) wanted.expires = now + options.ttl;
  return wanted;
}

/// So that the hub can be found by its cluster-info: a CA that has the pin is there, or is published now.
Status publish_info(const kube::Client& hub, const kube::RestConfig& config, const JoinTicket& ticket, Report& report) {
  if (ticket.ca_pin.empty()) {
    return fail(Category::kConflict, "the hub's kubeconfig has no CA, which `fleetadm register` knows a hub by",
                "use fleetadm token create without --print-register-command, and fleetadm join --system-roots");
  }
  FLEETADM_TRY(const std::string authorities, join::published_authorities(hub));
  if (!authorities.empty() && join::with_pin(authorities, ticket.ca_pin).empty()) {
    return fail(Category::kConflict,
                "the CA in the hub's ConfigMap kube-public/cluster-info is another one than that of the kubeconfig",
                "use a kubeconfig with the address and the CA that clusters reach the hub by");
  }
  std::vector<Json> objects = join::cluster_info_objects(config);
  if (!authorities.empty()) {
    // Who may not ask has a hub on which somebody else decides that.
    const auto readable = join::everybody_reads_info(hub);
    if (!readable || *readable) return {};
    objects.erase(objects.begin());
  }
  install::Options how;
  how.part = install::kHubPart;
  FLEETADM_CHECK(install::apply_all(hub, std::move(objects), how).map([](const auto&) {}));
  report.notes.emplace_back("Everybody can read the hub's address and CA now (kube-public/cluster-info).");
  return {};
}

/// A token whose signature is missing registers nothing, so none is left.
Status sign_or_undo(const kube::Client& hub, const Json& secret, std::string_view token) {
  const Status signed_one = join::sign_cluster_info(hub, token);
  if (signed_one) return {};
  kube::DeleteOptions exactly;
  exactly.uid = uid_of(secret);
  const auto undone = hub.remove(kube::resources::secrets(), namespace_of(secret), name_of(secret), exactly);
  if (undone) return signed_one;
  return fail(
      Error(signed_one.error())
          .with_hint("a token was created and is left: fleetadm token revoke " + std::string(token.substr(0, token.find('.')))));
}

/// "echo TOKEN | fleetadm register HOST:PORT …": no process has the token among its arguments, where other users could read it.
std::string register_command(const JoinTicket& ticket) {
  constexpr std::string_view kScheme = "https://";
  std::string_view server = ticket.hub_apiserver;
  const auto plain = split_host_port(server.substr(std::min(kScheme.size(), server.size())));
  if (plain && !plain->port.empty() && parse_port(plain->port)) server.remove_prefix(kScheme.size());
  return "fleetadm register " + std::string(server) + " --token-file - --discovery-token-ca-cert-hash " + ticket.ca_pin;
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
  const join::BootstrapToken wanted = wanted_token(options, context.clock().now());
  FLEETADM_TRY(JoinTicket ticket, ticket_without_token(config));
  Report published;
  if (options.print_register_command) FLEETADM_CHECK(publish_info(hub, config, ticket, published));
  const Json secret = join::new_bootstrap_secret(wanted, ticket.token);
  auto made = hub.create(kube::resources::secrets(), namespace_of(secret), secret);
  if (!made) return tl::unexpected(made.error().wrap("cannot create the bootstrap token"));
  if (options.print_register_command && !is_dry(context)) FLEETADM_CHECK(sign_or_undo(hub, *made, ticket.token));
  if (wanted.expires) ticket.expires = format_time(*wanted.expires);
  Report report = ticket_report(ticket, true);
  const std::string id = ticket.token.substr(0, ticket.token.find('.'));
  report.data["id"] = id;
  report.names.push_back("secret/" + name_of(secret));
  if (options.print_register_command) {
    const std::string command = register_command(ticket);
    report.data["register-command"] = command;
    report.lines = {"echo " + ticket.token + " | " + command};
    report.notes.insert(report.notes.begin(), published.notes.begin(), published.notes.end());
    report.notes.insert(report.notes.begin(), "token " + id + " created" + dry_run_mark(context));
  } else {
    report.lines.insert(report.lines.begin(), "token " + id + " created" + dry_run_mark(context));
  }
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
      "(--enable-bootstrap-token-auth).\n\n"
      "With --print-register-command the token also signs the hub's kube-public/cluster-info, by which \"fleetadm register\" finds "
      "and checks the hub. Where kube-controller-manager signs, too (bootstrapsigner), both write the same.";
  command.aliases = {"create token"};
  command.examples = {{"A token for an afternoon", "fleetadm token create --ttl 4h --description 'edge sites, batch 7'"},
                      {"The token alone, for a script", "fleetadm token create -o jsonpath={.hub-token}"},
                      {"The command that registers a cluster, for whoever runs it there",
                       "fleetadm token create --ttl 2h --print-register-command"}};
  command.make = invocation<TokenCreateOptions>(bind_token_create, validate_token_create, run_token_create);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
