// Invariants over random fleets, from fixed seeds: a cluster outside every bound set is never selected, and decisions are a pure
// function of their inputs, whatever the order in which those arrived.
#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

#include "core/placement/hub/scheduler_cache.h"
#include "tests/support/property.h"
#include "tests/unit/core/placement/fixtures.h"

namespace fleetadm::placement {
namespace {

using fleetadm::test::put_object;
using fleetadm::test::test_now;

using testkit::Random;

struct Case {
  std::vector<Json> objects;
  Json placement;
};

Json label_selector(Random& random) {
  Json selector = Json::object();
  if (random.chance(50)) selector["matchLabels"] = {{"env", random.one_of({"prod", "dev"})}};
  if (random.chance(30)) {
    selector["matchExpressions"] = {
        {{"key", "tier"}, {"operator", random.one_of({"In", "NotIn"})}, {"values", {random.one_of({"gold", "tin"})}}}};
  }
  return selector;
}

Case random_case(Random& random) {
  Case made;
  for (int i = 0; i < 3; ++i) {
    const std::string name = "set" + std::to_string(i);
    Json selector = Json::object();
    if (random.chance(30)) selector = {{"selectorType", "LabelSelector"}, {"labelSelector", label_selector(random)}};
    if (random.chance(85)) made.objects.push_back(fleetadm::test::set_object(name, selector));
    if (random.chance(60)) made.objects.push_back(fleetadm::test::binding_object("team", name));
    if (random.chance(30)) made.objects.push_back(fleetadm::test::binding_object("other", name));
  }
  const int clusters = random.below(12);
  for (int i = 0; i < clusters; ++i) {
    Json cluster = fleetadm::test::cluster_object("c" + std::to_string(i), {{"env", random.one_of({"prod", "dev"})},
                                                                            {"tier", random.one_of({"gold", "tin"})},
                                                                            {"cluster.open-cluster-management.io/clusterset",
                                                                             random.one_of({"set0", "set1", "set2", "set9"})}});
    if (random.chance(20))
      cluster["spec"]["taints"] = {{{"key", "k"},
                                    {"effect", random.one_of({"NoSelect", "NoSelectIfNew", "PreferNoSelect"})},
                                    {"timeAdded", "2026-03-01T09:59:00Z"}}};
    if (random.chance(60)) {
      const std::string cpu = random.one_of({"1", "500m", "4", "0.3", "300m"});
      cluster["status"] = {{"allocatable", {{"cpu", cpu}}}, {"capacity", {{"cpu", cpu}}}};
    }
    if (random.chance(5)) cluster["metadata"]["deletionTimestamp"] = "2026-03-01T09:00:00Z";
    made.objects.push_back(std::move(cluster));
    if (random.chance(30)) {
      made.objects.push_back({{"kind", "AddOnPlacementScore"},
                              {"metadata", {{"name", "demo"}, {"namespace", "c" + std::to_string(i)}}},
                              {"status", {{"scores", {{{"name", "s"}, {"value", random.below(200) - 100}}}}}}});
    }
  }
  for (int i = 0; i < 3; ++i) {
    std::vector<std::string> names;
    for (int j = random.below(5); j > 0; --j) names.push_back("c" + std::to_string(random.below(14)));
    made.objects.push_back(fleetadm::test::decision_object(random.one_of({"team", "other"}), "d" + std::to_string(i),
                                                           random.one_of({"p", "q", ""}), names));
  }
  Json spec = Json::object();
  if (random.chance(40)) spec["clusterSets"] = {random.one_of({"set0", "set1"}), "set2"};
  if (random.chance(60)) spec["numberOfClusters"] = random.below(6);
  if (random.chance(50)) spec["predicates"] = {{{"requiredClusterSelector", {{"labelSelector", label_selector(random)}}}}};
  if (random.chance(40)) spec["tolerations"] = {{{"key", "k"}, {"operator", "Exists"}, {"tolerationSeconds", random.below(120)}}};
  if (random.chance(50)) {
    spec["prioritizerPolicy"] = {
        {"mode", "Additive"},
        {"configurations",
         {{{"scoreCoordinate", {{"type", "BuiltIn"}, {"builtIn", "ResourceAllocatableCPU"}}}, {"weight", random.below(5) - 2}},
          {{"scoreCoordinate", {{"type", "AddOn"}, {"addOn", {{"resourceName", "demo"}, {"scoreName", "s"}}}}}, {"weight", 1}}}}};
  }
  if (random.chance(40)) spec["decisionStrategy"] = {{"groupStrategy", {{"clustersPerDecisionGroup", 1 + random.below(3)}}}};
  made.placement = fleetadm::test::placement_object("team", "p", spec);
  return made;
}

// Everything of a pass that is written or told, as one text.
std::string text_of(const Pass& pass) {
  std::string out = pass.failure + "|" + pass.verdict.message + "|";
  for (const auto& name : pass.selected) out += name + ",";
  for (const auto& one : pass.decisions) {
    out += "\n" + one.name + " " + one.group_name + " " + std::to_string(one.group_index) + ":";
    for (const auto& name : one.clusters) out += name + ",";
  }
  for (const auto& name : pass.surplus) out += "\n-" + name;
  out += "\n" + pass.score_note;
  for (const auto& one : pass.conditions) out += "\n" + one.type + one.status + one.reason + one.message;
  if (pass.requeue_at) out += "\n" + format_time(*pass.requeue_at);
  return out;
}

Pass pass_over(const Case& made) {
  FleetState world;
  for (const Json& object : made.objects) put_object(world, object);
  return schedule(world, decode_placement(made.placement), test_now());
}

std::vector<Case> smaller_cases(const Case& made) {
  std::vector<Case> all;
  for (auto& objects : testkit::shorter(made.objects)) all.push_back({std::move(objects), made.placement});
  const std::vector<std::string> keep{"kind", "metadata", "name", "namespace", "clusterName"};
  for (Json& spec : testkit::reductions(object_at(made.placement, {"spec"}), keep)) {
    all.push_back(made);
    all.back().placement["spec"] = std::move(spec);
  }
  for (std::size_t i = 0; i < made.objects.size(); ++i) {
    for (Json& object : testkit::reductions(made.objects[i], keep)) {
      all.push_back(made);
      all.back().objects[i] = std::move(object);
    }
  }
  return all;
}

std::string describe_case(const Case& made) {
  std::string out = dump_json(made.placement);
  for (const Json& object : made.objects) out += "\n" + dump_json(object);
  return out;
}

void holds(int rounds, std::function<std::string(const Case&)> wrong) {
  testkit::holds_for_all<Case>(rounds, {random_case, smaller_cases, describe_case, std::move(wrong)});
}

// Membership in the plainest words, apart from the engine's.
bool in_a_bound_set(const Case& made, const std::string& cluster_name) {
  const Json* cluster = nullptr;
  for (const Json& object : made.objects) {
    if (str(object, {"kind"}) == "ManagedCluster" && name_of(object) == cluster_name) cluster = &object;
  }
  if (cluster == nullptr) return false;
  for (const Json& set : made.objects) {
    if (str(set, {"kind"}) != "ManagedClusterSet") continue;
    const bool bound = std::any_of(made.objects.begin(), made.objects.end(), [&](const Json& object) {
      return str(object, {"kind"}) == "ManagedClusterSetBinding" && namespace_of(object) == "team" &&
             name_of(object) == name_of(set);
    });
    const auto asked = string_list_at(made.placement, {"spec", "clusterSets"});
    if (!bound || (!asked.empty() && std::find(asked.begin(), asked.end(), name_of(set)) == asked.end())) continue;
    if (str(set, {"spec", "clusterSelector", "selectorType"}).empty()) {
      if (label_of(*cluster, "cluster.open-cluster-management.io/clusterset") == name_of(set)) return true;
      continue;
    }
    const Json& selector = object_at(set, {"spec", "clusterSelector", "labelSelector"});
    bool member = true;
    for (const auto& [key, value] : strings_at(selector, {"matchLabels"})) member = member && label_of(*cluster, key) == value;
    for (const Json& expression : list_at(selector, {"matchExpressions"})) {
      const auto values = string_list_at(expression, {"values"});
      const bool listed = !values.empty() && label_of(*cluster, str(expression, {"key"})) == values.front();
      member = member && listed == (str(expression, {"operator"}) == "In");
    }
    if (member) return true;
  }
  return false;
}

// Invariant 1 of docs/architecture.md#invariants.
TEST(PlacementProperties, AClusterOutsideEveryBoundSetIsNeverSelected) {
  holds(500, [](const Case& made) -> std::string {
    const Pass pass = pass_over(made);
    for (const std::string& name : pass.selected) {
      if (!in_a_bound_set(made, name)) return name + " is in no bound set and is selected";
    }
    for (const WantedDecision& one : pass.decisions) {
      for (const std::string& name : one.clusters) {
        if (!in_a_bound_set(made, name)) return name + " is in no bound set and is in " + one.name;
      }
    }
    return {};
  });
}

// Invariant 2.
TEST(PlacementProperties, DecisionsAreAPureFunctionOfTheirInputs) {
  holds(150, [](const Case& made) -> std::string {
    const std::string once = text_of(pass_over(made));
    if (once != text_of(pass_over(made))) return "a second pass over the same objects differs";
    Case shuffled = made;
    std::shuffle(shuffled.objects.begin(), shuffled.objects.end(), std::mt19937(7));
    return once == text_of(pass_over(shuffled)) ? "" : "the order in which objects arrive matters";
  });
}

kube::CachedPtr cached(const Json& object) {
  return std::make_shared<const kube::CachedObject>(kube::object_key(object), object);
}

SchedulerCache::Kind kind_of(const Json& object) {
  const std::string name = str(object, {"kind"});
  if (name == "ManagedCluster") return SchedulerCache::Kind::kCluster;
  if (name == "ManagedClusterSet") return SchedulerCache::Kind::kSet;
  if (name == "ManagedClusterSetBinding") return SchedulerCache::Kind::kBinding;
  return name == "PlacementDecision" ? SchedulerCache::Kind::kDecision : SchedulerCache::Kind::kScore;
}

TEST(PlacementProperties, TheWayToAWorldDoesNotMatter) {
  // Objects come, change into others' shapes, go and come back: what is left counts, not the history.
  holds(120, [](const Case& made) -> std::string {
    SchedulerCache fleet;
    fleet.note(SchedulerCache::Kind::kPlacement, nullptr, cached(made.placement));
    Random random(static_cast<unsigned>(made.objects.size()) + 5000);
    const Case other = random_case(random);
    for (const Json& object : other.objects) fleet.note(kind_of(object), nullptr, cached(object));
    fleet.catch_up();
    static_cast<void>(fleet.run("team/p", test_now()));  // makes the columns that the later changes have to keep right
    for (const Json& object : other.objects) fleet.note(kind_of(object), cached(object), nullptr);
    for (const Json& object : made.objects) fleet.note(kind_of(object), nullptr, cached(object));
    fleet.catch_up();
    const auto pass = fleet.run("team/p", test_now());
    return pass && text_of(*pass) == text_of(pass_over(made)) ? "" : "what was there before shows";
  });
}

TEST(PlacementProperties, AChangeNamesEveryPlacementWhoseResultItAlters) {
  // Each object of a second random fleet takes the place of the first's one of its kind and name, one after the other.
  holds(120, [](const Case& made) -> std::string {
    SchedulerCache fleet;
    fleet.note(SchedulerCache::Kind::kPlacement, nullptr, cached(made.placement));
    std::map<std::string, kube::CachedPtr> known;
    const auto put = [&](const Json& object) {
      auto& before = known[str(object, {"kind"}) + "/" + kube::object_key(object)];
      const auto after = cached(object);
      fleet.note(kind_of(object), before, after);
      before = after;
      return fleet.catch_up();
    };
    for (const Json& object : made.objects) put(object);
    Random random(static_cast<unsigned>(made.objects.size()) + 9000);
    for (const Json& object : random_case(random).objects) {
      if (kind_of(object) == SchedulerCache::Kind::kDecision)
        continue;  // others' decisions count from the next pass on, as upstream
      const auto before = fleet.run("team/p", test_now());
      const auto named = put(object);
      const auto after = fleet.run("team/p", test_now());
      if (before && after && text_of(*before) != text_of(*after) && !named.contains("team/p"))
        return "not named by the change of " + dump_json(object);
    }
    return {};
  });
}

TEST(PlacementProperties, ASecondPassOverItsOwnResultChangesNothing) {
  const auto decided = [](const Case& made, const Pass& pass) {
    Case after = made;
    std::erase_if(after.objects, [](const Json& object) {
      return str(object, {"kind"}) == "PlacementDecision" && namespace_of(object) == "team" &&
             label_of(object, "cluster.open-cluster-management.io/placement") == "p";
    });
    for (const WantedDecision& one : pass.decisions)
      after.objects.push_back(fleetadm::test::decision_object("team", one.name, "p", one.clusters));
    return after;
  };
  holds(150, [&](const Case& made) -> std::string {
    const Pass first = pass_over(made);
    if (!first.failure.empty() || first.verdict.code != Code::kSuccess) return {};
    // Taints that spare the decided and Steady itself may move a cluster once; after that the result must stand still.
    const Case once = decided(made, first);
    const Pass second = pass_over(once);
    return pass_over(decided(once, second)).selected == second.selected ? "" : "the result does not come to rest";
  });
}

}  // namespace
}  // namespace fleetadm::placement
