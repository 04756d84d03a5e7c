// What an agent reports, as tables: claims, resources, the order of the steps, the probe's patience, the lease's period.
#include <gtest/gtest.h>

#include "core/api/cluster_lease.h"
#include "core/controller/controller.h"
#include "core/registration/agent/cluster.h"
#include "core/registration/agent/lease.h"
#include "core/registration/agent/status.h"
#include "tests/support/node_sums.h"

namespace fleetadm::registration::agent {
namespace {

using std::chrono::seconds;

const Instant kNow = parse_time("2026-11-21T18:00:00Z").value();

Json claim(const char* name, const std::string& value, Json labels = Json::object()) {
  return {{"metadata", {{"name", name}, {"labels", std::move(labels)}}}, {"spec", {{"value", value}}}};
}

std::vector<std::string> names(const ChosenClaims& chosen) {
  std::vector<std::string> list;
  for (const Claim& one : chosen.claims) list.push_back(one.name);
  return list;
}

TEST(Claims, ReservedComeFirstAndOthersAreCut) {
  const std::vector<Json> objects = {claim("b", "1"),         claim("platform.open-cluster-management.io", "AWS"),
                                     claim("a", "2"),         claim("id.k8s.io", "x"),
                                     claim("zone.corp", "3"), claim("c", "4")};
  ClaimOptions options;
  options.max_custom = 2;
  options.reserved_suffixes = {".corp", ""};
  const ChosenClaims chosen = choose_claims(objects, {}, options);
  EXPECT_EQ(names(chosen), (std::vector<std::string>{"id.k8s.io", "platform.open-cluster-management.io", "zone.corp", "a", "b"}));
  EXPECT_EQ(chosen.left_out, 1U);
}

TEST(Claims, PropertiesWin) {
  const ChosenClaims chosen = choose_claims({claim("a", "claim"), claim("b", "claim")}, {claim("a", "property")}, {});
  EXPECT_EQ(chosen.claims, (std::vector<Claim>{{"a", "property"}, {"b", "claim"}}));
}

TEST(Claims, TheAgentTellsItsOwnVersion) {
  ClaimOptions options;
  options.max_custom = 0;
  options.agent_version = "v1.2.3";
  const ChosenClaims chosen = choose_claims({claim("agentversion.fleetadm.io", "v9.9.9"), claim("a", "x")}, {}, options);
  EXPECT_EQ(chosen.claims, (std::vector<Claim>{{"agentversion.fleetadm.io", "v1.2.3"}}))
      << "whatever the cluster claims, and first";
}

TEST(Claims, AHostedAgentTellsByWhomAndNoOtherAgentDoes) {
  const std::vector<Json> claimed = {claim("hostedby.fleetadm.io", "somebody")};
  EXPECT_TRUE(choose_claims(claimed, {}, {}).claims.empty());
  ClaimOptions options;
  options.max_custom = 0;
  options.hosted_by = "id/hosted";
  EXPECT_EQ(choose_claims(claimed, {}, options).claims, (std::vector<Claim>{{"hostedby.fleetadm.io", "id/hosted"}}));
}

TEST(Claims, SpokeOnlyAndUnfitOnesAreNotTold) {
  std::string umlauts;
  for (int i = 0; i < 1024; ++i) umlauts += "ü";  // characters count, not bytes
  const std::vector<Json> objects = {claim("secret", "x", {{"open-cluster-management.io/spoke-only", ""}}),
                                     claim("empty", ""),
                                     claim("long", std::string(1025, 'x')),
                                     claim("umlauts", umlauts),
                                     claim("fits", std::string(1024, 'x')),
                                     Json{{"spec", 7}},
                                     Json(nullptr)};
  EXPECT_EQ(names(choose_claims(objects, {}, {})), (std::vector<std::string>{"fits", "umlauts"}));
}

Json node(Json capacity, Json allocatable, bool unschedulable = false) {
  return {{"metadata", {{"name", "n"}, {"labels", {{"x", "y"}}}, {"managedFields", Json::array()}}},
          {"spec", {{"unschedulable", unschedulable}, {"podCIDR", "10.0.0.0/24"}}},
          {"status", {{"capacity", std::move(capacity)}, {"allocatable", std::move(allocatable)}, {"images", Json::array({1})}}}};
}

TEST(Resources, AreSummedOverNodes) {
  const std::vector<Json> nodes = {node({{"cpu", "2"}, {"memory", "1Gi"}}, {{"cpu", "1500m"}, {"memory", "512Mi"}}),
                                   node({{"cpu", 4}, {"memory", "2Gi"}, {"gpu", "1"}}, {{"cpu", "4"}, {"memory", "1Gi"}}, true),
                                   node({{"cpu", "500m"}, {"bad", "x"}}, {{"cpu", "250m"}})};
  Json status = Json::object();
  write_totals(testkit::sum_of<Totals>(nodes), status);
  EXPECT_EQ(status["capacity"], (Json{{"cpu", "6500m"}, {"memory", "3Gi"}, {"gpu", "1"}}));
  EXPECT_EQ(status["allocatable"], (Json{{"cpu", "1750m"}, {"memory", "512Mi"}}));
}

TEST(Resources, OtherWritersCapacityStaysAndEqualValuesKeepTheirForm) {
  Json status = {{"capacity", {{"cpu", "2000m"}, {"socket", "4"}}}, {"allocatable", {{"cpu", "1"}, {"gone", "1"}}}};
  write_totals(testkit::sum_of<Totals>({node({{"cpu", "2"}}, {{"cpu", "2"}})}), status);
  EXPECT_EQ(status["capacity"], (Json{{"cpu", "2000m"}, {"socket", "4"}}));
  EXPECT_EQ(status["allocatable"], (Json{{"cpu", "2"}}));
}

TEST(Resources, NoNodesMeansNoMembers) {
  Json status = Json::object();
  write_totals(testkit::sum_of<Totals>({}), status);
  EXPECT_EQ(status, Json::object());
}

TEST(Resources, ProjectionKeepsWhatIsSummed) {
  Json full = node({{"cpu", "2"}}, {{"cpu", "1"}}, true);
  project_node(full);
  EXPECT_EQ(full, (Json{{"metadata", {{"name", "n"}}},
                        {"spec", {{"unschedulable", true}}},
                        {"status", {{"capacity", {{"cpu", "2"}}}, {"allocatable", {{"cpu", "1"}}}}}}));
}

Json cluster(const char* accepted) {
  return {{"metadata", {{"name", "c1"}, {"uid", "u"}, {"resourceVersion", "7"}}},
          {"status",
           {{"conditions", Json::array({{{"type", "HubAcceptedManagedCluster"},
                                         {"status", accepted},
                                         {"reason", "HubClusterAdminAccepted"},
                                         {"message", "Accepted by hub cluster admin"},
                                         {"lastTransitionTime", "2026-11-21T17:00:00Z"}}})}}}};
}

ClusterObservation all_seen() {
  ClusterObservation seen;
  seen.version = "v1.35.4";
  seen.totals = testkit::sum_of<Totals>({node({{"cpu", "2"}}, {{"cpu", "1"}})});
  seen.claims = std::vector<Claim>{{"a", "1"}};
  return seen;
}

std::string condition(const Json& status, std::string_view type) {
  const Json object = {{"status", status}};
  const Json* found = controller::find_condition(object, type);
  return found == nullptr ? "" : str(*found, {"status"}) + " " + str(*found, {"reason"}) + " " + str(*found, {"message"});
}

TEST(Status, NothingIsReportedBeforeAcceptance) {
  for (const char* accepted : {"False", "Unknown"}) {
    const Json managed = cluster(accepted);
    EXPECT_EQ(object_at(managed, {"status"}), (wanted_status(managed, all_seen(), kNow)));
  }
  const Json bare = {{"metadata", {{"name", "c1"}}}};
  EXPECT_EQ(object_at(bare, {"status"}), (wanted_status(bare, all_seen(), kNow)));
}

TEST(Status, EverythingInOneRound) {
  const Json managed = cluster("True");
  const Json status = wanted_status(managed, all_seen(), kNow);
  EXPECT_EQ(condition(status, "ManagedClusterJoined"), "True ManagedClusterJoined Managed cluster joined");
  EXPECT_EQ(condition(status, "ManagedClusterConditionAvailable"), "True ManagedClusterAvailable Managed cluster is available");
  EXPECT_EQ(str(status, {"version", "kubernetes"}), "v1.35.4");
  EXPECT_EQ(str(status, {"capacity", "cpu"}), "2");
  EXPECT_EQ(status["clusterClaims"], (Json::array({{{"name", "a"}, {"value", "1"}}})));

  // The same round again finds nothing to write.
  Json reported = managed;
  reported["status"] = status;
  EXPECT_EQ(object_at(reported, {"status"}), (wanted_status(reported, all_seen(), kNow + seconds(60))));
}

TEST(Status, WhatIsNotKnownStays) {
  Json managed = cluster("True");
  managed["status"] = wanted_status(managed, all_seen(), kNow);
  ClusterObservation blind;
  EXPECT_EQ(object_at(managed, {"status"}), (wanted_status(managed, blind, kNow + seconds(60))));
}

TEST(Status, NoClaimsRemovesTheList) {
  Json managed = cluster("True");
  managed["status"] = wanted_status(managed, all_seen(), kNow);
  ClusterObservation none = all_seen();
  none.claims = std::vector<Claim>{};
  EXPECT_FALSE(wanted_status(managed, none, kNow).contains("clusterClaims"));
}

TEST(Status, AnUnreachableServerStopsTheRoundAfterAvailability) {
  Json managed = cluster("True");
  managed["status"] = wanted_status(managed, all_seen(), kNow);
  ClusterObservation down;
  down.probe = {Probe::State::kDown, 500, "etcd failed"};
  down.version = "v9";
  const Json status = wanted_status(managed, down, kNow + seconds(60));
  EXPECT_EQ(condition(status, "ManagedClusterConditionAvailable"),
            "False ManagedClusterKubeAPIServerUnavailable The kube-apiserver is not ok, status code: 500, etcd failed");
  EXPECT_EQ(str(status, {"version", "kubernetes"}), "v1.35.4");
  ClusterObservation unsure;
  unsure.probe.state = Probe::State::kUnsure;
  EXPECT_EQ(object_at(managed, {"status"}), (wanted_status(managed, unsure, kNow)));
}

TEST(Status, ManagedNamespacesGetTheirCondition) {
  Json managed = cluster("True");
  managed["status"]["managedNamespaces"] =
      Json::array({{{"name", "a"}, {"clusterSet", "s"}}, {{"name", "b"}, {"clusterSet", "s"}}, 7});
  ClusterObservation seen;
  seen.namespace_failures = std::vector<NamespaceFailure>{{"b", "forbidden"}};
  const Json status = wanted_status(managed, seen, kNow);
  const Json& entries = status["managedNamespaces"];
  EXPECT_EQ(str(entries[0]["conditions"][0], {"reason"}), "NamespaceApplied");
  EXPECT_EQ(str(entries[1]["conditions"][0], {"reason"}), "NamespaceApplyFailed");
  EXPECT_EQ(str(entries[1]["conditions"][0], {"message"}), "forbidden");
}

TEST(Status, ClockVerdict) {
  Json managed = cluster("True");
  EXPECT_FALSE(is_clock_off(managed));
  controller::set_condition(managed["status"]["conditions"], "ManagedClusterConditionClockSynced", "False",
                            "ManagedClusterClockOutOfSync", "off", kNow);
  EXPECT_TRUE(is_clock_off(managed));
}

TEST(Probe, DownOnlyAfterTwentySeconds) {
  ProbeJudge judge;
  const Probe failed{Probe::State::kDown, 0, "refused"};
  FakeClock clock(kNow);
  EXPECT_EQ(judge.judge(failed, ProbeJudge::kUsual, clock.now()).state, Probe::State::kUnsure);
  clock.advance(seconds(19));
  EXPECT_EQ(judge.judge(failed, ProbeJudge::kUsual, clock.now()).state, Probe::State::kUnsure);
  clock.advance(seconds(1));
  EXPECT_EQ(judge.judge(failed, ProbeJudge::kUsual, clock.now()).state, Probe::State::kDown);
  EXPECT_EQ(judge.judge(Probe{}, ProbeJudge::kUsual, clock.now()).state, Probe::State::kUp);
  EXPECT_EQ(judge.judge(failed, ProbeJudge::kUsual, clock.now()).state, Probe::State::kUnsure);
  clock.advance(seconds(-3600));  // set back: the count starts anew
  EXPECT_EQ(judge.judge(failed, ProbeJudge::kUsual, clock.now()).state, Probe::State::kUnsure);
}

TEST(Probe, HasTheHoldsThatTheClusterSays) {
  const Json cluster{
      {"metadata",
       {{"annotations", {{std::string(kFailureHoldAnnotation), "5s"}, {std::string(kSuccessHoldAnnotation), "10s"}}}}}};
  const Holds holds = holds_of(cluster, ProbeJudge::kUsual);
  EXPECT_EQ(holds.failure, Duration(seconds(5)));
  EXPECT_EQ(holds.success, Duration(seconds(10)));
  EXPECT_EQ(holds_of(Json::object(), ProbeJudge::kUsual).failure, Duration(seconds(20)));
  ProbeJudge judge;
  const Probe failed{Probe::State::kDown, 0, "refused"};
  FakeClock clock(kNow);
  EXPECT_EQ(judge.judge(Probe{}, holds, clock.now()).state, Probe::State::kUp) << "the first look counts";
  EXPECT_EQ(judge.judge(failed, holds, clock.now()).state, Probe::State::kUnsure);
  clock.advance(seconds(5));
  EXPECT_EQ(judge.judge(failed, holds, clock.now()).state, Probe::State::kDown);
  EXPECT_EQ(judge.judge(Probe{}, holds, clock.now()).state, Probe::State::kUnsure);
  clock.advance(seconds(9));
  EXPECT_EQ(judge.judge(failed, holds, clock.now()).state, Probe::State::kDown) << "it came back for too short";
  EXPECT_EQ(judge.judge(Probe{}, holds, clock.now()).state, Probe::State::kUnsure);
  clock.advance(seconds(10));
  EXPECT_EQ(judge.judge(Probe{}, holds, clock.now()).state, Probe::State::kUp);
}

TEST(Lease, PeriodOfACluster) {
  EXPECT_EQ(api::lease_period(Json::object()), seconds(60));
  EXPECT_EQ(api::lease_period({{"spec", {{"leaseDurationSeconds", 0}}}}), seconds(60));
  EXPECT_EQ(api::lease_period({{"spec", {{"leaseDurationSeconds", -1}}}}), seconds(60));
  EXPECT_EQ(api::lease_period({{"spec", {{"leaseDurationSeconds", 5}}}}), seconds(5));
}

TEST(Namespaces, LabelIsMadeFromTheHubsAddress) {
  EXPECT_EQ(managed_namespace_label("https://127.0.0.1:16443"),
            "clusterset.open-cluster-management.io/d40a9dd7d8dc06954bde67491e6f5eeaad5d546a76a7d541cf0298e74316c82");
}

TEST(Cluster, OnlyAgentAnnotationsAreSent) {
  ClusterOptions options;
  options.name = "c1";
  options.annotations = {{"agent.open-cluster-management.io/x", "1"}, {"other", "2"}};
  options.external_urls = {"https://c1:6443"};
  options.ca_pem = "CA";
  const Json object = managed_cluster_object(options);
  EXPECT_EQ(object["metadata"]["annotations"], (Json{{"agent.open-cluster-management.io/x", "1"}}));
  EXPECT_EQ(object["spec"]["managedClusterClientConfigs"], (Json::array({{{"url", "https://c1:6443"}, {"caBundle", "Q0E="}}})));
  EXPECT_FALSE(flag(object, {"spec", "hubAcceptsClient"}, true));
}

}  // namespace
}  // namespace fleetadm::registration::agent
