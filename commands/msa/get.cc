// get msa: a row for each account.
#include "commands/framework/accounts.h"
#include "commands/framework/grammar.h"
#include "commands/framework/listing.h"
#include "commands/framework/named.h"
#include "commands/framework/write_report.h"
#include "commands/msa/msa.h"
#include "core/api/managed_service_account.h"

namespace fleetadm::commands {
namespace {

struct GetAccountsOptions {
  std::vector<std::string> clusters;
  std::string selector;
  bool all = false;
  bool watch = false;
  bool watch_only = false;
};

ListView account_view() {
  ListView view;
  view.resource = api::managed_service_accounts();
  view.nothing = "No managed service accounts found.";
  view.columns = {{"CLUSTER"},      {"NAME"},           {"TOKEN"},           {"EXPIRES"},      {"AGE"},
                  {"SECRET", true}, {"VALIDITY", true}, {"REFRESHED", true}, {"MESSAGE", true}};
  view.row = [](const Json& object, Instant now) -> std::vector<std::string> {
    return {namespace_of(object),
            name_of(object),
            condition_cell(object, api::kConditionTokenReported),
            or_none(str(object, {"status", "expirationTimestamp"})),
            age_cell(object, now),
            or_none(str(object, {"status", "tokenSecretRef", "name"})),
            or_none(str(object, {"spec", "rotation", "validity"})),
            or_none(str(object, {"status", "tokenSecretRef", "lastRefreshTimestamp"})),
            account_trouble(object).value_or(std::string())};
  };
  return view;
}

Result<Report> run_get_accounts(Context& context, const GetAccountsOptions& options, const std::vector<std::string>& names) {
  ListRequest request{names, options.selector, options.clusters, options.watch, options.watch_only};
  request.called = [](const Json& object, const std::string& name) { return name_of(object) == name; };
  if (!options.clusters.empty()) request.nothing_in = cluster_exists;
  if (const std::string& ns = context.global().config.ns; !options.all && options.clusters.empty() && !ns.empty())
    request.namespaces = {ns};
  return with_account_kind(list_objects(context, account_view(), request));
}

}  // namespace

void register_msa_get(Registry& registry) {
  Command command;
  command.path = "get msa";
  command.group = "Add-ons";
  command.summary = "Get managed service accounts and when their tokens expire";
  command.description =
      "TOKEN is True if the hub has a token of the account. -o wide adds the Secret that holds it, and why there is none.";
  command.args = {"[NAME...]", 0, -1};
  command.aliases = {"msa get", "msa list", "get msas", "get managedserviceaccounts", "get managedserviceaccount"};
  command.examples = {{"The accounts of one cluster", "fleetadm get msa --cluster c1"},
                      {"With the reason for what has no token", "fleetadm get msa -o wide"}};
  command.make = invocation<GetAccountsOptions>(
      [](FlagSet& flags, GetAccountsOptions& options) {
        list_flags(flags, options.selector, options.watch, options.watch_only);
        clusters_flag(flags, &options.clusters, "only accounts of these clusters");
        all_namespaces_flag(flags, &options.all, "accounts of all clusters (the default without -n)").aliases = {"all-clusters"};
      },
      [](const GetAccountsOptions& options, const std::vector<std::string>&) -> Status {
        for (const std::string& cluster : options.clusters) FLEETADM_CHECK(check_name("cluster", cluster));
        return {};
      },
      run_get_accounts);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
