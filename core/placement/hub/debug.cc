#include "core/placement/hub/debug.h"

#include <algorithm>

#include "kubeclient/base/selector.h"

namespace fleetadm::placement {
namespace {

controller::Manager::Page error_page(int status, const std::string& message) {
  return {status, "application/json", dump_json({{"error", message}})};
}

// Identity, labels, annotations and spec; the status is left empty.
Json shown(const Json& placement) {
  Json metadata{{"name", name_of(placement)}, {"namespace", namespace_of(placement)}};
  for (const char* member : {"labels", "annotations"}) {
    const Json* value = find(placement, {"metadata", member});
    if (value != nullptr && value->is_object() && !value->empty()) metadata[member] = *value;
  }
  return {{"metadata", std::move(metadata)},
          {"spec", object_at(placement, {"spec"})},
          {"status", {{"numberOfSelectedClusters", 0}, {"decisionGroups", nullptr}, {"conditions", nullptr}}}};
}

Scores by_sum(Scores sums) {
  std::stable_sort(sums.begin(), sums.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return sums;
}

Json results(const Json& placement, const Pass& pass) {
  Json out{{"placement", shown(placement)}};
  const Scores sums = by_sum(pass.sums);
  for (const FilterRecord& filter : pass.filters) {
    std::vector<std::string> clusters = filter.clusters;
    if (&filter == &pass.filters.back() && sums.size() == clusters.size()) {
      for (std::size_t i = 0; i < sums.size(); ++i) clusters[i] = sums[i].first;  // the last list is the one that was ranked
    }
    out["filteredPipelineResults"].push_back({{"name", filter.name}, {"filteredClusters", clusters}});
  }
  for (const PrioritizerRecord& one : pass.prioritizers) {
    Json scores = Json::object();
    for (const auto& [cluster, score] : one.scores) scores[cluster] = score;
    out["prioritizeResults"].push_back({{"name", one.name}, {"weight", one.weight}, {"scores", std::move(scores)}});
  }
  for (const auto& [cluster, sum] : sums) out["aggregatedScores"].push_back({{"clusterName", cluster}, {"score", sum}});
  return out;
}

}  // namespace

controller::Manager::Page debug_page(std::string_view path, const SchedulerCache& fleet,
                                     const std::function<std::optional<Json>(const std::string& key)>& stored, Instant now,
                                     const CelEvaluator* cel) {
  const std::string key(path.substr(std::min(path.size(), kDebugPrefix.size())));
  const auto slashes = std::count(key.begin(), key.end(), '/');
  if (slashes > 1) return error_page(400, "unexpected key format: " + go_quote(key));
  const std::size_t slash = key.find('/');
  if (slashes == 0 || slash == 0 || slash + 1 == key.size()) {
    return error_page(400, "invalid debug path: namespace and name required");
  }
  const std::optional<Json> placement = stored(key);
  const std::optional<Pass> pass = placement ? fleet.explain(key, now, cel) : std::nullopt;
  if (!pass) return error_page(404, "placement '" + key.substr(slash + 1) + "' not found");
  if (!pass->failure.empty()) return error_page(500, pass->failure);
  return {200, "application/json", dump_json(results(*placement, *pass))};
}

}  // namespace fleetadm::placement
