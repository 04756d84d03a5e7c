// work diff: what is on the clusters against what the work says, or what the work says against a file.
#include "core/work/plan/diff.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "commands/framework/files.h"
#include "commands/framework/grammar.h"
#include "commands/framework/manifests.h"
#include "commands/work/selection.h"
#include "commands/work/work.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/plural.h"
#include "kubeclient/discovery/mapper.h"

namespace fleetadm::commands {
namespace {

constexpr std::size_t kAtOnce = 8;  // clusters asked at the same time

struct DiffOptions {
  std::vector<std::string> files;
  std::vector<std::string> clusters;
  std::vector<std::string> spokes;  // CLUSTER=CONTEXT
  std::string spoke_kubeconfig;
};

using Changes = std::vector<work::ObjectChange>;

Result<std::map<std::string, std::string>> spoke_contexts(const std::vector<std::string>& pairs) {
  std::map<std::string, std::string> contexts;
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == pair.size())
      return fail(Category::kUsage, "\"" + pair + "\" is not CLUSTER=CONTEXT");
    contexts[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return contexts;
}

/// The live objects of one cluster against its works.
Result<Changes> live_changes(const kube::Client& spoke, const std::vector<Json>& works) {
  kube::Mapper mapper(spoke);
  const work::Resolve resolve = [&](const std::string& api_version, const std::string& kind) -> Result<kube::Resource> {
    FLEETADM_TRY(kube::DiscoveredResource known, mapper.by_kind(api_version, kind));
    return known.resource;
  };
  Changes changes;
  for (const Json& work : works) {
    for (const work::Manifest& manifest : work::decode_manifests(work, resolve)) {
      if (manifest.same_as) continue;
      if (manifest.error) {
        if (manifest.error->category == Category::kUnavailable || manifest.error->category == Category::kTimeout)
          return tl::unexpected(*manifest.error);
        changes.push_back({manifest.describe(), work::ObjectState::kUnreadable, {}, manifest.error->message});
        continue;
      }
      Result<std::optional<Json>> live = spoke.find(*manifest.resource, manifest.ns, manifest.name);
      if (!live) return tl::unexpected(live.error());
      work::ObjectChange change = work::drift_of(manifest, work::options_for(work, manifest), *live);
      if (change.state != work::ObjectState::kSame) changes.push_back(std::move(change));
    }
  }
  return changes;
}

struct ClusterDiff {
  std::string cluster;
  Changes changes;
};

struct Found {
  std::vector<ClusterDiff> diffs;
  std::vector<Error> failures;
};

std::map<std::string, std::vector<Json>> by_cluster(const std::vector<Json>& works) {
  std::map<std::string, std::vector<Json>> clusters;
  for (const Json& work : works) clusters[namespace_of(work)].push_back(work);
  return clusters;
}

/// Each cluster through its context, some at the same time; one that cannot be asked is a failure of its own.
Result<Found> against_clusters(Context& context, const DiffOptions& options, const std::vector<Json>& works) {
  FLEETADM_TRY(const auto contexts, spoke_contexts(options.spokes));
  struct Task {
    std::string cluster;
    std::vector<Json> works;
    std::optional<kube::Client> spoke;
    Result<Changes> changes = Changes{};
  };
  std::vector<Task> tasks;
  for (auto& [cluster, its] : by_cluster(works)) {
    Task task{cluster, its, std::nullopt, Changes{}};
    kube::ConfigOverrides which = context.global().config;
    if (!options.spoke_kubeconfig.empty()) which.kubeconfig = options.spoke_kubeconfig;
    const auto named = contexts.find(cluster);
    which.context = named == contexts.end() ? cluster : named->second;
    which.cluster.clear();
    which.user.clear();
    Result<kube::RestConfig> config = context.rest_config(which);
    if (config) {
      task.spoke = context.client(*config);
    } else {
      task.changes = tl::unexpected(config.error().with_hint("name the cluster's context with --spoke " + cluster +
                                                             "=CONTEXT, and its file with --spoke-kubeconfig FILE"));
    }
    tasks.push_back(std::move(task));
  }
  std::atomic<std::size_t> next = 0;
  {
    std::vector<std::jthread> workers;
    for (std::size_t i = 0; i < std::min(kAtOnce, tasks.size()); ++i) {
      workers.emplace_back([&] {
        for (std::size_t at = next++; at < tasks.size(); at = next++) {
          if (tasks[at].spoke && !context.stop().stop_requested())
            tasks[at].changes = live_changes(*tasks[at].spoke, tasks[at].works);
        }
      });
    }
  }
  if (context.stop().stop_requested()) return fail(Category::kCancelled, "stopped");
  Found found;
  for (Task& task : tasks) {
    if (task.changes) {
      found.diffs.push_back({task.cluster, std::move(*task.changes)});
    } else {
      found.failures.push_back(task.changes.error().with_cluster(task.cluster));
    }
  }
  return found;
}

/// What applying the files would change in the works; no cluster is asked.
Result<Found> against_files(Context& context, const DiffOptions& options, const std::vector<Json>& works) {
  FLEETADM_TRY(const std::vector<LoadedManifest> loaded, load_manifests(context, options.files));
  Json wanted = manifest_list(loaded);
  // The file may be a work itself.
  if (loaded.size() == 1 && str(wanted[0], {"kind"}) == "ManifestWork")
    wanted = Json(list_at(loaded.front().object, {"spec", "workload", "manifests"}));
  Found found;
  for (const auto& [cluster, its] : by_cluster(works)) {
    Json manifests = Json::array();
    for (const Json& work : its) {
      for (const Json& manifest : list_at(work, {"spec", "workload", "manifests"})) manifests.push_back(manifest);
    }
    found.diffs.push_back({cluster, work::manifest_changes(manifests, wanted)});
  }
  return found;
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : dump_json(value); }

void add_lines(const work::ObjectChange& change, std::vector<std::string>& lines) {
  std::string head = "  " + change.object;
  if (change.state != work::ObjectState::kChanged) head += ": " + std::string(work::word_of(change.state));
  lines.push_back(head + (change.note.empty() ? "" : " (" + change.note + ")"));
  for (const work::FieldChange& field : change.fields) {
    if (!field.before.is_null()) {
      lines.push_back("    - " + field.path + ": " + text_of(field.before) +
                      (field.manager.empty() ? "" : "   (by " + field.manager + ")"));
    }
    if (!field.after.is_null()) lines.push_back("    + " + field.path + ": " + text_of(field.after));
  }
}

/// Clusters with equal differences together, the largest group first.
Report report_of(const Found& found) {
  std::map<std::string, std::pair<Json, std::vector<const ClusterDiff*>>> groups;
  std::vector<std::string> same;
  for (const ClusterDiff& diff : found.diffs) {
    if (diff.changes.empty()) {
      same.push_back(diff.cluster);
      continue;
    }
    Json objects = Json::array();
    for (const work::ObjectChange& change : diff.changes) objects.push_back(work::to_json(change));
    auto& group = groups[dump_json(objects)];
    group.first = std::move(objects);
    group.second.push_back(&diff);
  }
  std::vector<std::pair<Json, std::vector<const ClusterDiff*>>> sorted;
  for (auto& [key, group] : groups) sorted.push_back(std::move(group));
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  Report report;
  Json items = Json::array();
  for (auto& [objects, diffs] : sorted) {
    std::vector<std::string> clusters;
    for (const ClusterDiff* diff : diffs) clusters.push_back(diff->cluster);
    report.lines.push_back(pluralize(clusters.size(), "cluster") + ": " + joined(clusters, ", "));
    for (const work::ObjectChange& change : diffs.front()->changes) add_lines(change, report.lines);
    items.push_back({{"clusters", clusters}, {"objects", std::move(objects)}});
  }
  if (!same.empty()) report.notes.push_back("No differences: " + joined(same, ", ") + ".");
  report.data = {{"kind", "WorkDiff"}, {"groups", std::move(items)}, {"same", same}};
  report.failures = found.failures;
  if (!sorted.empty() && found.failures.empty()) report.exit_code = 1;
  if (!found.diffs.empty() && !found.failures.empty()) report.exit_code = kPartialExitCode;  // equal clusters have no line
  return report;
}

Result<Report> run_diff(Context& context, const DiffOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const std::string ns, context.ns());
  FLEETADM_TRY(const WorkSelection selection, select_works(hub, args.front(), ns, std::nullopt));
  FLEETADM_TRY(const std::vector<Json> works, list_works(hub, selection, options.clusters));
  if (works.empty()) {
    return fail(no_such_work(hub, args.front(), options.clusters));
  }
  FLEETADM_TRY(const Found found,
               options.files.empty() ? against_clusters(context, options, works) : against_files(context, options, works));
  if (found.diffs.empty() && found.failures.size() == 1) return tl::unexpected(found.failures.front());
  return report_of(found);
}

}  // namespace

void register_work_diff(Registry& registry) {
  Command command;
  command.path = "work diff";
  command.group = "Work";
  command.summary = "Compare live objects with a work, or a work with a file";
  command.description =
      "Without -f, the live objects are read through each cluster's own context (the one with the "
      "cluster's name, or the one given with --spoke) and compared with the result of the work's update "
      "strategies. Lines starting with - show the live value and the manager that wrote it, "
      "lines starting with + the value in the work. With -f, it shows what applying the file would "
      "change, and does not contact any cluster. Clusters with equal differences are shown together. "
      "Values of Secrets are never shown. The exit code is 1 if there are differences.";
  command.args = {"NAME", 1, 1, false, Complete::kWorks};
  command.examples = {
      {"Show what changed on the clusters, and who changed it", "fleetadm work diff web --spoke-kubeconfig spokes.yaml"},
      {"One cluster whose context has another name", "fleetadm work diff web --cluster c1 --spoke c1=kind-c1"},
      {"Preview an apply", "fleetadm work diff web -f web.yaml"}};
  command.make = invocation<DiffOptions>(
      [](FlagSet& flags, DiffOptions& options) {
        filenames_flag(flags, &options.files, "compare the work with these manifests (file, folder or -)");
        only_clusters_flag(flags, options.clusters);
        Flag& spoke = flags.comma_texts(&options.spokes, "spoke", "context to use for a cluster; may be repeated");
        spoke.value_name = "CLUSTER=CONTEXT";
        file_flag(flags, &options.spoke_kubeconfig, "spoke-kubeconfig", "kubeconfig file that contains these contexts");
      },
      [](const DiffOptions& options, const std::vector<std::string>&) -> Status {
        if (options.files.empty() || (options.spokes.empty() && options.spoke_kubeconfig.empty())) return {};
        return fail(Category::kUsage,
                    "-f cannot be combined with --spoke or --spoke-kubeconfig: it does not contact any cluster");
      },
      run_diff);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
