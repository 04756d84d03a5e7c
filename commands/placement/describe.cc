// placement describe: spec, conditions and decisions of one placement for people.
#include <algorithm>

#include "commands/framework/description.h"
#include "commands/framework/listing.h"
#include "commands/framework/named.h"
#include "commands/framework/write_report.h"
#include "commands/placement/decisions.h"
#include "commands/placement/placement.h"
#include "core/api/kinds.h"
#include "core/placement/engine/decode.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::commands {
namespace {

struct DescribeOptions {};

std::string row(std::string_view name, std::string_view text) { return described(name, text, 16); }

void describe_spec(const Json& placement, std::vector<std::string>& lines) {
  const placement::Placement decoded = placement::decode_placement(placement);
  lines.push_back(row("Cluster Sets", decoded.cluster_sets.empty() ? "every bound set" : joined(decoded.cluster_sets)));
  lines.push_back(row("Clusters", decoded.number_of_clusters ? std::to_string(*decoded.number_of_clusters) : "all that qualify"));
  for (const auto& predicate : decoded.predicates) {
    std::vector<std::string> parts;
    if (!predicate.labels.everything()) parts.push_back("labels " + predicate.labels.text());
    if (!predicate.claims.everything()) parts.push_back("claims " + predicate.claims.text());
    for (const std::string& expression : predicate.cel) parts.push_back("CEL " + expression);
    lines.push_back(row("Predicate", parts.empty() ? "every cluster" : joined(parts, " and ")));
  }
  for (const auto& toleration : decoded.tolerations) {
    std::string text = toleration.key.empty() ? "every taint" : toleration.key;
    if (toleration.op != "Exists") text += "=" + toleration.value;
    if (!toleration.effect.empty()) text += ":" + toleration.effect;
    if (toleration.seconds) text += " for " + std::to_string(*toleration.seconds) + "s";
    lines.push_back(row("Toleration", text));
  }
  const auto& size = decoded.group_size;
  if (size.text || size.number != 0) {
    lines.push_back(row("Group Size", size.text ? *size.text : std::to_string(size.number)));
  }
  for (const auto& group : decoded.groups) {
    std::vector<std::string> parts;
    if (!group.labels.everything()) parts.push_back("labels " + group.labels.text());
    if (!group.claims.everything()) parts.push_back("claims " + group.claims.text());
    lines.push_back(row("Group", group.name + ": " + (parts.empty() ? "every cluster" : joined(parts, " and "))));
  }
  if (!decoded.mode.empty() && decoded.mode != "Additive") lines.push_back(row("Scoring", decoded.mode));
  for (const auto& one : decoded.prioritizers) {
    const std::string name = one.addon ? "AddOn/" + one.addon->resource + "/" + one.addon->score : one.built_in;
    lines.push_back(row("Prioritizer", name + ", weight " + std::to_string(one.weight)));
  }
}

void describe_conditions(const Json& placement, Instant now, std::vector<std::string>& lines) {
  lines.emplace_back("Conditions:");
  const Json& conditions = list_at(placement, {"status", "conditions"});
  if (conditions.empty()) lines.emplace_back("  <none>: the hub controllers have not processed it yet");
  for (const Json& one : conditions) {
    const auto since = parse_time(str(one, {"lastTransitionTime"}));
    lines.push_back("  " + str(one, {"type"}) + " is " + str(one, {"status"}) + " since " +
                    (since ? format_age(*since, now) : "<unknown>") + ": " + str(one, {"reason"}) + ", " + str(one, {"message"}));
  }
}

void describe_groups(const std::vector<ChosenGroup>& groups, std::vector<std::string>& lines) {
  lines.emplace_back("Decisions:");
  bool any = false;
  for (const ChosenGroup& group : groups) {
    if (groups.size() > 1 || !group.name.empty()) {
      lines.push_back("  Group " + std::to_string(group.index) + (group.name.empty() ? "" : " (" + group.name + ")") + ":");
    }
    for (const std::string& cluster : group.clusters) {
      any = true;
      lines.push_back((groups.size() > 1 || !group.name.empty() ? "    " : "  ") + cluster);
    }
  }
  if (!any) lines.emplace_back("  <none>");
}

std::optional<Instant> time_of(const Json& event) {
  for (const char* member : {"lastTimestamp", "eventTime", "firstTimestamp"}) {
    std::optional<Instant> at = parse_time(str(event, {"series", "lastObservedTime"}, str(event, {member})));
    if (at) return at;
  }
  return std::nullopt;
}

// The placement's latest events, oldest first. Events are not worth failing for: nullopt where they cannot be read.
std::optional<std::vector<Json>> events_of(const kube::Client& hub, const Json& placement) {
  constexpr std::size_t kMax = 20;
  kube::ListOptions options;
  options.field_selector = "involvedObject.kind=Placement,involvedObject.name=" + name_of(placement);
  if (const std::string uid = uid_of(placement); !uid.empty()) options.field_selector += ",involvedObject.uid=" + uid;
  const auto list = hub.list(kube::resources::core_events(), namespace_of(placement), options);
  if (!list) return std::nullopt;
  std::vector<Json> events;
  for (const Json& event : list_at(*list, {"items"})) events.push_back(event);
  std::stable_sort(events.begin(), events.end(), [](const Json& a, const Json& b) { return time_of(a) < time_of(b); });
  if (events.size() > kMax) events.erase(events.begin(), events.end() - static_cast<std::ptrdiff_t>(kMax));
  return events;
}

void describe_events(const std::optional<std::vector<Json>>& events, Instant now, std::vector<std::string>& lines) {
  lines.emplace_back("Events:");
  if (!events) lines.emplace_back("  <unknown>: they cannot be read");
  if (events && events->empty()) lines.emplace_back("  <none>");
  if (!events) return;
  for (const Json& event : *events) {
    const auto at = time_of(event);
    const std::int64_t count = std::max(num(event, {"series", "count"}), num(event, {"count"}));
    lines.push_back("  " + (at ? format_age(*at, now) : std::string("<unknown>")) + " ago: " + str(event, {"type"}) + " " +
                    str(event, {"reason"}) + (count > 1 ? " (" + std::to_string(count) + " times)" : "") + ", " +
                    str(event, {"message"}));
  }
}

Json events_json(const std::vector<Json>& events) {
  Json list = Json::array();
  for (const Json& event : events) {
    const auto at = time_of(event);
    list.push_back({{"time", at ? Json(format_time(*at)) : Json()},
                    {"type", str(event, {"type"})},
                    {"reason", str(event, {"reason"})},
                    {"message", str(event, {"message"})}});
  }
  return list;
}

Result<Report> run_describe(Context& context, const DescribeOptions&, const std::vector<std::string>& args) {
  const std::string& name = args.front();
  FLEETADM_TRY(const auto hub, context.client());
  FLEETADM_TRY(const auto ns, context.ns());
  FLEETADM_TRY(const auto found, on_hub(hub.find(api::placements(), ns, name)));
  if (!found) {
    return fail(Category::kNotFound, "placement \"" + name + "\" not found in namespace \"" + ns + "\"",
                NearNames(hub, api::placements(), ns).hint(name, "list them with: fleetadm placement get -n " + ns + " (or -A)"));
  }
  FLEETADM_TRY(auto decisions, decisions_of(hub, ns, name));
  const std::vector<ChosenGroup> groups = groups_of(std::move(decisions));

  Report report;
  Json list = Json::array();
  for (const ChosenGroup& group : groups)
    list.push_back({{"index", group.index}, {"name", group.name}, {"clusters", group.clusters}});
  const auto events = events_of(hub, *found);
  report.data = {{"kind", "PlacementDescription"}, {"placement", *found}, {"decisionGroups", std::move(list)}};
  if (events) report.data["events"] = events_json(*events);
  report.names.push_back(full_name(api::placements(), name));
  report.lines = {row("Name", name), row("Namespace", ns), row("Age", age_cell(*found, context.clock().now()))};
  describe_spec(*found, report.lines);
  if (annotation_of(*found, placement::kDisableAnnotation) == "true") {
    report.lines.push_back(row("Scheduling", "disabled by an annotation"));
  }
  describe_conditions(*found, context.clock().now(), report.lines);
  describe_groups(groups, report.lines);
  describe_events(events, context.clock().now(), report.lines);
  return report;
}

}  // namespace

void register_placement_describe(Registry& registry) {
  Command command;
  command.path = "placement describe";
  command.group = "Placement";
  command.aliases = {"describe placement"};
  command.summary = "Show a placement's rules, conditions, decisions and events";
  command.description =
      "Describes the placement's rules in words, its conditions, the selected clusters by decision "
      "group, and its events. For why a cluster is selected or not, see \"fleetadm placement explain\".";
  command.args = {"NAME", 1, 1, false, Complete::kPlacements};
  command.examples = {{"Why is no cluster selected?", "fleetadm placement describe web -n apps"}};
  command.make = invocation<DescribeOptions>([](FlagSet&, DescribeOptions&) {},
                                             [](const DescribeOptions&, const std::vector<std::string>&) -> Status { return {}; },
                                             run_describe);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
