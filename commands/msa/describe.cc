// msa describe: one account, for people.
#include "commands/framework/accounts.h"
#include "commands/framework/listing.h"
#include "commands/framework/write_report.h"
#include "commands/msa/msa.h"
#include "core/api/kinds.h"
#include "core/api/managed_service_account.h"
#include "core/msa/rules/demand.h"

namespace fleetadm::commands {
namespace {

struct DescribeAccountOptions {
  std::string cluster;
};

std::string account_line(std::string_view name, const std::string& text) {
  std::string line = std::string(name) + ":";
  line.resize(std::max<std::size_t>(line.size() + 1, 18), ' ');
  return line + or_none(text);
}

std::string with_age(const std::string& at, Instant now) {
  const auto then = parse_time(at);
  if (!then) return at;
  return at + (*then <= now ? " (" + format_age(*then, now) + " ago)" : " (in " + format_age(now, *then) + ")");
}

Result<Report> run_describe_account(Context& context, const DescribeAccountOptions& options,
                                    const std::vector<std::string>& args) {
  FLEETADM_TRY(const auto hub, context.client());
  FLEETADM_TRY(Json object, read_account(hub, options.cluster, args.front()));
  const Instant now = context.clock().now();
  // Roles on the cluster are bound to this subject; the agent's namespace is told by its add-on.
  const auto addon = hub.find(api::managed_cluster_addons(), options.cluster, api::kManagedServiceAccountAddon);
  const std::string ns = addon && *addon ? str(**addon, {"status", "namespace"}) : std::string();
  Report report;
  auto& lines = report.lines;
  lines.push_back(account_line("Name", name_of(object)));
  lines.push_back(account_line("Cluster", namespace_of(object)));
  lines.push_back(account_line("Created", with_age(str(object, {"metadata", "creationTimestamp"}), now)));
  lines.push_back(account_line("Validity", str(object, {"spec", "rotation", "validity"})));
  if (const auto ends = msa::ends_at(object)) lines.push_back(account_line("Deleted at", with_age(format_time(*ends), now)));
  lines.push_back(account_line("Service account", ns.empty() ? std::string() : ns + "/" + name_of(object)));
  const std::string secret = str(object, {"status", "tokenSecretRef", "name"});
  lines.push_back(account_line("Secret", secret.empty() ? secret : namespace_of(object) + "/" + secret));
  lines.push_back(account_line("Token expires", with_age(str(object, {"status", "expirationTimestamp"}), now)));
  lines.push_back(
      account_line("Token refreshed", with_age(str(object, {"status", "tokenSecretRef", "lastRefreshTimestamp"}), now)));
  lines.emplace_back("Conditions:");
  for (const Json& one : list_at(object, {"status", "conditions"})) {
    const std::string message = str(one, {"message"});
    lines.push_back("  " + str(one, {"type"}) + " " + str(one, {"status"}) + " " + str(one, {"reason"}) +
                    (message.empty() ? "" : ": " + message));
  }
  if (list_at(object, {"status", "conditions"}).empty()) lines.emplace_back("  <none>");
  report.names.push_back(full_name(api::managed_service_accounts(), name_of(object)));
  note_missing_agent(hub, options.cluster, report);
  erase_at(object, {"metadata", "managedFields"});
  report.data = std::move(object);
  return report;
}

}  // namespace

void register_msa_describe(Registry& registry) {
  Command command;
  command.path = "msa describe";
  command.group = "Add-ons";
  command.summary = "Describe a managed service account";
  command.description =
      "Shows the account, the ServiceAccount on the cluster that roles are bound to, and what has become of its token. The token "
      "itself is shown by \"msa token\" only.";
  command.args = {"NAME", 1, 1};
  command.aliases = {"describe msa"};
  command.examples = {{"One account", "fleetadm msa describe deployer --cluster c1"}};
  command.make = invocation<DescribeAccountOptions>(
      [](FlagSet& flags, DescribeAccountOptions& options) { account_cluster_flag(flags, &options.cluster); },
      [](const DescribeAccountOptions& options, const std::vector<std::string>& args) {
        return validate_account(options.cluster, args);
      },
      run_describe_account);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
