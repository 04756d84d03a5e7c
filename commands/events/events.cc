#include "commands/events/events.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "commands/framework/grammar.h"
#include "commands/framework/listing.h"
#include "commands/framework/suggest.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::commands {
namespace {

struct EventsOptions {
  std::string about;  // --for
  std::vector<std::string> types;
  std::string selector;
  bool all_namespaces = false;
  bool watch = false;
  bool watch_only = false;
};

struct TypeWord {
  std::string_view word;
  std::string_view kind;
};

constexpr std::array kTypeWords = {TypeWord{"cluster", "ManagedCluster"},
                                   TypeWord{"managedcluster", "ManagedCluster"},
                                   TypeWord{"clusterset", "ManagedClusterSet"},
                                   TypeWord{"managedclusterset", "ManagedClusterSet"},
                                   TypeWord{"placement", "Placement"},
                                   TypeWord{"work", "ManifestWork"},
                                   TypeWord{"manifestwork", "ManifestWork"},
                                   TypeWord{"rollout", "ManifestWorkReplicaSet"},
                                   TypeWord{"manifestworkreplicaset", "ManifestWorkReplicaSet"},
                                   TypeWord{"addon", "ManagedClusterAddOn"},
                                   TypeWord{"managedclusteraddon", "ManagedClusterAddOn"}};

// "cluster/c1" as the server selects events about it.
Result<std::string> selector_about(const std::string& about) {
  const std::size_t slash = about.find('/');
  const std::string type = about.substr(0, slash);
  const std::string name = slash == std::string::npos ? "" : about.substr(slash + 1);
  if (name.empty() || name.find_first_of(",=!/") != std::string::npos)
    return fail(Category::kUsage, "--for \"" + about + "\" is not TYPE/NAME", "write for example --for cluster/c1");
  const auto found = std::find_if(kTypeWords.begin(), kTypeWords.end(), [&](const TypeWord& one) { return one.word == type; });
  if (found == kTypeWords.end()) {
    std::vector<std::string> words;
    for (const TypeWord& one : kTypeWords) words.emplace_back(one.word);
    const std::vector<std::string> near = nearest(type, words);
    return fail(
        Category::kUsage, "--for: unknown type \"" + type + "\"",
        near.empty() ? "use cluster, clusterset, placement, work, rollout or addon" : "did you mean " + near.front() + "?");
  }
  return "involvedObject.kind=" + std::string(found->kind) + ",involvedObject.name=" + name;
}

std::string reporter_of(const Json& event) { return str(event, {"reportingComponent"}, str(event, {"source", "component"})); }

ListView hub_event_view(bool namespaces) {
  ListView view;
  view.resource = kube::resources::core_events();
  view.nothing = "No events found.";
  if (namespaces) view.columns.push_back({"NAMESPACE"});
  for (const char* name : {"LAST SEEN", "TYPE", "REASON", "OBJECT"}) view.columns.push_back({name});
  view.columns.push_back({"COUNT", true});
  view.columns.push_back({"SOURCE", true});
  view.columns.push_back({"MESSAGE"});
  view.row = [namespaces](const Json& event, Instant now) {
    const std::optional<Instant> at = event_seen(event);
    const Json& object = object_at(event, {"involvedObject"});
    std::vector<std::string> cells;
    if (namespaces) cells.push_back(namespace_of(event));
    cells.push_back(at ? format_age(*at, now) : "<unknown>");
    cells.push_back(or_none(str(event, {"type"})));
    cells.push_back(or_none(str(event, {"reason"})));
    cells.push_back(str(object, {"kind"}) + "/" + str(object, {"name"}));
    cells.push_back(std::to_string(std::max<std::int64_t>({num(event, {"series", "count"}), num(event, {"count"}), 1})));
    cells.push_back(or_none(reporter_of(event)));
    cells.push_back(str(event, {"message"}));
    return cells;
  };
  view.before = [](const Json& a, const Json& b) { return event_seen(a) < event_seen(b); };
  return view;
}

Status check_events(const EventsOptions& options, const std::vector<std::string>& /*args*/) {
  if (options.about.empty()) return {};
  FLEETADM_TRY(const std::string selector, selector_about(options.about));
  static_cast<void>(selector);
  return {};
}

Result<Report> run_events(Context& context, const EventsOptions& options, const std::vector<std::string>& /*args*/) {
  std::vector<std::string> fields;
  if (!options.about.empty()) {
    FLEETADM_TRY(const std::string about, selector_about(options.about));
    fields.push_back(about);
  }
  // Two types are all there are.
  if (options.types.size() == 1) fields.push_back("type=" + options.types.front());
  // Events about an object without a namespace are in "default", those about a work in its cluster's.
  std::string ns = context.global().config.ns;
  if (options.all_namespaces) ns.clear();
  if (ns.empty() && !options.all_namespaces && options.about.empty()) {
    FLEETADM_TRY(ns, context.ns());
  }
  ListRequest request;
  request.selector = options.selector;
  if (!ns.empty()) request.namespaces = {ns};
  request.watch = options.watch;
  request.watch_only = options.watch_only;
  request.field_selector = joined(fields);
  return list_objects(context, hub_event_view(ns.empty()), request);
}

}  // namespace

void register_events(Registry& registry) {
  Command command;
  command.path = "events";
  command.aliases = {"get events"};
  command.group = "Other";
  command.summary = "List the events on the hub, or those about one object";
  command.description =
      "Prints the events that controllers and agents have recorded on the hub, the latest last. Only the hub is read. "
      "Without --for they are those of the namespace. With --for TYPE/NAME they are those about a cluster, clusterset, "
      "placement, work, rollout or addon, in all namespaces unless -n is given. The server keeps events for a time only, "
      "usually an hour.";
  command.args = {"", 0, 0};
  command.examples = {{"What happened in a namespace", "fleetadm events -n apps"},
                      {"What happened to a cluster", "fleetadm events --for cluster/c1"},
                      {"Warnings as they come", "fleetadm events -A --types Warning -w"}};
  command.make = invocation<EventsOptions>(
      [](FlagSet& flags, EventsOptions& options) {
        list_flags(flags, options.selector, options.watch, options.watch_only);
        flags.text(&options.about, "for", "only events about this object").value_name = "TYPE/NAME";
        Flag& types = flags.comma_texts(&options.types, "types", "only events of these types");
        types.value_name = "Normal,Warning";
        types.set = [&options](std::string_view value) -> Status {
          while (!value.empty()) {
            const std::size_t comma = std::min(value.find(','), value.size());
            const std::string_view type = value.substr(0, comma);
            if (type != "Normal" && type != "Warning") return fail(Category::kUsage, "must be Normal or Warning");
            if (std::find(options.types.begin(), options.types.end(), type) == options.types.end())
              options.types.emplace_back(type);
            value.remove_prefix(std::min(comma + 1, value.size()));
          }
          return {};
        };
        all_namespaces_flag(flags, &options.all_namespaces, "list across all namespaces");
      },
      check_events, run_events);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
