#include "tests/e2e/rollout_end.h"

#include <algorithm>
#include <regex>

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kSets = "/apis/work.open-cluster-management.io/v1alpha1/namespaces/apps/manifestworkreplicasets/";
constexpr std::string_view kRevisions =
    "/apis/apps/v1/namespaces/apps/controllerrevisions?labelSelector=fleetadm.io%2Frevision-of%3D";
constexpr const char* kBegun = "fleetadm.io/rollout-begun-at";
constexpr const char* kOutcome = "fleetadm.io/rollout-outcome";

Json conditions_of(const Json& holder, const Json& generation) {
  Json told = Json::object();
  for (const Json& entry : list_at(holder, {"conditions"})) {
    const Json* seen = find(entry, {"observedGeneration"});
    told[str(entry, {"type"})] = {str(entry, {"status"}), str(entry, {"reason"}), str(entry, {"message"}),
                                  seen == nullptr || generation.is_null() ? ""
                                  : *seen == generation                   ? "current"
                                                                          : "old"};
  }
  return told;
}

Json told_of_work(const Json& work) {
  const Json& generation = object_at(work, {"metadata"}).value("generation", Json());
  Json annotations = object_at(work, {"metadata", "annotations"});
  Json manifests = Json::array();
  for (const Json& manifest : list_at(work, {"status", "resourceStatus", "manifests"})) {
    manifests.push_back({{"meta", object_at(manifest, {"resourceMeta"})}, {"conditions", conditions_of(manifest, generation)}});
  }
  return {{"spec", object_at(work, {"spec"})},
          {"labels", object_at(work, {"metadata", "labels"})},
          {"begun", annotations.contains(kBegun)},
          {"conditions", conditions_of(object_at(work, {"status"}), generation)},
          {"manifests", manifests}};
}

Json told_of_revisions(const Json& list) {
  std::vector<Json> revisions;
  for (const Json& one : list_at(list, {"items"})) revisions.push_back(one);
  std::sort(revisions.begin(), revisions.end(),
            [](const Json& a, const Json& b) { return num(a, {"revision"}) < num(b, {"revision"}); });
  if (revisions.size() < 2) return {};
  const Json& newest = revisions.back();
  const Json& before = revisions[revisions.size() - 2];
  return {{"steps", num(newest, {"revision"}) - num(before, {"revision"})},
          {"data", object_at(newest, {"data"})},
          {"outcome", annotation_of(newest, kOutcome)},
          {"outcome before", annotation_of(before, kOutcome)}};
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

}  // namespace

std::string end_of_rollout(RolloutFleet& fleet, const std::string& set, const std::string& value, const std::string& former) {
  const Json live = fleet.hub().get(std::string(kSets) + set);
  Json works = Json::object();
  for (const Json& work : fleet.works(set)) works[namespace_of(work)].push_back(told_of_work(work));
  Json spokes = Json::object();
  for (int i = 1; i <= RolloutFleet::kSpokes; ++i) {
    const Json map = fleet.spoke(i).get("/api/v1/namespaces/default/configmaps/" + set);
    spokes["c" + std::to_string(i)] = object_at(map, {"data"});
  }
  Json status = object_at(live, {"status"});
  status["conditions"] = conditions_of(status, Json());
  const Json all{{"set", {{"spec", object_at(live, {"spec"})}, {"status", status}}},
                 {"works", works},
                 {"revisions", told_of_revisions(fleet.hub().get(std::string(kRevisions) + set))},
                 {"spokes", spokes}};
  std::string text = all.dump(1);
  replace_all(text, value, "VALUE");
  replace_all(text, former, "FORMER");
  return std::regex_replace(text, std::regex("revision [0-9]+:"), "revision N:");
}

}  // namespace fleetadm::testkit
