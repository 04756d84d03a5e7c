// Invariants over random fleets, from fixed seeds: a cluster outside every bound set is never selected, and decisions are a pure
// function of their inputs, whatever the order in which those arrived.
#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <set>

#include "core/placement/fleet.h"
#include "tests/unit/core/placement/fixtures.h"

namespace fleetadm::placement {
namespace {

using fleetadm::test::put_object;
using fleetadm::test::test_now;

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int below(int most) { return static_cast<int>(engine_() % static_cast<unsigned>(most)); }
  bool chance(int percent) { return below(100) < percent; }
  std::string one_of(std::initializer_list<const char*> words) { return words.begin()[below(static_cast<int>(words.size()))]; }
  std::mt19937& engine() { return engine_; }

 private:
  std::mt19937 engine_;
};

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

Case random_case(unsigned seed) {
  Random random(seed);
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
  for (const auto& [name, sum] : pass.sums) out += "\n" + name + "=" + std::to_string(sum);
  for (const auto& one : pass.conditions) out += "\n" + one.type + one.status + one.reason + one.message;
  if (pass.requeue_at) out += "\n" + format_time(*pass.requeue_at);
  return out;
}

Pass pass_over(const Case& made) {
  World world;
  for (const Json& object : made.objects) put_object(world, object);
  return schedule(world, decode_placement(made.placement), test_now());
}

// Drops one object after the other for as long as the failure stays: what is left is the smallest example.
template <class Fails>
Case shrink(Case made, Fails fails) {
  for (std::size_t i = 0; i < made.objects.size();) {
    Case smaller = made;
    smaller.objects.erase(smaller.objects.begin() + static_cast<std::ptrdiff_t>(i));
    if (fails(smaller)) {
      made = std::move(smaller);
    } else {
      ++i;
    }
  }
  return made;
}

std::string describe(const Case& made) {
  std::string out = dump_json(made.placement);
  for (const Json& object : made.objects) out += "\n" + dump_json(object);
  return out;
}

template <class Fails>
void holds_for_all(int rounds, Fails fails) {
  for (int seed = 0; seed < rounds; ++seed) {
    const Case made = random_case(static_cast<unsigned>(seed));
    ASSERT_FALSE(fails(made)) << "seed " << seed << ", smallest example:\n" << describe(shrink(made, fails));
  }
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
      const bool listed = label_of(*cluster, str(expression, {"key"})) == string_list_at(expression, {"values"}).front();
      member = member && listed == (str(expression, {"operator"}) == "In");
    }
    if (member) return true;
  }
  return false;
}

TEST(PlacementProperties, AClusterOutsideEveryBoundSetIsNeverSelected) {
  holds_for_all(500, [](const Case& made) {
    const Pass pass = pass_over(made);
    return std::any_of(pass.selected.begin(), pass.selected.end(),
                       [&](const std::string& name) { return !in_a_bound_set(made, name); });
  });
}

TEST(PlacementProperties, DecisionsAreAPureFunctionOfTheirInputs) {
  holds_for_all(150, [](const Case& made) {
    const std::string once = text_of(pass_over(made));
    if (once != text_of(pass_over(made))) return true;
    Case shuffled = made;
    std::shuffle(shuffled.objects.begin(), shuffled.objects.end(), std::mt19937(7));
    return once != text_of(pass_over(shuffled));
  });
}

TEST(PlacementProperties, TheWayToAWorldDoesNotMatter) {
  // Objects come, change into others' shapes, go and come back: what is left counts, not the history.
  holds_for_all(120, [](const Case& made) {
    Fleet fleet;
    const auto cached = [](const Json& object) {
      return std::make_shared<const kube::CachedObject>(kube::object_key(object), object);
    };
    const auto kind = [](const Json& object) {
      const std::string name = str(object, {"kind"});
      if (name == "ManagedCluster") return Fleet::Kind::kCluster;
      if (name == "ManagedClusterSet") return Fleet::Kind::kSet;
      if (name == "ManagedClusterSetBinding") return Fleet::Kind::kBinding;
      return name == "PlacementDecision" ? Fleet::Kind::kDecision : Fleet::Kind::kScore;
    };
    fleet.note(Fleet::Kind::kPlacement, nullptr, cached(made.placement));
    const Case other = random_case(static_cast<unsigned>(made.objects.size()) + 5000);
    for (const Json& object : other.objects) fleet.note(kind(object), nullptr, cached(object));
    fleet.catch_up();
    for (const Json& object : other.objects) fleet.note(kind(object), cached(object), nullptr);
    for (const Json& object : made.objects) fleet.note(kind(object), nullptr, cached(object));
    fleet.catch_up();
    return text_of(*fleet.run("team/p", test_now())) != text_of(pass_over(made));
  });
}

TEST(PlacementProperties, ASecondPassOverItsOwnResultChangesNothing) {
  holds_for_all(150, [](const Case& made) {
    const Pass first = pass_over(made);
    if (!first.failure.empty() || first.verdict.code != Code::kSuccess) return false;
    Case after = made;
    std::erase_if(after.objects, [](const Json& object) {
      return str(object, {"kind"}) == "PlacementDecision" && namespace_of(object) == "team" &&
             label_of(object, "cluster.open-cluster-management.io/placement") == "p";
    });
    for (const WantedDecision& one : first.decisions)
      after.objects.push_back(fleetadm::test::decision_object("team", one.name, "p", one.clusters));
    const Pass second = pass_over(after);
    // Taints that spare the decided and Steady itself may move a cluster once; after that the result must stand still.
    Case again = after;
    std::erase_if(again.objects, [](const Json& object) {
      return str(object, {"kind"}) == "PlacementDecision" && namespace_of(object) == "team" &&
             label_of(object, "cluster.open-cluster-management.io/placement") == "p";
    });
    for (const WantedDecision& one : second.decisions)
      again.objects.push_back(fleetadm::test::decision_object("team", one.name, "p", one.clusters));
    return pass_over(again).selected != second.selected;
  });
}

}  // namespace
}  // namespace fleetadm::placement
