// get RESOURCE --clusters …: objects of the clusters' own API servers, read through the gateway.
#include "commands/framework/members.h"

#include <optional>
#include <utility>

#include "commands/framework/grammar.h"
#include "commands/framework/listing.h"
#include "commands/get/get.h"
#include "commands/get/member_reader.h"
#include "commands/get/member_rows.h"
#include "commands/get/member_watch.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/plural.h"
#include "kubeclient/rest/path_check.h"

namespace fleetadm::commands {
namespace {

struct MemberGetOptions {
  MemberChoice members;
  MemberAsker asker;
  std::string selector;
  bool all_namespaces = false;
  Duration cluster_timeout = kClusterTimeout;
  bool watch = false;
  bool watch_only = false;
};

/// "pods web", "pods/web", "pods/web pods/api" as kubectl takes them.
Result<MemberQuery> query_of(const std::vector<std::string>& args) {
  MemberQuery query;
  const std::size_t slash = args.front().find('/');
  query.word = args.front().substr(0, slash);
  if (slash != std::string::npos) {
    for (const std::string& arg : args) {
      if (!arg.starts_with(query.word + "/"))
        return fail(Category::kUsage, "\"" + arg + "\" is not of the form " + query.word + "/NAME",
                    "objects of one type can be read at a time");
      query.names.push_back(arg.substr(query.word.size() + 1));
    }
  } else {
    query.names.assign(args.begin() + 1, args.end());
  }
  if (query.word.empty() || query.word.find(',') != std::string::npos)
    return fail(Category::kUsage, "\"" + args.front() + "\" does not name a resource type",
                "objects of one type can be read at a time");
  for (const std::string& name : query.names)
    if (!kube::is_path_name(name)) return fail(Category::kUsage, "\"" + name + "\" is not a valid object name");
  return query;
}

Status validate_member_get(const MemberGetOptions& options, const std::vector<std::string>& args) {
  FLEETADM_CHECK(validate_members(options.members, "--cluster-selector", false));
  FLEETADM_CHECK(validate_cluster_timeout(options.cluster_timeout));
  FLEETADM_CHECK(validate_account_name(options.asker.account));
  FLEETADM_TRY(const MemberQuery query, query_of(args));
  const bool watch = options.watch || options.watch_only;
  if (watch && query.names.size() > 1) return fail(Category::kUsage, "--watch takes at most one name");
  if (query.names.empty()) return {};
  if (!options.selector.empty()) return fail(Category::kUsage, "--selector cannot be combined with names");
  if (options.all_namespaces) return fail(Category::kUsage, "--all-namespaces cannot be combined with a name");
  return {};
}

/// "Nothing was read from 2 of 40 clusters: c3, c9", where the errors, which name five clusters at most, do not say so.
void note_silent(const std::vector<std::string>& silent, std::size_t all, Report& report) {
  if (silent.size() < 2) return;
  report.notes.push_back("Nothing was read from " + std::to_string(silent.size()) + " of " + pluralize(all, "cluster") + ": " +
                         joined(silent, ", "));
}

Result<Report> run_member_get(Context& context, const MemberGetOptions& options, const std::vector<std::string>& args) {
  const GlobalOptions& global = context.global();
  FLEETADM_TRY(MemberQuery query, query_of(args));
  if (!query.names.empty() && !global.list.field_selector.empty())
    return fail(Category::kUsage, "--field-selector cannot be combined with names");
  query.ns = options.all_namespaces ? "" : member_namespace(global);
  query.selector = options.selector;
  query.field_selector = global.list.field_selector;
  query.objects = wants_objects(global);
  const bool watch = options.watch || options.watch_only;
  if (watch && !query.names.empty()) {
    query.field_selector = "metadata.name=" + query.names.front();
    query.names.clear();
  }
  const bool single = query.names.size() == 1 && options.members.clusters.size() == 1;
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const MemberWay way, member_way(context, options.asker));
  const kube::Client gateway = context.client(way.server);
  FLEETADM_TRY(const ClusterTargets targets, chosen_members(hub, options.members));
  const std::vector<std::string>& clusters = targets.clusters;
  MemberReader reader(context, gateway, clusters, query, options.cluster_timeout);
  FLEETADM_CHECK(reader.read(hub));
  if (context.stop().stop_requested()) return fail(Category::kCancelled, "cancelled");

  Report report =
      member_report(clusters, reader.rows, global.list, options.all_namespaces, query.objects, member_columns(reader.rows));
  report.failures = targets.missing;
  std::vector<std::string> silent;
  std::size_t answered = 0;
  for (std::size_t which = 0; which < clusters.size(); ++which) {
    if (!reader.errors[which]) {
      ++answered;
      continue;
    }
    report.failures.push_back(at_member(*reader.errors[which], clusters[which]));
    if (report.failures.back().category != Category::kNotFound) silent.push_back(clusters[which]);
  }
  note_silent(silent, clusters.size(), report);
  if (watch) {
    report.event = Report::Event::kAdded;
    if (options.watch_only) {
      Report without;
      without.failures = std::move(report.failures);
      without.notes = std::move(report.notes);
      report = std::move(without);
    }
    context.emit(report);
    watch_members(context, gateway, clusters, query, reader, options.all_namespaces);
    // An interrupt is how a watch is meant to end.
    Report ended;
    ended.exit_code = 2;
    return ended;
  }
  // A cluster without objects has answered, too.
  if (!report.failures.empty() && answered > 0) report.exit_code = kPartialExitCode;
  if (!report.failures.empty() && report.table->rows.empty()) report.table->empty_text.clear();
  if (query.objects && single && list_at(report.data, {"items"}).size() == 1) {
    Json object = std::move(report.data["items"].front());
    report.data = std::move(object);
  }
  return report;
}

}  // namespace

void register_get_members(Registry& registry) {
  Command command;
  command.path = "get";
  command.group = "Clusters";
  command.summary = "List objects of many clusters";
  command.chosen_by = {"--clusters", "--cluster", "-c", "--cluster-selector", "--all-clusters"};
  command.description =
      "With --clusters, --cluster-selector or --all-clusters, \"get\" reads objects of any type from the API servers of managed "
      "clusters, all at once and through the hub's gateway, with your own identity: each cluster's RBAC decides what you see. "
      "Rows are as the cluster's server prints them, with the cluster in front. Documents (-o json) are lists of the objects; the "
      "annotation open-cluster-management.io/cluster-name of each tells its cluster.\n\n"
      "A cluster that has not answered within --cluster-timeout is left out and named on stderr, and the exit code is 3. The "
      "namespace is the one of -n, or \"default\". Types are named as in kubectl: deploy, deployments, deployments.apps. The "
      "fleet's own types are those of the hub, for example \"get clusters\".";
  command.args = {"RESOURCE [NAME...]", 1, -1};
  command.examples = {
      {"Pods of two clusters", "fleetadm get pods --clusters c1,c2 -n kube-system"},
      {"Deployments of the clusters of a region", "fleetadm get deploy -A --cluster-selector region=eu"},
      {"The images that run anywhere", "fleetadm get pods -A --all-clusters -o jsonpath='{.items[*].spec.containers[*].image}'"},
      {"One object of one cluster", "fleetadm get deploy web --cluster c1 -n apps -o yaml"}};
  command.make = invocation<MemberGetOptions>(
      [](FlagSet& flags, MemberGetOptions& options) {
        clusters_flag(flags, &options.members.clusters, "read from these clusters");
        Flag& which =
            flags.text(&options.members.selector, "cluster-selector", "read from the clusters that match this label selector");
        which.value_name = "SELECTOR";
        flags.boolean(&options.members.all, "all-clusters", "read from all clusters");
        asker_flags(flags, options.asker, "managed service account to read as, which each cluster has to have");
        object_flags(flags, options.selector);
        all_namespaces_flag(flags, &options.all_namespaces, "list across all namespaces");
        cluster_timeout_flag(flags, &options.cluster_timeout);
        watch_flags(flags, options.watch, options.watch_only);
      },
      validate_member_get, run_member_get);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
