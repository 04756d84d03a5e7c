// work get: a row a work.
#include <algorithm>
#include <utility>

#include "commands/framework/named.h"
#include "commands/work/selection.h"
#include "commands/work/work.h"
#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "core/work/names.h"
#include "core/work/progress.h"

namespace fleetadm::commands {
namespace {

struct GetOptions {
  std::vector<std::string> clusters;
  bool all = false;  // every cluster, which is also the default: kubectl's users write -A
  std::string selector;
};

std::string status_of(const Json& work, std::string_view type) {
  const Json* condition = controller::find_condition(work, type);
  return condition == nullptr ? "Unknown" : str(*condition, {"status"});
}

std::string set_of(const Json& work) {
  std::string owner = label_of(work, work::kReplicaSetLabel);
  if (const std::size_t dot = owner.find('.'); dot != std::string::npos) owner[dot] = '/';
  return owner;
}

bool named(const Json& work, const std::vector<std::string>& names) {
  if (names.empty()) return true;
  const std::string set = set_of(work);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return name_of(work) == name || set == name || kube::split_key(set).name == name || label_of(work, kSplitLabel) == name;
  });
}

std::string why_of(const Json& work) {
  for (const std::string_view type :
       {work::kConditionDeleting, work::kConditionApplied, work::kConditionAvailable, work::kConditionReady}) {
    const Json* condition = controller::find_condition(work, type);
    if (condition == nullptr) continue;
    if ((str(*condition, {"status"}) != "True") != (type == work::kConditionDeleting)) return str(*condition, {"message"});
  }
  return {};
}

std::vector<std::string> row_of(const Json& work, Instant now) {
  const std::optional<Instant> created = parse_time(str(work, {"metadata", "creationTimestamp"}));
  const std::string placement = label_of(work, work::kPlacementNameLabel);
  const std::string set = set_of(work);
  return {namespace_of(work),
          name_of(work),
          std::to_string(list_at(work, {"spec", "workload", "manifests"}).size()),
          status_of(work, work::kConditionApplied),
          status_of(work, work::kConditionAvailable),
          work::ready_text(work),
          placement.empty() ? "<none>" : placement,
          created ? format_age(*created, now) : "<unknown>",
          set.empty() ? "<none>" : set,
          why_of(work)};
}

Status add_works(const kube::Client& hub, const std::string& ns, const GetOptions& options, const std::vector<std::string>& names,
                 std::vector<Json>& works) {
  kube::ListOptions which;
  which.label_selector = options.selector;
  const Status listed = hub.list_each(api::manifest_works(), ns, which, [&](Json&& work) -> Status {
    if (named(work, names)) works.push_back(std::move(work));
    return {};
  });
  if (!listed) return tl::unexpected(on_hub(listed.error()));
  return {};
}

Result<Report> run_get(Context& context, const GetOptions& options, const std::vector<std::string>& names) {
  FLEETADM_TRY(const kube::Client hub, context.client());
  std::vector<Json> works;
  std::vector<std::string> namespaces = options.clusters;
  if (namespaces.empty()) namespaces.emplace_back();
  for (const std::string& ns : namespaces) {
    const std::size_t before = works.size();
    FLEETADM_CHECK(add_works(hub, ns, options, names, works));
    if (!ns.empty() && works.size() == before) FLEETADM_CHECK(cluster_exists(hub, ns));
  }
  std::sort(works.begin(), works.end(), [](const Json& a, const Json& b) {
    return std::pair(namespace_of(a), name_of(a)) < std::pair(namespace_of(b), name_of(b));
  });
  Report report;
  report.table.emplace();
  report.table->columns = {{"CLUSTER"}, {"NAME"},      {"MANIFESTS"}, {"APPLIED"},   {"AVAILABLE"},
                           {"READY"},   {"PLACEMENT"}, {"AGE"},       {"SET", true}, {"MESSAGE", true}};
  report.table->empty_text = options.clusters.empty() ? "No works found." : "No works found for these clusters.";
  const Instant now = context.clock().now();
  for (const Json& work : works) {
    report.table->rows.push_back(row_of(work, now));
    report.names.push_back(qualified_name(api::manifest_works(), name_of(work)));
  }
  NearNames near(hub, api::manifest_works(), options.clusters.size() == 1 ? options.clusters.front() : "");
  for (const std::string& name : names) {
    const bool found = std::any_of(works.begin(), works.end(), [&](const Json& work) { return named(work, {name}); });
    if (found) continue;
    Error error =
        fail(Category::kNotFound, "there is no work \"" + name + "\"" + (options.clusters.empty() ? "" : " for these clusters"),
             near.hint(name, "list works with: fleetadm work get"))
            .value();
    if (names.size() == 1) return tl::unexpected(std::move(error));
    report.failures.push_back(std::move(error));
  }
  report.data = names.size() == 1 && works.size() == 1 ? works.front() : list_of(std::move(works));
  return report;
}

}  // namespace

void register_work_get(Registry& registry) {
  Command command;
  command.path = "work get";
  command.group = "Work";
  command.summary = "List works and whether they are applied and available";
  command.description =
      "NAME is a work's name, or the name of the ManifestWorkReplicaSet that created it. "
      "-o wide adds the reason for anything that is not healthy.";
  command.args = {"[NAME...]", 0, -1};
  command.args.complete = Complete::kWorks;
  command.examples = {{"All works for one cluster", "fleetadm work get --cluster c1"},
                      {"One work on all of its clusters, with reasons", "fleetadm work get web -o wide"}};
  command.make = invocation<GetOptions>(
      [](FlagSet& flags, GetOptions& options) {
        Flag& cluster = flags.comma_texts(&options.clusters, "cluster", "only works for this cluster; may be repeated");
        cluster.value_name = "NAME";
        cluster.complete = Complete::kClusters;
        flags.boolean(&options.all, "all-clusters", "works for all clusters (the default)", 'A');
        flags.text(&options.selector, "selector", "only works with these labels", 'l').value_name = "SELECTOR";
      },
      [](const GetOptions& options, const std::vector<std::string>&) -> Status {
        if (options.all && !options.clusters.empty()) return fail(Category::kUsage, "--cluster cannot be combined with -A");
        return {};
      },
      run_get);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
