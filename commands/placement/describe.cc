// placement describe: spec, conditions and decisions of one placement for people.
#include <algorithm>

#include "commands/framework/listing.h"
#include "commands/placement/decisions.h"
#include "commands/placement/placement.h"
#include "commands/placement/written.h"
#include "core/api/kinds.h"
#include "core/placement/decode.h"

namespace fleetadm::commands {
namespace {

struct Options {};

std::string row(std::string_view name, std::string_view text) {
  std::string line(name);
  line += ":";
  line.resize(std::max<std::size_t>(line.size() + 1, 16), ' ');
  return line + std::string(text);
}

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
  if (!decoded.mode.empty() && decoded.mode != "Additive") lines.push_back(row("Scoring", decoded.mode));
  for (const auto& one : decoded.prioritizers) {
    const std::string name = one.addon ? "AddOn/" + one.addon->resource + "/" + one.addon->score : one.built_in;
    lines.push_back(row("Prioritizer", name + ", weight " + std::to_string(one.weight)));
  }
}

void describe_conditions(const Json& placement, Instant now, std::vector<std::string>& lines) {
  lines.emplace_back("Conditions:");
  const Json& conditions = list_at(placement, {"status", "conditions"});
  if (conditions.empty()) lines.emplace_back("  <none>: the hub's controllers have not looked at it yet");
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

Result<Report> run(Context& context, const Options&, const std::vector<std::string>& args) {
  const std::string& name = args.front();
  FLEETADM_TRY(const auto hub, context.client());
  FLEETADM_TRY(const auto ns, context.ns());
  FLEETADM_TRY(const auto found, on_hub(hub.find(api::placements(), ns, name)));
  if (!found) {
    return fail(Category::kNotFound, "placement \"" + name + "\" is not in namespace \"" + ns + "\"",
                "list them with: fleetadm placement get -n " + ns + " (or -A)");
  }
  FLEETADM_TRY(auto decisions, decisions_of(hub, ns, name));
  const std::vector<ChosenGroup> groups = groups_of(std::move(decisions));

  Report report;
  Json list = Json::array();
  for (const ChosenGroup& group : groups)
    list.push_back({{"index", group.index}, {"name", group.name}, {"clusters", group.clusters}});
  report.data = {{"kind", "PlacementDescription"}, {"placement", *found}, {"decisionGroups", std::move(list)}};
  report.names.push_back(full_name(api::placements(), name));
  report.lines = {row("Name", name), row("Namespace", ns), row("Age", age_cell(*found, context.clock().now()))};
  describe_spec(*found, report.lines);
  if (annotation_of(*found, placement::kDisableAnnotation) == "true") {
    report.lines.push_back(row("Scheduling", "disabled by an annotation"));
  }
  describe_conditions(*found, context.clock().now(), report.lines);
  describe_groups(groups, report.lines);
  return report;
}

}  // namespace

void register_placement_describe(Registry& registry) {
  Command command;
  command.path = "placement describe";
  command.group = "Placement";
  command.aliases = {"describe placement"};
  command.summary = "Show a placement's rules, conditions and decisions";
  command.args = {"NAME", 1, 1, false, Complete::kPlacements};
  command.examples = {{"Why is nothing chosen?", "fleetadm placement describe web -n apps"}};
  command.make = invocation<Options>([](FlagSet&, Options&) {},
                                     [](const Options&, const std::vector<std::string>&) -> Status { return {}; }, run);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
