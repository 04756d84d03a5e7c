#include "commands/rollout/timeline.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/work/plan/replica_set_forecast.h"
#include "core/work/rules/replica_set_status.h"
#include "kubeclient/base/yaml.h"

namespace fleetadm::commands {
namespace {

using What = work::ForecastEvent::What;

constexpr std::size_t kColumns = 60;
constexpr const char* kPlacement = "simulated";

struct Scenario {
  Json set;
  std::map<std::string, work::PlacementView> placements;
  std::map<std::string, work::Assumption> special;
  work::Assumption usual{work::Assumption::End::kSucceeds, std::chrono::minutes(1)};
  std::size_t clusters = 0;
};

Error bad(const std::string& path, const std::string& what) {
  return fail(Category::kInvalid, path + ": " + what, "see fleetadm-rollout-simulate(1) for an example").value();
}

Result<Duration> duration_at(const Json& value, std::string_view key, Duration otherwise) {
  const std::string text = str(value, {key});
  if (text.empty()) return otherwise;
  FLEETADM_TRY(const Duration parsed, parse_duration(text));
  if (parsed < Duration::zero()) return fail(Category::kInvalid, std::string(key) + " is negative");
  return parsed;
}

Result<Scenario> read(const std::string& path, const std::string& text) {
  Result<Json> file = parse_yaml(text);
  if (!file) return tl::unexpected(file.error().wrap(path));
  Scenario scenario;
  if (!file->is_object() || !find(*file, {"groups"})) return tl::unexpected(bad(path, "no groups given"));
  Json strategy = object_at(*file, {"strategy"});
  if (strategy.empty()) strategy["type"] = "All";
  if (const auto parsed = rollout::parse_strategy(strategy); !parsed) {
    return tl::unexpected(bad(path, "strategy: " + parsed.error().message));
  }
  scenario.set = Json{{"metadata", {{"name", "simulated"}, {"namespace", "simulated"}}},
                      {"spec", {{"placementRefs", Json::array({{{"name", kPlacement}, {"rolloutStrategy", strategy}}})}}}};
  work::PlacementView view;
  view.exists = true;
  int index = 0;
  for (const Json& group : list_at(*file, {"groups"})) {
    rollout::Group one{{str(group, {"name"}), index++}, string_list_at(group, {"clusters"})};
    if (one.clusters.empty()) return tl::unexpected(bad(path, "group " + std::to_string(index) + " has no clusters"));
    scenario.clusters += one.clusters.size();
    view.groups.push_back(std::move(one));
  }
  view.selected = view.clusters();
  view.status_groups = index;
  scenario.placements[kPlacement] = std::move(view);
  const auto usual = duration_at(*file, "takes", scenario.usual.after);
  if (!usual) return tl::unexpected(bad(path, "takes: " + usual.error().message));
  scenario.usual.after = *usual;
  for (const auto& [name, entry] : object_at(*file, {"clusters"}).items()) {
    work::Assumption one = scenario.usual;
    const auto takes = duration_at(entry, "takes", one.after);
    if (!takes) return tl::unexpected(bad(path, name + ": takes: " + takes.error().message));
    one.after = *takes;
    if (flag(entry, {"fails"})) one.end = work::Assumption::End::kFails;
    if (flag(entry, {"silent"})) one.end = work::Assumption::End::kSilent;
    scenario.special[name] = one;
  }
  return scenario;
}

/// One cluster's row: '.' waits, '=' under way, '#' done, 'x' failed, 't' timed out.
class Lane {
 public:
  void at(std::size_t column, char state) { changes_[column] = state; }
  std::string drawn(std::size_t columns) const {
    std::string text;
    char state = '.';
    for (std::size_t column = 0; column <= columns; ++column) {
      if (const auto change = changes_.find(column); change != changes_.end()) state = change->second;
      text += state;
    }
    return text;
  }

 private:
  std::map<std::size_t, char> changes_;
};

char letter(What what) {
  switch (what) {
    case What::kSucceeded: return '#';
    case What::kFailed: return 'x';
    case What::kTimedOut: return 't';
    case What::kRemoved: return ' ';
    case What::kCreated:
    case What::kChanged: break;
  }
  return '=';
}

}  // namespace

Result<Report> simulate_rollout(Context& context, const std::string& path, const std::string& text) {
  FLEETADM_TRY(const Scenario scenario, read(path, text));
  const work::Assume assume = [&](const std::string& cluster) {
    const auto special = scenario.special.find(cluster);
    return special == scenario.special.end() ? scenario.usual : special->second;
  };
  const work::Forecast ahead = work::forecast(scenario.set, scenario.placements, {}, std::nullopt, context.clock().now(), assume);
  if (ahead.cut_off) return tl::unexpected(bad(path, "this rollout does not end within a million steps"));

  Report report;
  Json events = Json::array();
  std::map<std::string, Lane> lanes;
  std::map<std::string, int> batches;
  const Duration width = std::max<Duration>(ahead.took, std::chrono::seconds(1));
  for (const work::ForecastEvent& event : ahead.events) {
    const auto column = static_cast<std::size_t>(static_cast<double>(event.at.count()) / static_cast<double>(width.count()) *
                                                 static_cast<double>(kColumns));
    lanes[event.cluster].at(column, letter(event.what));
    if (event.batch > 0) batches[event.cluster] = event.batch;
    Json entry{{"at", format_duration(event.at)}, {"cluster", event.cluster}, {"event", to_string(event.what)}};
    if (event.batch > 0) entry["batch"] = event.batch;
    events.push_back(std::move(entry));
  }
  report.table =
      Table{{{"CLUSTER"}, {"GROUP"}, {"BATCH"}, {"END"}, {"0s to " + format_duration(ahead.took)}}, {}, "No clusters."};
  for (const work::ClusterProgress& one : ahead.end.clusters) {
    const std::string group = one.group.name.empty() ? std::to_string(one.group.index) : one.group.name;
    const auto batch = batches.find(one.cluster);
    report.table->rows.push_back({one.cluster, group, batch == batches.end() ? "<none>" : std::to_string(batch->second),
                                  std::string(to_string(one.phase)), lanes[one.cluster].drawn(kColumns)});
  }
  const std::string reason = work::rollout_reason(ahead.end);
  report.data = Json{
      {"kind", "RolloutSimulation"}, {"state", reason}, {"took", format_duration(ahead.took)}, {"events", std::move(events)}};
  report.notes.push_back(reason + " after " + format_duration(ahead.took) + ": " +
                         work::rollout_sentence(ahead.end, std::nullopt));
  report.notes.emplace_back(". waiting  = in progress  # done  x failed  t timed out");
  return report;
}

}  // namespace fleetadm::commands
