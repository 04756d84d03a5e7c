// cluster describe: what the hub knows of one cluster, for people.
#include "commands/cluster/cluster.h"
#include "commands/cluster/description.h"
#include "commands/framework/description.h"
#include "commands/framework/listing.h"
#include "commands/framework/write_report.h"
#include "core/api/kinds.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/names.h"

namespace fleetadm::commands {
namespace {

struct DescribeClusterOptions {};
using Lines = std::vector<std::string>;

std::string age_of(const Json& entry, const char* member, Instant now) {
  const auto at = parse_time(str(entry, {member}));
  return at ? format_age(*at, now) : "<unknown>";
}

std::string deleted_suffix(const Json& entry) { return flag(entry, {"deleting"}) ? ", being deleted" : ""; }

std::string lease_text(const Json& lease) {
  if (str(lease, {"renewed"}).empty()) return "never renewed";
  return "renewed " + format_duration(std::chrono::seconds(num(lease, {"ageSeconds"}))) +
         " ago; the cluster is unreachable after " + format_duration(std::chrono::seconds(num(lease, {"graceSeconds"})));
}

std::string mode_text(const std::string& mode) {
  if (mode == "push") return "push (the hub dials it)";
  return mode == "hosted" ? "hosted (its agent runs on another cluster)" : mode;
}

std::string since_text(const Json& data, Instant now) {
  for (const Json& one : list_at(data, {"conditions"})) {
    const auto since = parse_time(str(one, {"since"}));
    if (str(one, {"type"}) == api::kConditionAvailable && since) return ", for " + format_age(*since, now);
  }
  return {};
}

std::string request_text(const Json& one, Instant now) {
  std::string text = str(one, {"name"}) + ": " + str(one, {"state"}) + ", " + age_of(one, "created", now) + " old";
  if (const std::string addon = str(one, {"addon"}); !addon.empty()) text += ", of add-on " + addon;
  const auto end = parse_time(str(one, {"expires"}));
  if (!end) return text + ", by " + str(one, {"requester"});
  return text + (*end <= now ? ", expired" : ", certificate valid for " + format_duration(*end - now));
}

/// A heading, and a line for each entry.
template <class Text>
void section(Lines& lines, const char* title, const Json& entries, const Text& text) {
  lines.push_back(std::string(title) + ":");
  if (entries.empty()) lines.emplace_back("  <none>");
  for (const Json& one : entries) lines.push_back("  " + text(one));
}

void describe_identity(const Json& data, Instant now, Lines& lines) {
  lines.push_back(described("Name", str(data, {"name"}) + deleted_suffix(data)));
  lines.push_back(described("Age", age_of(data, "created", now)));
  lines.push_back(described("Cluster Set", or_none(str(data, {"clusterSet"}))));
  lines.push_back(described("Mode", mode_text(str(data, {"mode"}))));
  lines.push_back(described("Accepted", flag(data, {"accepted"}) ? "true" : "false"));
  lines.push_back(described("Joined", str(data, {"joined"})));
  lines.push_back(described("Available", str(data, {"available"}) + since_text(data, now)));
  if (const Json* lease = find(data, {"lease"})) lines.push_back(described("Lease", lease_text(*lease)));
  lines.push_back(described("Kubernetes", or_none(str(data, {"kubernetesVersion"}))));
  lines.push_back(described("Agent", or_none(str(data, {"agentVersion"}))));
  for (const std::string& url : string_list_at(data, {"urls"})) lines.push_back(described("URL", url));
  for (const auto& [key, value] : strings_at(data, {"labels"})) lines.push_back(described("Label", key + "=" + value));
  for (const Json& taint : list_at(data, {"taints"})) {
    const std::string value = str(taint, {"value"});
    lines.push_back(described("Taint", str(taint, {"key"}) + (value.empty() ? "" : "=" + value) + ":" + str(taint, {"effect"})));
  }
  if (const Json* nodes = find(data, {"nodes"}))
    lines.push_back(described("Nodes", str(*nodes, {"ready"}) + " ready of " + str(*nodes, {"total"})));
  for (const auto& [resource, amount] : strings_at(data, {"allocatable"}))
    lines.push_back(described("Allocatable", resource + " " + amount + " of " + str(data, {"capacity", resource})));
  for (const auto& [resource, amount] : strings_at(data, {"allocated"}))
    lines.push_back(described("Allocated", resource + " " + amount));
  for (const auto& [resource, amount] : strings_at(data, {"allocating"}))
    lines.push_back(described("Allocating", resource + " " + amount + ", of pods without a node"));
}

Result<Report> run_describe_cluster(Context& context, const DescribeClusterOptions&, const std::vector<std::string>& args) {
  FLEETADM_TRY(const kube::Client hub, context.client());
  const Instant now = context.clock().now();
  Report report;
  FLEETADM_TRY(report.data, on_hub(describe_cluster(hub, args.front(), now, report.notes)));
  report.names.push_back(full_name(api::managed_clusters(), args.front()));
  const Json& data = report.data;
  Lines& lines = report.lines;
  describe_identity(data, now, lines);
  section(lines, "Claims", list_at(data, {"claims"}),
          [](const Json& one) { return str(one, {"name"}) + "=" + str(one, {"value"}); });
  section(lines, "Conditions", list_at(data, {"conditions"}), [&](const Json& one) { return condition_text(one, now); });
  section(lines, "Placements", list_at(data, {"placements"}), [](const Json& one) { return one.get<std::string>(); });
  section(lines, "Works", list_at(data, {"works"}), [](const Json& one) {
    const std::string set = str(one, {"set"});
    return str(one, {"name"}) + (set.empty() ? "" : " (of " + set + ")") + ": applied " + str(one, {"applied"}) + ", available " +
           str(one, {"available"}) + deleted_suffix(one);
  });
  section(lines, "Add-ons", list_at(data, {"addons"}),
          [](const Json& one) { return str(one, {"name"}) + ": available " + str(one, {"available"}) + deleted_suffix(one); });
  section(lines, "Certificate Requests", list_at(data, {"requests"}), [&](const Json& one) { return request_text(one, now); });
  section(lines, "Events", list_at(data, {"events"}), [&](const Json& one) {
    return age_of(one, "seen", now) + " ago  " + str(one, {"type"}) + "  " + str(one, {"reason"}) + "  " + str(one, {"message"});
  });
  return report;
}

}  // namespace

void register_cluster_describe(Registry& registry) {
  Command command;
  command.path = "cluster describe";
  command.group = "Clusters";
  command.summary = "Show everything the hub knows about a cluster";
  command.description =
      "How it is a member, conditions, the age of its lease, its nodes and what its pods hold, the versions of Kubernetes and of the agent, labels, taints and claims, the placements "
      "that select it, its works and add-ons, the certificates that were requested for it, and the last events.";
  command.args = {"NAME", 1, 1, false, Complete::kClusters};
  command.aliases = {"describe cluster"};
  command.examples = {{"For people", "fleetadm cluster describe c1"},
                      {"When its last certificate expires",
                       "fleetadm cluster describe c1 -o jsonpath='{.requests[?(@.state==\"issued\")].expires}'"}};
  command.make = invocation<DescribeClusterOptions>([](FlagSet&, DescribeClusterOptions&) {},
                                                    [](const DescribeClusterOptions&, const std::vector<std::string>& args) {
                                                      return check_name("cluster name", args.front());
                                                    },
                                                    run_describe_cluster);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
