// clusterset bind and unbind: makes a set usable by the placements of a namespace.
#include "commands/clusterset/clusterset.h"
#include "commands/framework/guard.h"
#include "commands/framework/named.h"
#include "commands/framework/write_report.h"
#include "core/api/kinds.h"

namespace fleetadm::commands {
namespace {

struct BindOptions {};

struct UnbindOptions {
  GuardOptions guard;
};

Report binding_report(Context& context, const std::string& set, const std::string& ns, std::string_view what, Json object) {
  Report report;
  report.lines.push_back(told(context, api::managed_cluster_sets(), set, std::string(what) + " namespace " + ns));
  report.names.push_back(full_name(api::managed_cluster_set_bindings(), set));
  report.data = std::move(object);
  return report;
}

Result<Report> bind(Context& context, const BindOptions&, const std::vector<std::string>& args) {
  const std::string& set = args.front();
  FLEETADM_TRY(const auto hub, context.client());
  FLEETADM_TRY(const auto ns, context.ns());
  FLEETADM_TRY(const auto existing_set, on_hub(hub.find(api::managed_cluster_sets(), "", set)));
  if (!existing_set) {
    return fail(Category::kNotFound, "cluster set \"" + set + "\" does not exist",
                NearNames(hub, api::managed_cluster_sets()).hint(set, "create it with: fleetadm clusterset create " + set));
  }
  FLEETADM_TRY(auto existing, hub.find(api::managed_cluster_set_bindings(), ns, set));
  if (existing) return binding_report(context, set, ns, "is already bound to", std::move(*existing));
  const Json wanted{{"apiVersion", api::managed_cluster_set_bindings().api_version()},
                    {"kind", api::managed_cluster_set_bindings().kind},
                    {"metadata", {{"name", set}, {"namespace", ns}}},
                    {"spec", {{"clusterSet", set}}}};
  auto written = hub.create(api::managed_cluster_set_bindings(), ns, wanted);
  if (!written && written.error().category == Category::kNotFound) {
    return tl::unexpected(written.error().with_hint("create the namespace first: kubectl create namespace " + ns));
  }
  if (!written && written.error().category == Category::kAuth) {
    return tl::unexpected(written.error().with_hint("you need permission to create managedclustersets/bind for this set"));
  }
  FLEETADM_TRY(Json binding, std::move(written));
  FLEETADM_TRY(Json stored, read_back(context, hub, api::managed_cluster_set_bindings(), ns, set, wanted, std::move(binding)));
  return binding_report(context, set, ns, "bound to", std::move(stored));
}

Result<Report> unbind(Context& context, const UnbindOptions& options, const std::vector<std::string>& args) {
  const std::string& set = args.front();
  FLEETADM_TRY(const auto hub, context.client());
  FLEETADM_TRY(const auto ns, context.ns());
  // A binding whose set is gone can still be removed.
  FLEETADM_TRY(const auto existing, on_hub(hub.find(api::managed_cluster_set_bindings(), ns, set)));
  ProposedChange change;
  change.what = "unbinding cluster set " + set + " from namespace " + ns;
  change.ns = ns;
  change.make = [&](placement::Objects& objects) { objects.remove(placement::ObjectKind::kBinding, ns, set); };
  std::vector<std::string> notes;
  if (existing || options.guard.plan) {
    FLEETADM_TRY(auto plan, guard_change(context, hub, options.guard, change, notes));
    if (plan) return std::move(*plan);
  }
  if (!existing)
    return binding_report(context, set, ns, "is not bound to", Json{{"kind", "DeleteReport"}, {"bindings", Json::array()}});
  kube::DeleteOptions how;
  how.uid = uid_of(*existing);
  auto removed = hub.remove(api::managed_cluster_set_bindings(), ns, set, how);
  if (!removed && removed.error().category != Category::kNotFound) return tl::unexpected(removed.error());
  if (!is_dry(context)) {
    FLEETADM_TRY(const auto left, hub.find(api::managed_cluster_set_bindings(), ns, set));
    if (left && !is_deleting(*left)) {
      return fail(Category::kConflict, "the binding of cluster set \"" + set + "\" in namespace \"" + ns + "\" exists again",
                  "someone else bound the set; run the command again");
    }
  }
  Report report = binding_report(context, set, ns, "unbound from",
                                 Json{{"kind", "DeleteReport"}, {"bindings", {{{"namespace", ns}, {"name", set}}}}});
  report.notes = std::move(notes);
  return report;
}

template <class Options>
Status check(const Options&, const std::vector<std::string>& args) {
  return check_name("cluster set", args.front());
}

}  // namespace

void register_clusterset_bind(Registry& registry) {
  Command command;
  command.path = "clusterset bind";
  command.group = "Clusters";
  command.summary = "Bind a cluster set to a namespace, so that placements there can select from it";
  command.args = {"SET", 1, 1, false, Complete::kClusterSets};
  command.examples = {{"Let placements in apps select from prod", "fleetadm clusterset bind prod -n apps"}};
  command.make = invocation<BindOptions>([](FlagSet&, BindOptions&) {}, check<BindOptions>, bind);
  registry.add(std::move(command));
}

void register_clusterset_unbind(Registry& registry) {
  Command command;
  command.path = "clusterset unbind";
  command.group = "Clusters";
  command.summary = "Unbind a cluster set from a namespace";
  command.description =
      "Deletes the binding: placements in the namespace no longer select clusters from the set, and drop "
      "those already selected. Unbinding a set that is not bound succeeds.";
  command.description += kGuardText;
  command.args = {"SET", 1, 1, false, Complete::kClusterSets};
  command.examples = {{"Preview the change", "fleetadm clusterset unbind prod -n apps --plan"}};
  command.make = invocation<UnbindOptions>([](FlagSet& flags, UnbindOptions& options) { bind_guard(flags, options.guard); },
                                           check<UnbindOptions>, unbind);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
