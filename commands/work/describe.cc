// work describe: one work for people: what it asks for, what was reported, manifest by manifest.
#include <algorithm>
#include <utility>

#include "commands/framework/listing.h"
#include "commands/framework/write_report.h"
#include "commands/work/selection.h"
#include "commands/work/work.h"
#include "core/api/kinds.h"
#include "core/work/rules/conditions.h"
#include "core/work/rules/names.h"
#include "core/work/rules/progress.h"

namespace fleetadm::commands {
namespace {

struct DescribeOptions {
  std::vector<std::string> clusters;
};

std::string row(std::string_view name, std::string_view text) {
  std::string line(name);
  line += ":";
  line.resize(std::max<std::size_t>(line.size() + 1, 14), ' ');
  return line + std::string(text);
}

std::string condition_line(const Json& condition, Instant now) {
  const auto since = parse_time(str(condition, {"lastTransitionTime"}));
  const std::string message = str(condition, {"message"});
  return str(condition, {"type"}) + " is " + str(condition, {"status"}) + " since " +
         (since ? format_age(*since, now) : "<unknown>") + ": " + str(condition, {"reason"}) +
         (message.empty() ? "" : ", " + message);
}

std::string feedback_text(const Json& values) {
  std::string text;
  for (const Json& value : values) {
    const Json& field = object_at(value, {"fieldValue"});
    for (const auto& [key, member] : field.items()) {
      if (key == "type") continue;
      text += (text.empty() ? "" : ", ") + str(value, {"name"}) + "=" +
              (member.is_string() ? member.get<std::string>() : dump_json(member));
    }
  }
  return text;
}

std::string executor_text(const Json& work) {
  const Json& account = object_at(work, {"spec", "executor", "subject", "serviceAccount"});
  if (account.empty()) return {};
  return "system:serviceaccount:" + str(account, {"namespace"}) + ":" + str(account, {"name"});
}

void describe_spec(const Json& work, Instant now, std::vector<std::string>& lines) {
  lines.push_back(row("Name", name_of(work)));
  lines.push_back(row("Cluster", namespace_of(work)));
  if (std::string set = label_of(work, work::kReplicaSetLabel); !set.empty()) {
    if (const std::size_t dot = set.find('.'); dot != std::string::npos) set[dot] = '/';
    lines.push_back(row("Set", set + " (placement " + label_of(work, work::kPlacementNameLabel) + ")"));
  }
  if (const std::string whole = label_of(work, kSplitLabel); !whole.empty()) lines.push_back(row("Part of", whole));
  lines.push_back(row("Age", age_cell(work, now)));
  lines.push_back(row("Generation", std::to_string(num(work, {"metadata", "generation"}))));
  const std::string policy = str(work, {"spec", "deleteOption", "propagationPolicy"}, "Foreground");
  lines.push_back(row("On deletion", policy == "Orphan"              ? "all objects are kept (Orphan)"
                                     : policy == "SelectivelyOrphan" ? "some objects are kept (SelectivelyOrphan)"
                                                                     : "the objects are deleted (" + policy + ")"));
  if (const Json* ttl = find(work, {"spec", "deleteOption", "ttlSecondsAfterFinished"}); ttl != nullptr && ttl->is_number())
    lines.push_back(row("Kept for", dump_json(*ttl) + "s after it is complete"));
  if (const std::string executor = executor_text(work); !executor.empty()) lines.push_back(row("Executor", executor));
}

void describe_manifests(const Json& work, const work::WorkProgress& progress, Instant now, std::vector<std::string>& lines) {
  lines.emplace_back("Manifests:");
  if (progress.manifests.empty()) lines.emplace_back("  <none>");
  const Json& entries = list_at(work, {"status", "resourceStatus", "manifests"});
  for (const work::ManifestProgress& manifest : progress.manifests) {
    lines.push_back("  " + manifest.describe() + " is " + manifest.state);
    const Json* entry = work::status_entry(entries, manifest.meta);
    if (entry == nullptr) continue;
    for (const Json& condition : list_at(*entry, {"conditions"})) lines.push_back("    " + condition_line(condition, now));
    if (const std::string feedback = feedback_text(list_at(*entry, {"statusFeedback", "values"})); !feedback.empty())
      lines.push_back("    reports " + feedback);
  }
}

void describe(const Json& work, const std::map<std::string, Json>& clusters, Instant now, std::vector<std::string>& lines) {
  if (!lines.empty()) lines.emplace_back();
  describe_spec(work, now, lines);
  const work::WorkProgress progress = work::progress_of(work);
  std::string state = progress.state;
  if (progress.since) state += " for " + format_age(*progress.since, now);
  if (progress.blocking && !progress.blocking->message.empty()) state += ": " + progress.blocking->message;
  lines.push_back(row("State", state));
  if (const auto cluster = clusters.find(namespace_of(work)); cluster != clusters.end()) {
    if (const auto why = work::unreachable(cluster->second)) {
      lines.push_back(row("Unreachable", (why->since ? "for " + format_age(*why->since, now) + ": " : "") + why->message +
                                             " (the status below is the last one reported)"));
    }
  }
  lines.emplace_back("Conditions:");
  const Json& conditions = list_at(work, {"status", "conditions"});
  if (conditions.empty()) lines.emplace_back("  <none>: the cluster's agent has not processed it yet");
  for (const Json& condition : conditions) lines.push_back("  " + condition_line(condition, now));
  describe_manifests(work, progress, now, lines);
}

Result<Report> run_describe(Context& context, const DescribeOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const std::string ns, context.ns());
  FLEETADM_TRY(const WorkSelection selection, select_works(hub, args.front(), ns, std::nullopt));
  FLEETADM_TRY(std::vector<Json> works, list_works(hub, selection, options.clusters));
  if (works.empty()) {
    return fail(no_such_work(hub, args.front(), options.clusters));
  }
  Report report;
  const std::map<std::string, Json> clusters = clusters_by_name(hub, report.notes);
  for (const Json& work : works) {
    describe(work, clusters, context.clock().now(), report.lines);
    report.names.push_back(full_name(api::manifest_works(), name_of(work)));
  }
  report.data = works.size() == 1 ? works.front() : list_of(std::move(works));
  return report;
}

}  // namespace

void register_work_describe(Registry& registry) {
  Command command;
  command.path = "work describe";
  command.group = "Work";
  command.aliases = {"describe work"};
  command.summary = "Show a work's spec and its reported status";
  command.description = "Without --cluster, the work is shown for each of its clusters.";
  command.args = {"NAME", 1, 1, false, Complete::kWorks};
  command.examples = {{"One work on one cluster", "fleetadm work describe web --cluster c1"}};
  command.make = invocation<DescribeOptions>(
      [](FlagSet& flags, DescribeOptions& options) { only_clusters_flag(flags, options.clusters); },
      [](const DescribeOptions&, const std::vector<std::string>&) -> Status { return {}; }, run_describe);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
