// msa delete: the account, its ServiceAccount on the cluster and its Secret go.
#include "commands/framework/accounts.h"
#include "commands/framework/grammar.h"
#include "commands/framework/named.h"
#include "commands/framework/write_report.h"
#include "commands/msa/msa.h"
#include "core/api/managed_service_account.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::commands {
namespace {

struct DeleteAccountsOptions {
  std::string cluster;
  bool wait = true;
  Duration timeout = kWaitTimeout;
};

Status wait_until_account_gone(Context& context, const kube::Client& hub, const DeleteAccountsOptions& options,
                               const Json& object) {
  const auto gone = [&](const std::optional<Json>& live) -> Result<bool> { return !live || uid_of(*live) != uid_of(object); };
  const auto waited = kube::wait_for(hub, api::managed_service_accounts(), options.cluster, name_of(object), gone,
                                     options.timeout, context.stop());
  if (!waited) return tl::unexpected(waited.error());
  return {};
}

Result<Report> run_delete_accounts(Context& context, const DeleteAccountsOptions& options, const std::vector<std::string>& args) {
  const auto& type = api::managed_service_accounts();
  FLEETADM_TRY(const auto hub, context.client());
  Report report;
  NearNames near(hub, type, options.cluster);
  Json deleted = Json::array();
  for (const std::string& name : args) {
    FLEETADM_TRY(const auto existing, with_account_kind(hub.find(type, options.cluster, name)));
    if (!existing) {
      report.lines.push_back(told(context, type, name, "not found (nothing to delete)"));
      note_near(near, "managed service account", name, report);
      continue;
    }
    kube::DeleteOptions exactly;
    exactly.uid = uid_of(*existing);
    const auto removed = hub.remove(type, options.cluster, name, exactly);
    Status done;
    if (!removed && removed.error().category != Category::kNotFound) done = tl::unexpected(removed.error());
    if (done && options.wait && !is_dry(context)) done = wait_until_account_gone(context, hub, options, *existing);
    if (!done) {
      if (args.size() == 1) return tl::unexpected(done.error());
      report.failures.push_back(done.error());
      continue;
    }
    report.lines.push_back(told(context, type, name, "deleted from cluster " + options.cluster));
    report.names.push_back(full_name(type, name));
    deleted.push_back({{"namespace", options.cluster}, {"name", name}});
  }
  report.data = Json{{"kind", "DeleteReport"}, {"accounts", std::move(deleted)}};
  return report;
}

}  // namespace

void register_msa_delete(Registry& registry) {
  Command command;
  command.path = "msa delete";
  command.group = "Add-ons";
  command.summary = "Delete managed service accounts";
  command.description =
      "The cluster's agent deletes the ServiceAccount, and with it its tokens end; the hub deletes the Secret. Role bindings on "
      "the cluster stay, and a later account of that name has them. Deleting one that does not exist succeeds.";
  command.args = {"NAME...", 1, -1};
  command.aliases = {"delete msa"};
  command.examples = {{"One account", "fleetadm msa delete deployer --cluster c1"}};
  command.make = invocation<DeleteAccountsOptions>(
      [](FlagSet& flags, DeleteAccountsOptions& options) {
        account_cluster_flag(flags, &options.cluster);
        wait_flag(flags, &options.wait, "Wait until they are deleted on the hub");
        timeout_flag(flags, &options.timeout, "How long to wait");
      },
      [](const DeleteAccountsOptions& options, const std::vector<std::string>& args) {
        return validate_account(options.cluster, args);
      },
      run_delete_accounts);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
