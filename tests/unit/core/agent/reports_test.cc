// The status that the agent reports, against servers in memory.
#include <gtest/gtest.h>
#include <map>

#include "core/api/agent_health.h"
#include "core/api/cluster_claim.h"
#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/registration/agent/cluster.h"
#include "core/registration/agent/reporter.h"
#include "core/registration/agent/topology.h"
#include "tests/support/fake_api.h"
#include "tests/unit/core/agent/accepted_cluster.h"
#include "tests/unit/core/agent/fleet.h"

namespace fleetadm::registration::agent {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testkit::FakeApi;

class Reporting : public testing::Test {
 protected:
  void SetUp() override {
    spoke->route("/version", {200, {}, R"({"gitVersion":"v1.35.4"})"});
    hub->put(api::managed_clusters(), accepted());
  }
  Json managed() { return hub->get(api::managed_clusters(), {}, "c1").value(); }
  std::shared_ptr<OptionalSource> source(const kube::Resource& resource) {
    return std::make_shared<OptionalSource>(spoke->client(), resource, kube::InformerOptions(), [] {});
  }
  std::string available() {
    const Json object = managed();
    const Json* found = controller::find_condition(object, api::kConditionAvailable);
    return found == nullptr ? "" : str(*found, {"status"});
  }
  /// Until the lists that the first round begins have come.
  Result<controller::Outcome> round_of(StatusReporter& one) {
    auto outcome = one.reconcile(managed());
    EXPECT_TRUE(testkit::soon([&] {
      if (!outcome || outcome->requeue_after != Duration(std::chrono::milliseconds(20))) return true;
      outcome = one.reconcile(managed());
      return false;
    }));
    return outcome;
  }
  Result<controller::Outcome> round() { return round_of(reporter); }
  void health(int status) { spoke->route("/livez", {status, {}, status == 200 ? "ok" : "no"}); }

  std::shared_ptr<FakeApi> hub = FakeApi::make();
  std::shared_ptr<FakeApi> spoke = FakeApi::make();
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>(parse_time("2026-11-21T18:00:00Z").value());
  std::shared_ptr<kube::Recorder> events = std::make_shared<kube::Recorder>(hub->client(), "klusterlet-agent", "test");
  SpokeSources sources{source(kube::resources::nodes()), source(api::cluster_claims()), source(api::cluster_properties()),
                       std::make_shared<OptionalSource>(spoke->client(), kube::resources::deployments(),
                                                        own_deployment(api::kAgentNamespace), [] {})};
  StatusReporter reporter{hub->client(), spoke->client(), "https://hub", {}, sources, events, clock};
};

TEST_F(Reporting, FallsBackToHealthz) {
  for (const int refused : {404, 403}) {
    spoke->route("/livez", {refused, {}, "no"});
    spoke->route("/healthz", {200, {}, "ok"});
    EXPECT_EQ(probe_once(spoke->client()).state, Probe::State::kUp);
  }
  health(500);
  EXPECT_EQ(probe_once(spoke->client().with_timeout(seconds(1))).state, Probe::State::kDown);
}

TEST_F(Reporting, TellsOfFlipsByEvents) {
  health(200);
  ASSERT_TRUE(round());
  EXPECT_EQ(available(), "True");
  health(404);
  spoke->route("/healthz", {404, {}, "no"});
  EXPECT_EQ(round()->requeue_after, Duration(seconds(5)));
  EXPECT_EQ(available(), "True");
  clock->advance(seconds(20));
  ASSERT_TRUE(round());
  EXPECT_EQ(available(), "False");
  health(200);
  ASSERT_TRUE(round());
  EXPECT_EQ(available(), "True");
  events->flush(seconds(5));
  std::set<std::string> reasons;  // a repeated one becomes a series
  for (const Json& event : hub->all(kube::resources::events()))
    reasons.insert(str(event, {"type"}) + " " + str(event, {"reason"}));
  EXPECT_EQ(reasons, (std::set<std::string>{"Normal Available", "Warning Unavailable"}));
}

TEST_F(Reporting, SecondRoundWritesNothing) {
  health(200);
  ASSERT_TRUE(round());
  events->flush(seconds(5));
  hub->forget_calls();
  clock->advance(minutes(1));
  ASSERT_TRUE(round());
  EXPECT_EQ(hub->write_count(), 0);
}

TEST_F(Reporting, AtRestItsClusterIsAskedOnceARound) {
  health(200);
  const Json labels{{"app", "fleetadm-agent"}};
  spoke->put(
      kube::resources::deployments(),
      {{"metadata", {{"name", "fleetadm-agent"}, {"namespace", std::string(api::kAgentNamespace)}, {"generation", 1}}},
       {"spec", {{"replicas", 1}, {"selector", {{"matchLabels", labels}}}}},
       {"status",
        {{"observedGeneration", 1}, {"replicas", 1}, {"updatedReplicas", 1}, {"readyReplicas", 1}, {"availableReplicas", 1}}}});
  ASSERT_TRUE(round());
  clock->advance(minutes(1));
  ASSERT_TRUE(testkit::soon([&] { return round() && api::agent_health(managed()).told && spoke->open_watches() == 4; }));
  ASSERT_TRUE(round());
  events->flush(seconds(5));
  hub->forget_calls();
  spoke->forget_calls();
  for (int minute = 0; minute < 60; ++minute) {
    clock->advance(minutes(1));
    ASSERT_TRUE(round());
  }
  std::map<std::string, int> asked;
  for (const testkit::ApiCall& call : spoke->calls()) ++asked[call.path];
  EXPECT_EQ(asked, (std::map<std::string, int>{{"/livez", 60}, {"/version", 6}}));
  EXPECT_TRUE(hub->calls().empty());
}

TEST_F(Reporting, AServerThatWasAwayIsAskedForItsVersionAgain) {
  const auto version = [&] { return str(managed(), {"status", "version", "kubernetes"}); };
  health(200);
  ASSERT_TRUE(round());
  spoke->route("/version", {200, {}, R"({"gitVersion":"v1.36.0"})"});
  clock->advance(minutes(1));
  ASSERT_TRUE(round());
  EXPECT_EQ(version(), "v1.35.4");
  health(404);
  spoke->route("/healthz", {404, {}, "no"});
  ASSERT_TRUE(round());
  health(200);
  ASSERT_TRUE(round());
  EXPECT_EQ(version(), "v1.36.0");
  spoke->route("/version", {200, {}, R"({"gitVersion":"v1.36.1"})"});
  clock->advance(minutes(10));
  ASSERT_TRUE(round());
  EXPECT_EQ(version(), "v1.36.1");
}

TEST_F(Reporting, ACacheThatIsBehindItsOwnWriteLeadsToNone) {
  health(200);
  const Json old = managed();
  ASSERT_TRUE(round());
  events->flush(seconds(5));
  hub->forget_calls();
  EXPECT_TRUE(reporter.reconcile(old));
  EXPECT_EQ(hub->write_count(), 0);
}

TEST_F(Reporting, AStaleCacheCannotOverwrite) {
  health(200);
  ASSERT_TRUE(round());
  const Json old = managed();
  Json changed = old;
  controller::set_condition(changed["status"]["conditions"], "Theirs", "True", "x", "", clock->now());
  hub->put(api::managed_clusters(), changed);
  health(404);
  spoke->route("/healthz", {404, {}, "no"});
  EXPECT_TRUE(reporter.reconcile(old));
  clock->advance(minutes(1));
  const auto again = reporter.reconcile(old);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().category, Category::kConflict);
}

TEST_F(Reporting, AnotherWriterOfAnotherFieldIsNotInTheWay) {
  health(200);
  ASSERT_TRUE(round());
  const Json old = managed();
  Json changed = old;
  changed["spec"]["taints"] = Json::array({{{"key", "theirs"}, {"effect", "NoSelect"}}});
  hub->put(api::managed_clusters(), changed);
  health(404);
  spoke->route("/healthz", {404, {}, "no"});
  EXPECT_TRUE(reporter.reconcile(old));
  clock->advance(minutes(1));
  EXPECT_TRUE(reporter.reconcile(old));
  EXPECT_EQ(available(), "False");
  EXPECT_EQ(list_at(managed(), {"spec", "taints"}).size(), 1U);
}

TEST_F(Reporting, NothingIsWrittenWhileTheClockIsOff) {
  health(200);
  Json off = managed();
  controller::set_condition(off["status"]["conditions"], api::kConditionClockSynced, "False", "ManagedClusterClockOutOfSync",
                            "off", clock->now());
  hub->put(api::managed_clusters(), off);
  ASSERT_TRUE(round());
  EXPECT_EQ(hub->write_count(), 0);
}

TEST_F(Reporting, ForbiddenListsKeepWhatWasReported) {
  health(200);
  Json before = managed();
  before["status"]["capacity"] = {{"cpu", "8"}};
  before["status"]["clusterClaims"] = Json::array({{{"name", "a"}, {"value", "1"}}});
  hub->put(api::managed_clusters(), before);
  for (const char* plural : {"nodes", "clusterclaims", "clusterproperties"})
    spoke->fail_next("list", plural, 403, "Forbidden", 10);
  ASSERT_TRUE(round());
  EXPECT_EQ(str(managed(), {"status", "capacity", "cpu"}), "8");
  EXPECT_EQ(list_at(managed(), {"status", "clusterClaims"}).size(), 1U);
}

TEST_F(Reporting, APartThatIsNotReadyIsToldAsTheAgentsHealth) {
  health(200);
  std::string missing = "works: appliedmanifestworks is not synced";
  SpokeSources of_hosted = sources;
  of_hosted.own_deployment = nullptr;
  of_hosted.parts = [&] { return missing; };
  StatusReporter hosted{hub->client(), spoke->client(), "https://hub", {}, of_hosted, events, clock};
  ASSERT_TRUE(hosted.reconcile(managed()));
  EXPECT_FALSE(api::agent_health(managed()).told) << "it has just begun";
  clock->advance(seconds(30));
  EXPECT_EQ(hosted.reconcile(managed())->requeue_after, Duration(seconds(10)));
  EXPECT_EQ(api::agent_health(managed()).text(), "not ready: " + missing);
  EXPECT_EQ(available(), "True") << "of the cluster";
  Json silent = managed();
  controller::set_condition(silent["status"]["conditions"], api::kConditionAvailable, "Unknown",
                            "ManagedClusterLeaseUpdateStopped", "", clock->now());
  hub->put(api::managed_clusters(), silent);
  ASSERT_TRUE(hosted.reconcile(managed()));
  EXPECT_EQ(available(), "Unknown") << "the hub's word, while there is no heartbeat";
  missing.clear();
  ASSERT_TRUE(hosted.reconcile(managed()));
  EXPECT_FALSE(api::agent_health(managed()).told) << "a hosted agent has no Deployment of its own";
  EXPECT_EQ(available(), "True");
}

/// As an agent that was started with --report-figures.
class ReportingFigures : public Reporting {
 protected:
  void SetUp() override {
    Reporting::SetUp();
    const Json requests{{"cpu", "500m"}, {"memory", "1Gi"}};
    put_node("n1", true);
    put_node("n2", false);
    for (const char* name : {"running", "pending"}) {
      Json pod{{"metadata", {{"name", name}, {"namespace", "default"}}},
               {"spec", {{"containers", Json::array({{{"name", "c"}, {"resources", {{"requests", requests}}}}})}}},
               {"status", {{"phase", "Pending"}}}};
      if (name == std::string("running")) pod["spec"]["nodeName"] = "n1";
      spoke->put(kube::resources::pods(), pod);
    }
  }
  void put_node(const char* name, bool ready) {
    const Json amounts{{"cpu", "4"}, {"memory", "8Gi"}};
    spoke->put(kube::resources::nodes(),
               {{"metadata", {{"name", name}}},
                {"status",
                 {{"capacity", amounts},
                  {"allocatable", amounts},
                  {"conditions", Json::array({{{"type", "Ready"}, {"status", ready ? "True" : "False"}}})}}}});
  }
  static SpokeSources with_pods(const SpokeSources& sources, const std::shared_ptr<FakeApi>& spoke) {
    SpokeSources more = sources;
    kube::InformerOptions counted;
    counted.project = project_placed_node;
    more.nodes = std::make_shared<OptionalSource>(spoke->client(), kube::resources::nodes(), counted, [] {});
    more.pods = std::make_shared<PodWatch>(spoke->client());
    return more;
  }
  Result<controller::Outcome> tell() { return round_of(figures); }
  void readyz(int status) { spoke->route("/readyz", {status, {}, status == 200 ? "ok" : "no"}); }
  std::string told(std::string_view type, const char* member = "status") {
    const Json object = managed();
    const Json* found = controller::find_condition(object, type);
    return found == nullptr ? "" : str(*found, {member});
  }
  std::string figure(const char* name) { return str(managed(), {"status", "capacity", name}); }

  StatusReporter figures{hub->client(), spoke->client(), "https://hub", {}, with_pods(sources, spoke), events, clock};
};

TEST_F(ReportingFigures, TellsReadyNodesAndWhatPodsHold) {
  readyz(200);
  EXPECT_TRUE(testkit::soon([&] {
    hub->forget_calls();
    EXPECT_TRUE(tell());
    return figure("allocated.fleetadm.io/cpu") == "500m" && hub->write_count() == 0;  // the watches have come, and all is told
  }));
  EXPECT_EQ(figure("nodes.fleetadm.io/total"), "2");
  EXPECT_EQ(figure("nodes.fleetadm.io/ready"), "1");
  EXPECT_EQ(figure("allocated.fleetadm.io/pods"), "1");
  EXPECT_EQ(figure("allocating.fleetadm.io/memory"), "1Gi");
  EXPECT_EQ(figure("cpu"), "8") << "as every agent tells it";
  EXPECT_EQ(told(api::kConditionReady, "reason"), "ClusterReady");
  EXPECT_EQ(told(api::kConditionAvailable, "reason"), "ManagedClusterAvailable");
  hub->forget_calls();
  clock->advance(minutes(1));
  ASSERT_TRUE(tell());
  EXPECT_EQ(hub->write_count(), 0) << "nothing changed";
  EXPECT_EQ(spoke->count("list", "pods") + spoke->count("watch", "pods"), 1) << "they are watched";
}

TEST_F(ReportingFigures, TellsWhereItRunsUntilItIsStartedWithoutThem) {
  readyz(200);
  health(200);
  Json node = spoke->get(kube::resources::nodes(), "", "n1").value();
  node["metadata"]["labels"] = {{"topology.kubernetes.io/region", "eu"}, {"topology.kubernetes.io/zone", "eu-a"}};
  node["spec"]["providerID"] = "aws:///eu-a/i-1";
  spoke->put(kube::resources::nodes(), node);
  const auto zones = [&] { return api::told_claim(managed(), "zones.fleetadm.io"); };
  EXPECT_TRUE(testkit::soon([&] {
    EXPECT_TRUE(tell());
    return zones() == "eu-a";
  }));
  EXPECT_EQ(label_of(managed(), "topology.kubernetes.io/region"), "eu");
  EXPECT_EQ(label_of(managed(), "topology.kubernetes.io/zone"), "eu-a");
  EXPECT_EQ(label_of(managed(), "fleetadm.io/provider"), "aws");
  Json changed = managed();
  changed["metadata"]["labels"]["topology.kubernetes.io/zone"] = "mine";
  hub->put(api::managed_clusters(), changed);
  EXPECT_TRUE(testkit::soon([&] {
    EXPECT_TRUE(round());
    return zones().empty();
  }));
  EXPECT_EQ(label_of(managed(), "topology.kubernetes.io/region"), "");
  EXPECT_EQ(label_of(managed(), "topology.kubernetes.io/zone"), "mine") << "a person's";
}

TEST_F(ReportingFigures, ALabelThatTheHubRefusesHoldsNothingUp) {
  readyz(200);
  Json node = spoke->get(kube::resources::nodes(), "", "n1").value();
  node["metadata"]["labels"] = {{"topology.kubernetes.io/region", "eu"}};
  spoke->put(kube::resources::nodes(), node);
  EXPECT_TRUE(testkit::soon([&] {
    hub->refuse_next("update", "managedclusters", 1);
    EXPECT_TRUE(tell());
    return api::told_claim(managed(), "region.fleetadm.io") == "eu";
  }));
  EXPECT_EQ(label_of(managed(), "topology.kubernetes.io/region"), "");
  EXPECT_EQ(told(api::kConditionReady), "True");
}

TEST_F(ReportingFigures, AliveIsNotReadyAndSilenceIsToldAfterItsHold) {
  readyz(200);
  health(200);
  ASSERT_TRUE(tell());
  readyz(500);
  EXPECT_EQ(tell()->requeue_after, Duration(seconds(5)));
  EXPECT_EQ(told(api::kConditionReady), "True") << "held back";
  clock->advance(seconds(20));
  ASSERT_TRUE(tell());
  EXPECT_EQ(told(api::kConditionReady, "reason"), "ClusterNotReady");
  EXPECT_EQ(available(), "True");
  health(401);
  ASSERT_TRUE(tell());
  clock->advance(seconds(20));
  ASSERT_TRUE(tell());
  EXPECT_EQ(told(api::kConditionReady, "reason"), "CredentialRefused");
  EXPECT_EQ(available(), "False");
  readyz(200);
  ASSERT_TRUE(tell());
  EXPECT_EQ(told(api::kConditionReady), "True");
  EXPECT_EQ(available(), "True");
}

TEST_F(ReportingFigures, AnAgentThatIsStartedWithoutThemTakesThemAway) {
  readyz(200);
  health(200);
  EXPECT_TRUE(testkit::soon([&] {
    EXPECT_TRUE(tell());
    return !figure("allocated.fleetadm.io/cpu").empty();
  }));
  ASSERT_TRUE(round());
  EXPECT_EQ(told(api::kConditionReady), "");
  EXPECT_EQ(told(api::kConditionResponding), "");
  EXPECT_EQ(figure("nodes.fleetadm.io/total"), "");
  EXPECT_EQ(figure("cpu"), "8");
}

TEST_F(Reporting, AReadyThatIsNotOursStays) {
  health(200);
  Json before = managed();
  controller::set_condition(before["status"]["conditions"], api::kConditionReady, "True", "Theirs", "", clock->now());
  before["status"]["capacity"] = {{"allocated.fleetadm.io/cpu", "1"}};
  hub->put(api::managed_clusters(), before);
  ASSERT_TRUE(round());
  EXPECT_TRUE(controller::condition_is(managed(), api::kConditionReady, "True"));
}

TEST_F(Reporting, TellsHowTheAgentsOwnPodsAre) {
  health(200);
  const std::string ns(api::kAgentNamespace);
  const Json labels{{"app", "fleetadm-agent"}};
  Json deployment{
      {"metadata", {{"name", "fleetadm-agent"}, {"namespace", ns}, {"generation", 1}}},
      {"spec", {{"replicas", 1}, {"selector", {{"matchLabels", labels}}}}},
      {"status",
       {{"observedGeneration", 1}, {"replicas", 2}, {"updatedReplicas", 1}, {"readyReplicas", 1}, {"availableReplicas", 1}}}};
  spoke->put(kube::resources::deployments(), deployment);
  spoke->put(kube::resources::pods(),
             {{"metadata", {{"name", "new"}, {"namespace", ns}, {"labels", labels}}},
              {"status",
               {{"phase", "Pending"},
                {"containerStatuses",
                 Json::array({{{"name", "agent"},
                               {"state", {{"waiting", {{"reason", "ImagePullBackOff"}, {"message", "no such image"}}}}}}})}}}});
  const auto told = [&] {
    EXPECT_TRUE(round());
    return api::agent_health(managed());
  };
  EXPECT_EQ(round()->requeue_after, Duration(seconds(30)));
  clock->advance(seconds(20));
  EXPECT_EQ(round()->requeue_after, Duration(seconds(10)));
  EXPECT_EQ(spoke->count("list", "deployments"), 0) << "an agent that has just joined runs";
  clock->advance(seconds(10));
  EXPECT_TRUE(testkit::soon([&] { return told().told; }));
  EXPECT_EQ(told().text(),
            "not ready: 1 of 1 replica ready, 1 old one still running; container agent of pod "
            "open-cluster-management-agent/new: ImagePullBackOff: no such image");
  EXPECT_EQ(round()->requeue_after, Duration(seconds(10)));
  spoke->erase(kube::resources::pods(), ns, "new");
  deployment["status"]["replicas"] = 1;
  spoke->put(kube::resources::deployments(), deployment);
  EXPECT_TRUE(testkit::soon([&] { return told().ready; }));
  EXPECT_EQ(told().text(), "ready: 1 of 1 replica ready");
  EXPECT_FALSE(round()->requeue_after);
  spoke->forget_calls();
  clock->advance(minutes(5));
  EXPECT_TRUE(round());
  EXPECT_EQ(spoke->count("list", "pods"), 0) << "while the Deployment stays as it is and is well, its pods are";
  spoke->fail_next("list", "pods", 403, "Forbidden", 1);
  deployment["status"]["conditions"] = Json::array({{{"type", "Available"}, {"status", "True"}}});
  spoke->put(kube::resources::deployments(), deployment);
  EXPECT_TRUE(testkit::soon([&] { return round() && spoke->count("list", "pods") > 0; }));
  EXPECT_TRUE(told().told) << "what cannot be read was not said to be gone";
  spoke->erase(kube::resources::deployments(), ns, "fleetadm-agent");
  EXPECT_TRUE(testkit::soon([&] { return !told().told; })) << "it does not run in that Deployment";
}

}  // namespace
}  // namespace fleetadm::registration::agent
