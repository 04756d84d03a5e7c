// score get: the scores of clusters, one row a score, and how long they count.
#include <algorithm>

#include "commands/framework/listing.h"
#include "commands/framework/named.h"
#include "commands/framework/suggest.h"
#include "commands/placement/written.h"
#include "commands/score/score.h"
#include "core/api/kinds.h"

namespace fleetadm::commands {
namespace {

struct GetOptions {
  std::string cluster;
};

std::string validity(const Json& object, Instant now) {
  const std::string text = str(object, {"status", "validUntil"});
  const auto until = parse_time(text);
  if (!until) return "always";
  if (now > *until) return "expired " + format_age(*until, now) + " ago";
  return "until " + text + " (" + format_age(now, *until) + ")";
}

void add_rows(const Json& object, Instant now, Report& report) {
  const Json& scores = list_at(object, {"status", "scores"});
  for (const Json& item : scores) {
    report.table->rows.push_back({namespace_of(object), name_of(object), str(item, {"name"}),
                                  std::to_string(num(item, {"value"})), validity(object, now)});
  }
  if (scores.empty()) report.table->rows.push_back({namespace_of(object), name_of(object), "<none>", "", validity(object, now)});
  report.names.push_back(full_name(api::addon_placement_scores(), name_of(object)));
}

Error no_such_scores(const GetOptions& options, const std::string& name, const std::vector<std::string>& known) {
  const std::string where = options.cluster.empty() ? "" : " for cluster " + options.cluster;
  return fail(Category::kNotFound, "there is no score object \"" + name + "\"" + where, did_you_mean(name, known)).value();
}

// Nothing was found: was it asked for the wrong thing?
Status explain_nothing(const kube::Client& hub, const GetOptions& options, const std::vector<std::string>& names,
                       const std::vector<std::string>& known) {
  if (!options.cluster.empty()) FLEETADM_CHECK(cluster_exists(hub, options.cluster));
  if (names.empty()) return {};
  return names.size() == 1 ? fail(no_such_scores(options, names.front(), known)) : Status{};
}

Result<Report> run_get(Context& context, const GetOptions& options, const std::vector<std::string>& names) {
  FLEETADM_TRY(const auto hub, context.client());
  const Instant now = context.clock().now();
  Report report;
  report.table = Table{{{"CLUSTER"}, {"NAME"}, {"SCORE"}, {"VALUE"}, {"VALID"}}, {}, "No scores found."};
  Json items = Json::array();
  std::vector<std::string> known;
  const Status listed =
      on_hub(hub.list_pages(api::addon_placement_scores(), options.cluster, {}, [&](const Json& page) -> Status {
        for (const Json& item : list_at(page, {"items"})) {
          const std::string name = name_of(item);
          if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
          if (!names.empty() && std::find(names.begin(), names.end(), name) == names.end()) continue;
          Json object = item;
          erase_at(object, {"metadata", "managedFields"});
          at_or_make(object, {"apiVersion"}) = api::addon_placement_scores().api_version();
          at_or_make(object, {"kind"}) = api::addon_placement_scores().kind;
          add_rows(object, now, report);
          items.push_back(std::move(object));
        }
        return {};
      }));
  if (!listed && listed.error().code == 403 && options.cluster.empty()) {
    return fail(listed.error().with_hint("you only have permission to read scores of single clusters; use --cluster NAME"));
  }
  FLEETADM_CHECK(listed);
  if (items.empty()) FLEETADM_CHECK(explain_nothing(hub, options, names, known));
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      report.failures.push_back(no_such_scores(options, name, known));
  }
  report.data = {{"apiVersion", "v1"}, {"kind", "List"}, {"metadata", {{"resourceVersion", ""}}}, {"items", std::move(items)}};
  return report;
}

}  // namespace

void register_score_get(Registry& registry) {
  Command command;
  command.path = "score get";
  command.group = "Placement";
  command.aliases = {"get scores", "get addonplacementscores"};
  command.summary = "List the scores used to prioritize clusters";
  command.description =
      "Prints one row per score: the cluster, the AddOnPlacementScore, the score's name and value "
      "(-100 to 100), and how long it is valid. An expired score counts as 0.";
  command.args = {"[NAME...]", 0, -1};
  command.examples = {{"Every cluster's free memory", "fleetadm score get capacity"},
                      {"All scores of one cluster", "fleetadm score get --cluster c1 -o yaml"}};
  command.make = invocation<GetOptions>(
      [](FlagSet& flags, GetOptions& options) {
        Flag& cluster = flags.text(&options.cluster, "cluster", "only the scores of this cluster");
        cluster.value_name = "NAME";
        cluster.complete = Complete::kClusters;
      },
      [](const GetOptions&, const std::vector<std::string>&) -> Status { return {}; }, run_get);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
