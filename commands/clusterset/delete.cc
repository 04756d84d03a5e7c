// clusterset delete: only a set that no namespace uses; the hub's own sets stay.
#include "commands/clusterset/clusterset.h"
#include "commands/framework/grammar.h"
#include "commands/framework/guard.h"
#include "commands/framework/named.h"
#include "commands/framework/write_report.h"
#include "core/api/kinds.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::commands {
namespace {

struct DeleteOptions {
  GuardOptions guard;
  bool wait = true;
  Duration timeout = kWaitTimeout;
};

Result<std::vector<std::string>> bound_namespaces(const kube::Client& hub, const std::string& set) {
  kube::ListOptions which;
  which.field_selector = "metadata.name=" + set;
  FLEETADM_TRY(const Json list, hub.list(api::managed_cluster_set_bindings(), "", which));
  std::vector<std::string> namespaces;
  for (const Json& binding : list_at(list, {"items"})) {
    if (name_of(binding) == set) namespaces.push_back(namespace_of(binding));
  }
  return namespaces;
}

Result<Report> run_delete(Context& context, const DeleteOptions& options, const std::vector<std::string>& args) {
  const std::string& name = args.front();
  FLEETADM_TRY(const auto hub, context.client());
  FLEETADM_TRY(auto existing, on_hub(hub.find(api::managed_cluster_sets(), "", name)));
  if (!existing) {
    Json nothing{{"apiVersion", api::managed_cluster_sets().api_version()},
                 {"kind", api::managed_cluster_sets().kind},
                 {"metadata", {{"name", name}}}};
    Report report = written_report(context, api::managed_cluster_sets(), std::move(nothing), "not found (nothing to delete)");
    NearNames near(hub, api::managed_cluster_sets());
    note_near(near, "cluster set", name, report);
    return report;
  }
  FLEETADM_TRY(const auto namespaces, bound_namespaces(hub, name));
  if (!namespaces.empty()) {
    return fail(Category::kConflict, "cluster set \"" + name + "\" is bound to namespace " + joined(namespaces, ", "),
                "unbind it first: fleetadm clusterset unbind " + name + " -n " + namespaces.front());
  }
  ProposedChange change;
  change.what = "deleting cluster set " + name;
  change.make = [&](placement::Objects& objects) { objects.remove(placement::ObjectKind::kSet, "", name); };
  std::vector<std::string> notes;
  FLEETADM_TRY(auto plan, guard_change(context, hub, options.guard, change, notes));
  if (plan) return std::move(*plan);
  kube::DeleteOptions how;
  how.uid = uid_of(*existing);
  auto removed = hub.remove(api::managed_cluster_sets(), "", name, how);
  if (!removed && removed.error().category != Category::kNotFound) return tl::unexpected(removed.error());
  if (!is_dry(context) && options.wait) {
    const std::string uid = uid_of(*existing);
    const auto gone = [&](const std::optional<Json>& object) -> Result<bool> { return !object || uid_of(*object) != uid; };
    const auto waited = kube::wait_for(hub, api::managed_cluster_sets(), "", name, gone, options.timeout, context.stop());
    if (!waited) return tl::unexpected(waited.error());
  }
  Report report = written_report(context, api::managed_cluster_sets(), std::move(*existing), "deleted");
  report.notes = std::move(notes);
  return report;
}

}  // namespace

void register_clusterset_delete(Registry& registry) {
  Command command;
  command.path = "clusterset delete";
  command.group = "Clusters";
  command.aliases = {"delete clusterset"};
  command.summary = "Delete a cluster set that is not bound to any namespace";
  command.description =
      "Deleting a set that does not exist succeeds. The sets \"default\" and \"global\" belong to the "
      "hub, which would re-create them.";
  command.description += kGuardText;
  command.args = {"NAME", 1, 1, false, Complete::kClusterSets};
  command.examples = {{"Delete a set", "fleetadm clusterset delete old"}};
  command.make = invocation<DeleteOptions>(
      [](FlagSet& flags, DeleteOptions& options) {
        wait_flag(flags, &options.wait, "Wait until it is deleted");
        timeout_flag(flags, &options.timeout, "How long to wait");
        bind_guard(flags, options.guard);
      },
      [](const DeleteOptions&, const std::vector<std::string>& args) -> Status {
        if (args.front() != api::kDefaultClusterSet && args.front() != api::kGlobalClusterSet) return {};
        return fail(Category::kUsage, "cluster set \"" + args.front() + "\" belongs to the hub",
                    "it is built in and would be re-created immediately");
      },
      run_delete);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
