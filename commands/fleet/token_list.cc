// token list: the bootstrap tokens of the hub, without their secrets.
#include <algorithm>

#include "commands/fleet/fleet.h"
#include "commands/framework/listing.h"
#include "core/registration/join/bootstrap_secret.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::commands {
namespace {

struct TokenListOptions {};

std::string expiry_cell(const join::BootstrapToken& token, Instant now) {
  if (!token.expires) return "never";
  return *token.expires <= now ? "expired" : format_duration(std::chrono::floor<std::chrono::seconds>(*token.expires - now));
}

Result<Report> run_token_list(Context& context, const TokenListOptions&, const std::vector<std::string>& ids) {
  FLEETADM_TRY(const auto hub, context.client());
  FLEETADM_TRY(const auto tokens, join::bootstrap_tokens(hub));
  const Instant now = context.clock().now();
  Report report;
  for (const std::string& id : ids) {
    if (std::none_of(tokens.begin(), tokens.end(), [&](const join::BootstrapToken& one) { return one.id == id; }))
      report.failures.push_back(fail(Category::kNotFound, "there is no token \"" + id + "\" on this hub").value());
  }
  report.table = Table{{{"ID"}, {"EXPIRES"}, {"JOINS"}, {"USAGES"}, {"DESCRIPTION"}, {"GROUPS", true}}, {}, "No tokens found."};
  Json items = Json::array();
  for (const join::BootstrapToken& token : tokens) {
    if (!ids.empty() && std::find(ids.begin(), ids.end(), token.id) == ids.end()) continue;
    report.table->rows.push_back({token.id, expiry_cell(token, now), token.joins(now) ? "true" : "false",
                                  or_none(joined(token.usages, ",")), or_none(token.description),
                                  or_none(joined(token.groups, ","))});
    report.names.push_back(token.id);
    items.push_back(join::to_json(token, now));
  }
  report.data = {{"kind", "TokenList"}, {"items", std::move(items)}};
  return report;
}

}  // namespace

void register_token_list(Registry& registry) {
  Command command;
  command.path = "token list";
  command.group = "Fleet";
  command.summary = "List the bootstrap tokens of the hub";
  command.description =
      "Lists the bootstrap tokens that the hub has stored, those of kubeadm included. JOINS tells whether clusters can join with "
      "one now. The secret part of a token is never shown. Tokens of \"fleetadm get token\" are not stored and not listed.";
  command.aliases = {"token get", "get tokens"};
  command.args = {"[ID...]", 0, -1};
  command.examples = {
      {"All tokens", "fleetadm token list"},
      {"The ids of those that have expired", "fleetadm token list -o jsonpath='{.items[?(@.expired==true)].id}'"}};
  command.make = invocation<TokenListOptions>(
      [](FlagSet&, TokenListOptions&) {}, [](const TokenListOptions&, const std::vector<std::string>&) -> Status { return {}; },
      run_token_list);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
