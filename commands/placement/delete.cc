// placement delete: deletes and waits until it is gone; what is not there is done already.
#include "commands/framework/grammar.h"
#include "commands/framework/guard.h"
#include "commands/framework/named.h"
#include "commands/framework/write_report.h"
#include "commands/placement/placement.h"
#include "core/api/kinds.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::commands {
namespace {

constexpr std::string_view kNothing = "not found (nothing to delete)";

struct DeleteOptions {
  GuardOptions guard;
  bool wait = true;
  Duration timeout = kWaitTimeout;
};

Result<std::string> remove(Context& context, const kube::Client& hub, const std::string& ns, const std::string& name,
                           const DeleteOptions& options) {
  FLEETADM_TRY(const auto found, on_hub(hub.find(api::placements(), ns, name)));
  if (!found) return std::string(kNothing);
  kube::DeleteOptions how;
  how.uid = uid_of(*found);
  auto removed = hub.remove(api::placements(), ns, name, how);
  if (!removed && removed.error().category != Category::kNotFound) return tl::unexpected(removed.error());
  if (is_dry(context) || !options.wait) return std::string("deleted");
  const std::string uid = uid_of(*found);
  const auto gone = [&](const std::optional<Json>& object) -> Result<bool> { return !object || uid_of(*object) != uid; };
  const auto waited = kube::wait_for(hub, api::placements(), ns, name, gone, options.timeout, context.stop());
  if (!waited)
    return tl::unexpected(
        waited.error().with_hint("a finalizer may block the deletion: kubectl get placement " + name + " -n " + ns + " -o yaml"));
  return std::string("deleted");
}

Result<Report> run_delete(Context& context, const DeleteOptions& options, const std::vector<std::string>& names) {
  FLEETADM_TRY(const auto hub, context.client());
  FLEETADM_TRY(const auto ns, context.ns());
  Report report;
  ProposedChange change;
  change.what =
      (names.size() == 1 ? "deleting placement " : "deleting placements ") + work::some_names({names.begin(), names.end()});
  change.ns = ns;
  change.make = [&](placement::Objects& objects) {
    for (const std::string& name : names) objects.remove(placement::ObjectKind::kPlacement, ns, name);
  };
  FLEETADM_TRY(auto plan, guard_change(context, hub, options.guard, change, report.notes));
  if (plan) return std::move(*plan);
  Json items = Json::array();
  NearNames near(hub, api::placements(), ns);
  for (const std::string& name : names) {
    auto outcome = remove(context, hub, ns, name, options);
    if (!outcome) {
      if (names.size() == 1) return tl::unexpected(std::move(outcome).error());
      report.failures.push_back(std::move(outcome).error());
      continue;
    }
    report.lines.push_back(told(context, api::placements(), name, *outcome));
    if (*outcome == kNothing) note_near(near, "placement", name, report);
    report.names.push_back(full_name(api::placements(), name));
    items.push_back({{"namespace", ns}, {"name", name}, {"outcome", *outcome}});
  }
  report.data = {{"kind", "DeleteReport"}, {"placements", std::move(items)}};
  return report;
}

}  // namespace

void register_placement_delete(Registry& registry) {
  Command command;
  command.path = "placement delete";
  command.group = "Placement";
  command.aliases = {"delete placement"};
  command.summary = "Delete placements";
  command.description =
      "Deletes the placements and their decisions; works that were distributed by them are kept. "
      "Deleting a placement that does not exist succeeds.";
  command.description += kGuardText;
  command.args = {"NAME [NAME...]", 1, -1, false, Complete::kPlacements};
  command.examples = {{"See which works would be affected", "fleetadm placement delete web -n apps --plan"}};
  command.make = invocation<DeleteOptions>(
      [](FlagSet& flags, DeleteOptions& options) {
        wait_flag(flags, &options.wait, "Wait until it is deleted");
        timeout_flag(flags, &options.timeout, "How long to wait");
        bind_guard(flags, options.guard);
      },
      [](const DeleteOptions&, const std::vector<std::string>&) -> Status { return {}; }, run_delete);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
