// get scores: the scores of clusters, one row a score, and how long they count.
#include <algorithm>

#include "commands/framework/grammar.h"
#include "commands/framework/listing.h"
#include "commands/framework/named.h"
#include "commands/framework/suggest.h"
#include "commands/framework/write_report.h"
#include "commands/score/score.h"
#include "core/api/kinds.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::commands {
namespace {

struct GetOptions {
  std::vector<std::string> clusters;
  bool all = false;  // every cluster, which is also the default: kubectl's users write -A
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
  const std::string where = options.clusters.empty() ? "" : " for cluster " + joined(options.clusters, ", ");
  return fail(Category::kNotFound, "there is no score object \"" + name + "\"" + where, did_you_mean(name, known)).value();
}

// Nothing was found: was it asked for the wrong thing?
Status explain_nothing(const kube::Client& hub, const GetOptions& options, const std::vector<std::string>& names,
                       const std::vector<std::string>& known) {
  for (const std::string& cluster : options.clusters) FLEETADM_CHECK(cluster_exists(hub, cluster));
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
  const auto add = [&](const Json& page) -> Status {
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
  };
  std::vector<std::string> namespaces = options.clusters;
  // A cluster's scores are in the namespace of its name; no name means all of them.
  if (namespaces.empty()) namespaces.push_back(options.all ? std::string() : context.global().config.ns);
  for (const std::string& ns : namespaces) {
    const Status listed = on_hub(hub.list_pages(api::addon_placement_scores(), ns, {}, add));
    if (!listed && listed.error().code == 403 && ns.empty()) {
      return fail(listed.error().with_hint("you only have permission to read scores of single clusters; use --clusters NAME"));
    }
    FLEETADM_CHECK(listed);
  }
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
  command.path = "get scores";
  command.group = "Placement";
  command.aliases = {"score get", "score list", "get score", "get addonplacementscores", "get addonplacementscore"};
  command.summary = "List the scores used to prioritize clusters";
  command.description =
      "Prints one row per score: the cluster, the AddOnPlacementScore, the score's name and value "
      "(-100 to 100), and how long it is valid. An expired score counts as 0.";
  command.args = {"[NAME...]", 0, -1};
  command.examples = {{"Every cluster's free memory", "fleetadm get scores capacity"},
                      {"All scores of one cluster", "fleetadm get scores --clusters c1 -o yaml"}};
  command.make = invocation<GetOptions>(
      [](FlagSet& flags, GetOptions& options) {
        clusters_flag(flags, &options.clusters, "only the scores of these clusters");
        all_namespaces_flag(flags, &options.all, "the scores of all clusters (the default without -n)");
      },
      [](const GetOptions& options, const std::vector<std::string>&) -> Status {
        if (!options.all || options.clusters.empty()) return {};
        return fail(Category::kUsage, "--clusters cannot be combined with -A");
      },
      run_get);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
