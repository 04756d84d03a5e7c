// The hub's controllers of add-ons against an API server in memory: installed by a placement, configured step by step.
#include "core/addon/hub/addon_controllers.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <thread>

#include "core/addon/rules/config_hash.h"
#include "core/addon/rules/config_reference.h"
#include "core/addon/rules/names.h"
#include "core/addon/rules/rollout_revisions.h"
#include "core/addon/rules/scenario.h"
#include "core/api/kinds.h"
#include "tests/support/killable.h"
#include "tests/support/replica_sets.h"

namespace fleetadm::addon {
namespace {

using testkit::FakeApi;

constexpr const char* kVersion = "addon.open-cluster-management.io/v1beta1";

struct AddonControllers : testing::Test {
  const kube::Resource& addons = api::managed_cluster_addons_v1beta1();
  std::shared_ptr<FakeApi> hub;
  testkit::Killable controllers;
  int most_at_once = 0;  // clusters that had the new content without having applied it

  void SetUp() override { make_hub({"c1", "c2"}, 1); }
  void TearDown() override { controllers.stop(); }

  void make_hub(const std::vector<std::string>& clusters, int concurrency) {
    hub = FakeApi::make();
    for (const std::string& cluster : clusters) {
      hub->put(api::managed_clusters(), Json{{"apiVersion", "cluster.open-cluster-management.io/v1"},
                                             {"kind", "ManagedCluster"},
                                             {"metadata", {{"name", cluster}}}});
    }
    testkit::put_decided(*hub, "ns", "p", {{"", clusters}});
    put_config("one");
    const Json config{{"group", kGroup}, {"resource", kDeploymentConfigs}, {"namespace", "ns"}, {"name", "base"}};
    const Json strategy{{"type", "Progressive"}, {"progressive", {{"maxConcurrency", concurrency}}}};
    const Json placement{{"namespace", "ns"}, {"name", "p"}, {"rolloutStrategy", strategy}};
    hub->put(api::cluster_management_addons_v1beta1(),
             Json{{"apiVersion", kVersion},
                  {"kind", "ClusterManagementAddOn"},
                  {"metadata", {{"name", "a"}}},
                  {"spec",
                   {{"defaultConfigs", Json::array({config})},
                    {"installStrategy", {{"type", "Placements"}, {"placements", Json::array({placement})}}}}}});
  }
  void put_config(const std::string& value) {
    hub->put(api::addon_deployment_configs(), Json{{"apiVersion", kVersion},
                                                   {"kind", "AddOnDeploymentConfig"},
                                                   {"metadata", {{"name", "base"}, {"namespace", "ns"}}},
                                                   {"spec", {{"agentInstallNamespace", value}}}});
  }
  void bind(const std::string& cluster_set) {
    hub->put(api::managed_cluster_set_bindings(), {{"apiVersion", "cluster.open-cluster-management.io/v1beta2"},
                                                   {"kind", "ManagedClusterSetBinding"},
                                                   {"metadata", {{"name", cluster_set}, {"namespace", "ns"}}},
                                                   {"spec", {{"clusterSet", cluster_set}}}});
  }
  void start(int die_after = -1, bool check_bound_sets = false) {
    controllers.start(
        [this, check_bound_sets](controller::Manager& manager, const std::shared_ptr<kube::WriteGate>& gate) {
          AddonHub all;
          all.clock = Clock::system();
          all.objects = std::make_shared<CachedObjects>(manager, hub->client(gate));
          if (check_bound_sets) all.objects->check_bound_sets(manager);
          all.writer = std::make_shared<PassWriter>(hub->client(gate));
          add_installation_controllers(manager, all);
          add_cluster_addon_controllers(manager, hub->client(gate), all);
        },
        die_after);
  }

  /// What deploys the agents, and the agents: each cluster has what its add-on was configured with.
  void deploy() {
    int at_once = 0;
    for (const Json& addon : hub->all(addons)) {
      const Json& references = list_at(addon, {"status", "configReferences"});
      if (references.empty()) continue;
      if (config_of(references[0]) != config_of(references[0], "lastAppliedConfig")) ++at_once;
      const std::string hashes = dump_json(Json{{"addondeploymentconfigs.addon.open-cluster-management.io/ns/base",
                                                 str(references[0], {"desiredConfig", "specHash"})}});
      const std::string cluster = namespace_of(addon);
      const std::optional<Json> work = hub->get(api::manifest_works(), cluster, "addon-a-deploy-0");
      if (!work || annotation_of(*work, kConfigSpecHashAnnotation) != hashes) {
        Json made{{"apiVersion", "work.open-cluster-management.io/v1"},
                  {"kind", "ManifestWork"},
                  {"metadata", {{"name", "addon-a-deploy-0"}, {"namespace", cluster}, {"generation", 1}}}};
        made["metadata"]["labels"] = {{std::string(api::kAddonNameLabel), "a"}};
        made["metadata"]["annotations"] = {{std::string(kConfigSpecHashAnnotation), hashes}};
        hub->put(api::manifest_works(), made);
        testkit::report_as_agents(*hub, [](const std::string&) { return std::optional<std::string>("True"); });
      }
      const auto tell = [](Json& object) -> Status {
        controller::set_condition(at_or_make(object, {"status", "conditions"}), "ManifestApplied", "True", "AddonManifestApplied",
                                  "", Clock::system()->now());
        return {};
      };
      const Result<Json> told = hub->client().modify(addons, cluster, "a", tell, "status");
      EXPECT_TRUE(told || told.error().category == Category::kConflict || told.error().category == Category::kNotFound);
    }
    most_at_once = std::max(most_at_once, at_once);
  }
  bool eventually(const std::function<bool()>& done, Duration timeout = std::chrono::seconds(20)) {
    const auto until = std::chrono::steady_clock::now() + timeout;
    while (std::chrono::steady_clock::now() < until) {
      deploy();
      if (done()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }
  Json declaration() const { return hub->get(api::cluster_management_addons_v1beta1(), {}, "a").value_or(Json()); }
  std::string live_hash_of_base() const { return config_spec_hash(*hub->get(api::addon_deployment_configs(), "ns", "base")); }
  /// Every cluster of the placement has the content as it is now, and that is told.
  bool complete(std::size_t clusters) const {
    const Json object = declaration();
    const Json& progressions = list_at(object, {"status", "installProgressions"});
    if (progressions.empty() || list_at(progressions[0], {"conditions"}).empty()) return false;
    const Json& references = list_at(progressions[0], {"configReferences"});
    if (references.empty() || str(references[0], {"lastAppliedConfig", "specHash"}) != live_hash_of_base()) return false;
    return str(progressions[0]["conditions"][0], {"reason"}) == "Completed" && hub->all(addons).size() == clusters;
  }
  /// Without what differs from run to run.
  Json state() const {
    Json all = Json::array();
    std::vector<Json> objects = hub->all(addons);
    objects.push_back(declaration());
    for (const Json& one : objects) {
      Json object = comparable(one);
      erase_at(object, {"metadata", "creationTimestamp"});
      if (const auto revisions = addon_revisions(object); !revisions.empty())  // with times
        object["metadata"]["annotations"][std::string(kRevisionsAnnotation)] = revisions.size();
      for (Json& owner : at_or_make(object, {"metadata", "ownerReferences"})) owner.erase("uid");
      for (Json& condition : at_or_make(object, {"status", "conditions"})) condition.erase("lastTransitionTime");
      for (Json& progression : at_or_make(object, {"status", "installProgressions"})) {
        for (Json& condition : at_or_make(progression, {"conditions"})) condition.erase("lastTransitionTime");
      }
      all.push_back(std::move(object));
    }
    return all;
  }
  /// No write for twice as long as the controllers gather events.
  void settle() {
    int before = -1;
    while (before != hub->write_count()) {
      before = hub->write_count();
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
  }
};

TEST_F(AddonControllers, ReadAndWriteOnlyWhatTheServerKeeps) {
  hub->put(api::managed_cluster_sets(),
           {{"apiVersion", "cluster.open-cluster-management.io/v1beta2"},
            {"kind", "ManagedClusterSet"},
            {"metadata", {{"name", "global"}}},
            {"spec", {{"clusterSelector", {{"selectorType", "LabelSelector"}, {"labelSelector", Json::object()}}}}}});
  bind("global");
  controllers.start([this](controller::Manager& manager, const std::shared_ptr<kube::WriteGate>& gate) {
    ASSERT_TRUE(add_addon_controllers(manager, hub->client(gate), {}));
  });
  const auto configured = [&] {
    const std::vector<Json> all = hub->all(addons);
    return all.size() == 2 && std::any_of(all.begin(), all.end(), [](const Json& addon) {
             return !list_at(addon, {"status", "configReferences"}).empty();
           });
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!configured() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_TRUE(configured()) << dump_json_pretty(declaration());
  controllers.stop();
  for (const testkit::ApiCall& call : hub->calls()) {
    if (call.plural == "managedclusteraddons" || call.plural == "clustermanagementaddons") {
      EXPECT_EQ(call.version, "v1alpha1") << call.verb << " " << call.path;
    }
  }
  EXPECT_EQ(hub->count("watch", "managedclusteraddons"), 1);
}

TEST_F(AddonControllers, InstallByPlacementAndRollOutStepByStep) {
  start();
  ASSERT_TRUE(eventually([&] { return complete(2); })) << dump_json_pretty(declaration());
  EXPECT_EQ(most_at_once, 1);
  const Json addon = *hub->get(addons, "c1", "a");
  EXPECT_EQ(str(list_at(addon, {"metadata", "ownerReferences"})[0], {"kind"}), "ClusterManagementAddOn");

  settle();
  hub->forget_calls();
  Json touched = *hub->get(addons, "c1", "a");
  touched["metadata"]["labels"]["x"] = "y";
  hub->put(addons, touched);
  settle();
  EXPECT_EQ(hub->write_count(), 0) << "nothing is to be done";

  most_at_once = 0;
  put_config("two");
  ASSERT_TRUE(eventually([&] { return complete(2); })) << dump_json_pretty(declaration());
  EXPECT_EQ(most_at_once, 1);

  testkit::put_decided(*hub, "ns", "p", {{"", {"c2"}}});
  EXPECT_TRUE(eventually([&] { return hub->all(addons).size() == 1; }));
}

TEST_F(AddonControllers, KilledAfterAnyWriteTheyEndAlike) {
  Json reference;
  for (int k = -1;; ++k) {
    SCOPED_TRACE("killed after write " + std::to_string(k));
    make_hub({"c1", "c2"}, 2);
    start(k);
    const bool lived = eventually([&] { return complete(2) || (k >= 0 && controllers.writes() >= k); });
    ASSERT_TRUE(lived);
    if (k >= 0) {
      const bool done = complete(2);
      start();
      ASSERT_TRUE(eventually([&] { return complete(2); })) << dump_json_pretty(declaration());
      EXPECT_EQ(state(), reference);
      if (!done) continue;
      EXPECT_GT(k, 5) << "some writes were made";
      break;
    } else {
      settle();
      reference = state();
    }
  }
}

TEST_F(AddonControllers, ATypeThatMayNotBeReadIsLeftToItsOwnManager) {
  Json object = declaration();
  object["spec"]["defaultConfigs"].push_back(
      Json{{"group", "example.com"}, {"resource", "widgets"}, {"name", "w"}, {"namespace", "ns"}});
  hub->put(api::cluster_management_addons_v1beta1(), object);
  start();
  const auto configured = [&](const std::string& status) {
    const std::optional<Json> addon = hub->get(addons, "c1", "a");
    const Json* condition = addon ? controller::find_condition(*addon, "Configured") : nullptr;
    return condition != nullptr && str(*condition, {"status"}) == status;
  };
  ASSERT_TRUE(eventually([&] { return configured("False"); }));
  const auto fill = [](Json& declared) -> Status {
    for (Json& progression : at_or_make(declared, {"status", "installProgressions"})) {
      for (Json& one : at_or_make(progression, {"configReferences"})) {
        if (str(one, {"resource"}) == "widgets") one["desiredConfig"]["specHash"] = "theirs";
      }
    }
    return {};
  };
  EXPECT_TRUE(eventually([&] {
    static_cast<void>(hub->client().modify(api::cluster_management_addons_v1beta1(), {}, "a", fill, "status"));
    return configured("True");
  }));
}

TEST_F(AddonControllers, ATypeThatMayBeReadIsWatchedFromThenOn) {
  const kube::Resource widgets{"example.com", "v1", "widgets", "Widget", true};
  const auto serve = [&](const char* path, const char* text) {
    hub->route(path, {200, {{"content-type", "application/json"}}, text});
  };
  serve("/api", R"({"kind": "APIVersions", "versions": ["v1"]})");
  serve("/api/v1", R"({"kind": "APIResourceList", "groupVersion": "v1", "resources": []})");
  serve("/apis", R"({"kind": "APIGroupList", "groups": [{"name": "example.com",
      "versions": [{"groupVersion": "example.com/v1", "version": "v1"}],
      "preferredVersion": {"groupVersion": "example.com/v1", "version": "v1"}}]})");
  serve("/apis/example.com/v1", R"({"kind": "APIResourceList", "groupVersion": "example.com/v1", "resources": [
      {"name": "widgets", "singularName": "widget", "namespaced": true, "kind": "Widget", "verbs": ["get", "list", "watch"]}]})");
  const Json widget{{"apiVersion", "example.com/v1"},
                    {"kind", "Widget"},
                    {"metadata", {{"name", "w"}, {"namespace", "ns"}}},
                    {"spec", {{"size", 1}}}};
  Json object = declaration();
  object["spec"]["defaultConfigs"] =
      Json::array({Json{{"group", "example.com"}, {"resource", "widgets"}, {"name", "w"}, {"namespace", "ns"}}});
  hub->put(api::cluster_management_addons_v1beta1(), object);
  start();
  const auto hash = [&] {
    const std::optional<Json> addon = hub->get(addons, "c1", "a");
    const Json references = list_at(addon.value_or(Json()), {"status", "configReferences"});
    return references.empty() ? std::string() : str(references[0], {"desiredConfig", "specHash"});
  };
  const auto missing = [&] {
    const std::optional<Json> addon = hub->get(addons, "c1", "a");
    const Json* condition = addon ? controller::find_condition(*addon, "Configured") : nullptr;
    return condition != nullptr && str(*condition, {"message"}) == "Configuration widgets.example.com ns/w does not exist";
  };
  ASSERT_TRUE(eventually(missing));
  hub->put(widgets, widget);
  EXPECT_TRUE(eventually([&] { return hash() == config_spec_hash(widget); }));
}

TEST_F(AddonControllers, DecisionsDoNotReachBeyondTheBoundSets) {
  const auto put_cluster = [&](const std::string& name, const std::string& cluster_set) {
    hub->put(api::managed_clusters(),
             {{"apiVersion", "cluster.open-cluster-management.io/v1"},
              {"kind", "ManagedCluster"},
              {"metadata", {{"name", name}, {"labels", {{std::string(api::kClusterSetLabel), cluster_set}}}}}});
  };
  for (const char* name : {"ours", "theirs"}) {
    hub->put(api::managed_cluster_sets(), {{"apiVersion", "cluster.open-cluster-management.io/v1beta2"},
                                           {"kind", "ManagedClusterSet"},
                                           {"metadata", {{"name", name}}},
                                           {"spec", {{"clusterSelector", {{"selectorType", "ExclusiveClusterSetLabel"}}}}}});
  }
  put_cluster("c1", "ours");
  put_cluster("c2", "theirs");
  bind("ours");
  testkit::put_decided(*hub, "ns", "p", {{"", {"c1"}}});
  start(-1, true);
  const auto has = [&](const char* cluster) { return hub->get(addons, cluster, "a").has_value(); };
  ASSERT_TRUE(eventually([&] { return has("c1"); }));
  testkit::put_decided(*hub, "ns", "p", {{"", {"c2"}}});
  hub->erase(addons, "c1", "a");
  put_cluster("c3", "ours");
  EXPECT_FALSE(eventually([&] { return has("c2"); }, std::chrono::milliseconds(500)));
  bind("theirs");
  EXPECT_TRUE(eventually([&] { return has("c2"); }));
}

TEST(AddonControllersWithoutTypes, SayWhatIsMissing) {
  const auto hub = FakeApi::make();
  hub->fail_next("list", "clustermanagementaddons", 404, "");
  controller::Manager manager({});
  const Status added = add_addon_controllers(manager, hub->client(), {});
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().category, Category::kNotFound);
}

}  // namespace
}  // namespace fleetadm::addon
