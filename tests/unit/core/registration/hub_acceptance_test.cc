#include "core/api/push_member.h"
#include "core/registration/hub/acceptance.h"
#include "tests/unit/core/registration/hub_fixture.h"

namespace fleetadm::registration::hub {
namespace {

const std::string kRole = "open-cluster-management:managedcluster:c1";

std::string acceptance_condition(const Json& object, const char* type, const char* member) {
  const Json* found = controller::find_condition(object, type);
  return found != nullptr ? str(*found, {member}) : "";
}

class AcceptanceTest : public HubTest {};

TEST_F(AcceptanceTest, DecidesByTable) {
  const auto make = [](bool accepts, const char* status, const char* reason, bool deleting, bool finalizer) {
    Json c = {{"metadata", {{"name", "c1"}}}, {"spec", {{"hubAcceptsClient", accepts}}}};
    if (status[0] != 0)
      c["status"]["conditions"] = Json::array({{{"type", "HubAcceptedManagedCluster"}, {"status", status}, {"reason", reason}}});
    if (deleting) c["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    if (finalizer) c["metadata"]["finalizers"] = {"cluster.open-cluster-management.io/api-resource-cleanup"};
    return std::optional<Json>(c);
  };
  EXPECT_EQ(decide_acceptance(std::nullopt), Acceptance::kForget);
  EXPECT_EQ(decide_acceptance(make(false, "", "", false, false)), Acceptance::kNothing);
  EXPECT_EQ(decide_acceptance(make(true, "", "", false, false)), Acceptance::kAccept);
  EXPECT_EQ(decide_acceptance(make(true, "True", "HubClusterAdminAccepted", false, true)), Acceptance::kAccept);
  EXPECT_EQ(decide_acceptance(make(true, "False", "HubClusterAdminDenied", false, true)), Acceptance::kAccept);
  EXPECT_EQ(decide_acceptance(make(false, "True", "HubClusterAdminAccepted", false, true)), Acceptance::kDeny);
  EXPECT_EQ(decide_acceptance(make(false, "False", "Error", false, true)), Acceptance::kDeny)
      << "half an acceptance is withdrawn";
  EXPECT_EQ(decide_acceptance(make(false, "False", "HubClusterAdminDenied", false, true)), Acceptance::kNothing);
  EXPECT_EQ(decide_acceptance(make(true, "True", "HubClusterAdminAccepted", true, true)), Acceptance::kRelease);
  EXPECT_EQ(decide_acceptance(make(true, "True", "HubClusterAdminAccepted", true, false)), Acceptance::kNothing);
  auto with_works = make(true, "True", "HubClusterAdminAccepted", true, true);
  (*with_works)["metadata"]["finalizers"].push_back(kResourceCleanupFinalizer);
  EXPECT_EQ(decide_acceptance(with_works), Acceptance::kNothing) << "an agent that starts now has to read it";
  EXPECT_EQ(decide_acceptance(Json::array()), Acceptance::kNothing) << "a malformed object is no decision";
}

TEST_F(AcceptanceTest, NotAcceptedGetsNothingOfItsOwn) {
  put_cluster("c1", false);
  HubLife hub(api, clock);
  ASSERT_TRUE(hub.settle());
  EXPECT_FALSE(exists(res::namespaces(), {}, "c1"));
  EXPECT_FALSE(exists(res::cluster_roles(), {}, kRole));
  EXPECT_TRUE(exists(res::cluster_roles(), {}, "open-cluster-management:managedcluster:registration"));
  EXPECT_EQ(controller::find_condition(cluster("c1"), "HubAcceptedManagedCluster"), nullptr);
}

TEST_F(AcceptanceTest, AcceptedGetsNamespaceRbacLeaseAndCondition) {
  put_cluster("c1", true);
  HubLife hub(api, clock);
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(label_of(*api->get(res::namespaces(), {}, "c1"), api::kClusterNameLabel), "c1");
  EXPECT_EQ(annotation_of(*api->get(res::namespaces(), {}, "c1"), kNamespaceMadeForAnnotation), "c1");
  const Json role = *api->get(res::cluster_roles(), {}, kRole);
  EXPECT_EQ(*find(role, {"rules"}), cluster_role("c1", true)["rules"]);
  const Json binding = *api->get(res::cluster_role_bindings(), {}, kRole);
  EXPECT_EQ(str(binding, {"roleRef", "name"}), kRole);
  std::set<std::string> groups;
  for (const Json& subject : list_at(binding, {"subjects"})) groups.insert(str(subject, {"name"}));
  EXPECT_EQ(groups, (std::set<std::string>{"system:open-cluster-management:c1", "open-cluster-management:c1"}));
  EXPECT_TRUE(exists(res::role_bindings(), "c1", kRole + ":registration"));
  EXPECT_TRUE(has_finalizer(*api->get(res::role_bindings(), "c1", kRole + ":work"), kWorkCleanupFinalizer));
  EXPECT_EQ(acceptance_condition(cluster("c1"), "HubAcceptedManagedCluster", "status"), "True");
  EXPECT_EQ(acceptance_condition(cluster("c1"), "HubAcceptedManagedCluster", "reason"), "HubClusterAdminAccepted");
  EXPECT_TRUE(has_finalizer(cluster("c1"), kApiCleanupFinalizer));
  EXPECT_TRUE(has_finalizer(cluster("c1"), kResourceCleanupFinalizer));
  const Json lease = *api->get(res::leases(), "c1", "managed-cluster-lease");
  EXPECT_EQ(str(lease, {"spec", "holderIdentity"}), "managed-cluster-lease");
  EXPECT_EQ(find(lease, {"spec", "leaseDurationSeconds"}), nullptr);
}

Json new_push_member(const std::string& name) {
  return {{"apiVersion", "cluster.open-cluster-management.io/v1"},
          {"kind", "ManagedCluster"},
          {"metadata",
           {{"name", name},
            {"creationTimestamp", "2026-01-01T00:00:00Z"},
            {"labels", {{std::string(api::kModeLabel), std::string(api::kPushMode)}}},
            {"finalizers", {std::string(kResourceCleanupFinalizer), std::string(kApiCleanupFinalizer)}}}},
          {"spec", {{"hubAcceptsClient", true}}}};
}

TEST_F(AcceptanceTest, ThePushersFirstReportMayTellIt) {
  const std::string hub_ns(api::kHubNamespace);
  Json member = api->put(api::managed_clusters(), new_push_member("c1"));
  HubLife hub(api, clock);
  hub.acceptance = std::make_unique<AcceptanceController>(hub.tools, hub.clusters, hub.grants_of(hub.drivers), true);
  const auto told = accept_at_once(api->client(), hub_ns, member, clock->now());
  ASSERT_TRUE(told);
  EXPECT_FALSE(*told) << "there is no namespace";
  const auto first = hub.acceptance->reconcile("c1", {});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_TRUE(exists(res::namespaces(), {}, "c1"));
  EXPECT_EQ(acceptance_condition(cluster("c1"), "HubAcceptedManagedCluster", "status"), "") << "left to the first report";
  ASSERT_TRUE(accept_at_once(api->client(), hub_ns, member, clock->now()).value());
  EXPECT_EQ(acceptance_condition(member, "HubAcceptedManagedCluster", "reason"), "HubClusterAdminAccepted");
  EXPECT_EQ(acceptance_condition(member, "HubAcceptedManagedCluster", "status"), "True");
  clock->advance(std::chrono::seconds(4));
  Json late = cluster("c1");
  EXPECT_FALSE(accept_at_once(api->client(), hub_ns, late, clock->now()).value()) << "both would write";
  ASSERT_TRUE(hub.acceptance->reconcile("c1", {}));
  EXPECT_EQ(acceptance_condition(cluster("c1"), "HubAcceptedManagedCluster", "status"), "True") << "nobody has looked at it";
}

TEST_F(AcceptanceTest, TheFirstReportAcceptsNobodyWhomTheHubDoesNot) {
  const std::string hub_ns(api::kHubNamespace);
  const auto accepts = [&](Json member) { return accept_at_once(api->client(), hub_ns, member, clock->now()).value(); };
  api->put(res::namespaces(), cluster_namespace("c1"));
  EXPECT_TRUE(accepts(new_push_member("c1")));
  Json refused = new_push_member("c1");
  refused["spec"]["hubAcceptsClient"] = false;
  EXPECT_FALSE(accepts(refused));
  Json incomplete = new_push_member("c1");
  incomplete["metadata"].erase("finalizers");
  EXPECT_FALSE(accepts(incomplete));
  api->put(res::namespaces(), {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "c2"}}}});
  EXPECT_FALSE(accepts(new_push_member("c2"))) << "somebody else's namespace";
  api->put(res::namespaces(), cluster_namespace("kube-system"));
  EXPECT_FALSE(accepts(new_push_member("kube-system")));
}

TEST_F(AcceptanceTest, AnAgentThatTellsFiguresMayTellItsApisWhileItDoes) {
  put_cluster("c1", true);
  HubLife hub(api, clock);
  ASSERT_TRUE(hub.settle());
  EXPECT_FALSE(exists(res::role_bindings(), "c1", kRole + ":figures"));
  Json telling = cluster("c1");
  controller::set_condition(telling["status"]["conditions"], api::kConditionResponding, "True", "Answered", "", clock->now());
  api->put(api::managed_clusters(), telling);
  ASSERT_TRUE(hub.settle());
  const Json binding = *api->get(res::role_bindings(), "c1", kRole + ":figures");
  EXPECT_EQ(str(binding, {"roleRef", "name"}), kFiguresRole);
  Json silent = cluster("c1");
  silent["status"]["conditions"].erase(silent["status"]["conditions"].size() - 1);
  ASSERT_EQ(controller::find_condition(silent, api::kConditionResponding), nullptr);
  api->put(api::managed_clusters(), silent);
  ASSERT_TRUE(hub.settle());
  EXPECT_FALSE(exists(res::role_bindings(), "c1", kRole + ":figures"));
  api->put(api::managed_clusters(), telling);
  ASSERT_TRUE(hub.settle());
  ASSERT_TRUE(exists(res::role_bindings(), "c1", kRole + ":figures"));
  accept("c1", false);
  ASSERT_TRUE(hub.settle());
  EXPECT_FALSE(exists(res::role_bindings(), "c1", kRole + ":figures"));
}

TEST_F(AcceptanceTest, ASettledHubSendsNothing) {
  put_cluster("c1", true);
  HubLife hub(api, clock);
  ASSERT_TRUE(hub.settle());
  hub.refresh();
  api->forget_calls();
  hub.round();
  EXPECT_TRUE(api->calls().empty()) << "not even reads: " << api->calls().size() << ", first " << api->calls().front().path;
  HubLife restarted(api, clock);
  restarted.round();
  EXPECT_EQ(api->write_count(), 0);
}

TEST_F(AcceptanceTest, LeastRightsOnly) {
  const std::string all = cluster_role("c1", true).dump() + shared_roles()[0].dump() + shared_roles()[1].dump();
  EXPECT_EQ(all.find("\"*\""), std::string::npos);
  EXPECT_EQ(all.find("secrets"), std::string::npos);
  EXPECT_EQ(all.find("\"delete\""), std::string::npos);
  const Json accepted = cluster_role("c1", true);
  for (const Json& rule : list_at(accepted, {"rules"})) {
    if (string_list_at(rule, {"resources"}).front().find("managedclusters") == 0 &&
        string_list_at(rule, {"apiGroups"}).front() == "cluster.open-cluster-management.io") {
      EXPECT_EQ(string_list_at(rule, {"resourceNames"}), std::vector<std::string>{"c1"});
    }
  }
  ASSERT_EQ(list_at(cluster_role("c1", false), {"rules"}).size(), 1u);
}

TEST_F(AcceptanceTest, DenyWaitsForTheWorksAndThenFlipsTheCondition) {
  put_cluster("c1", true);
  HubLife hub(api, clock);
  ASSERT_TRUE(hub.settle());
  put_work("c1", "w1");
  accept("c1", false);
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(list_at(*api->get(res::cluster_roles(), {}, kRole), {"rules"}), cluster_role("c1", false)["rules"]);
  EXPECT_FALSE(exists(res::role_bindings(), "c1", kRole + ":registration"));
  EXPECT_TRUE(exists(res::role_bindings(), "c1", kRole + ":work")) << "the agent still cleans up";
  EXPECT_EQ(acceptance_condition(cluster("c1"), "HubAcceptedManagedCluster", "status"), "True");
  EXPECT_TRUE(exists(api::manifest_works(), "c1", "w1")) << "denying deletes no work";
  const auto outcome = hub.acceptance->reconcile("c1", {});
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->requeue_after, Duration(std::chrono::seconds(5)));

  api->erase(api::manifest_works(), "c1", "w1");
  ASSERT_TRUE(hub.settle());
  EXPECT_FALSE(exists(res::role_bindings(), "c1", kRole + ":work"));
  EXPECT_EQ(acceptance_condition(cluster("c1"), "HubAcceptedManagedCluster", "reason"), "HubClusterAdminDenied");
  EXPECT_TRUE(exists(res::namespaces(), {}, "c1")) << "the namespace stays";
  EXPECT_TRUE(exists(res::cluster_role_bindings(), {}, kRole));

  accept("c1", true);
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(acceptance_condition(cluster("c1"), "HubAcceptedManagedCluster", "reason"), "HubClusterAdminAccepted");
  EXPECT_TRUE(exists(res::role_bindings(), "c1", kRole + ":work"));
}

TEST_F(AcceptanceTest, AcceptedAgainWhileTheWorkBindingIsGoingMakesItAnew) {
  put_cluster("c1", true);
  HubLife hub(api, clock);
  ASSERT_TRUE(hub.settle());
  put_work("c1", "w1");
  accept("c1", false);
  ASSERT_TRUE(hub.settle());
  ASSERT_TRUE(is_deleting(*api->get(res::role_bindings(), "c1", kRole + ":work")));
  accept("c1", true);
  ASSERT_TRUE(hub.settle());
  EXPECT_FALSE(is_deleting(*api->get(res::role_bindings(), "c1", kRole + ":work")));
}

TEST_F(AcceptanceTest, DeletionRemovesWorksThenRbacThenTheCluster) {
  put_cluster("c1", true);
  put_cluster("c10", true);
  HubLife hub(api, clock);
  ASSERT_TRUE(hub.settle());
  put_work("c1", "w1");
  put_work("c10", "w1");
  start_deletion(api::managed_clusters(), {}, "c1");
  ASSERT_TRUE(hub.settle());
  EXPECT_TRUE(is_deleting(*api->get(api::manifest_works(), "c1", "w1")));
  EXPECT_TRUE(exists(res::role_bindings(), "c1", kRole + ":work"));
  EXPECT_EQ(acceptance_condition(cluster("c1"), "Deleting", "reason"), "ResourceRemaining");
  ASSERT_TRUE(hub.settle());
  agent_finishes_works();
  ASSERT_TRUE(hub.settle());
  EXPECT_FALSE(exists(api::managed_clusters(), {}, "c1"));
  EXPECT_FALSE(exists(res::cluster_roles(), {}, kRole));
  EXPECT_FALSE(exists(res::cluster_role_bindings(), {}, kRole));
  EXPECT_FALSE(exists(res::role_bindings(), "c1", kRole + ":registration"));
  EXPECT_FALSE(exists(res::role_bindings(), "c1", kRole + ":work"));
  EXPECT_TRUE(exists(res::namespaces(), {}, "c1")) << "never deleted";
  // Nothing of the neighbour with the similar name.
  EXPECT_TRUE(exists(api::manifest_works(), "c10", "w1"));
  EXPECT_FALSE(is_deleting(*api->get(api::manifest_works(), "c10", "w1")));
  EXPECT_TRUE(exists(res::cluster_roles(), {}, "open-cluster-management:managedcluster:c10"));
  EXPECT_TRUE(exists(res::cluster_roles(), {}, "open-cluster-management:managedcluster:work"));

  start_deletion(api::managed_clusters(), {}, "c10");
  ASSERT_TRUE(hub.settle());
  agent_finishes_works();
  ASSERT_TRUE(hub.settle());
  EXPECT_TRUE(api->all(res::cluster_roles()).empty()) << "the shared roles go with the last cluster";
}

TEST_F(AcceptanceTest, BindingsGoInOneRequestUnlessSomebodyElsesWouldGoToo) {
  Json others = figures_binding("c1");
  others["metadata"]["name"] = "somebody-elses";
  for (const bool alone : {true, false}) {
    put_cluster("c1", true);
    HubLife hub(api, clock);
    ASSERT_TRUE(hub.settle());
    Json of_addon = others;
    of_addon["metadata"]["name"] = "of-an-addon";
    of_addon["metadata"]["labels"]["open-cluster-management.io/addon-name"] = "a1";
    api->put(res::role_bindings(), of_addon);
    if (!alone) api->put(res::role_bindings(), others);
    api->forget_calls();
    accept("c1", false);
    ASSERT_TRUE(hub.settle());
    EXPECT_EQ(api->count("deletecollection"), alone ? 1 : 0);
    EXPECT_EQ(api->count("delete"), alone ? 0 : 2);
    EXPECT_FALSE(exists(res::role_bindings(), "c1", kRole + ":registration"));
    EXPECT_FALSE(exists(res::role_bindings(), "c1", kRole + ":work"));
    EXPECT_TRUE(exists(res::role_bindings(), "c1", "of-an-addon"));
    EXPECT_EQ(exists(res::role_bindings(), "c1", "somebody-elses"), !alone);
  }
}

TEST_F(AcceptanceTest, RolesOfClustersThatAreGoneGoInOneRequest) {
  for (const char* name : {"c1", "c2", "c3"}) put_cluster(name, true);
  HubLife hub(api, clock);
  ASSERT_TRUE(hub.settle());
  for (const char* name : {"c1", "c2"}) api->erase(api::managed_clusters(), {}, name);
  put_cluster("c4", true);
  hub.refresh();
  api->erase(api::managed_clusters(), {}, "c3");
  put_cluster("c1", true);  // neither is in the cache yet
  api->forget_calls();
  ASSERT_TRUE(hub.roles->reconcile("all", {}));
  EXPECT_TRUE(exists(res::cluster_roles(), {}, kRole)) << "it came back";
  EXPECT_FALSE(exists(res::cluster_roles(), {}, "open-cluster-management:managedcluster:c2"));
  EXPECT_TRUE(exists(res::cluster_roles(), {}, "open-cluster-management:managedcluster:c3"));
  api->erase(api::managed_clusters(), {}, "c1");
  hub.refresh();
  api->forget_calls();
  ASSERT_TRUE(hub.roles->reconcile("all", {}));
  EXPECT_EQ(api->count("deletecollection"), 1);
  EXPECT_EQ(api->write_count(), 1);
  EXPECT_FALSE(exists(res::cluster_roles(), {}, kRole));
  EXPECT_FALSE(exists(res::cluster_roles(), {}, "open-cluster-management:managedcluster:c3"));
  EXPECT_TRUE(exists(res::cluster_roles(), {}, std::string(kSharedWorkRole)));
}

TEST_F(AcceptanceTest, AClusterHasItsFinalizersBeforeAnythingElse) {
  put_cluster("c1", true);
  HubLife hub(api, clock);
  hub.refresh();
  ASSERT_TRUE(hub.acceptance->reconcile("c1", {}));
  EXPECT_EQ(api->write_count(), 0);
  api->forget_calls();
  ASSERT_TRUE(hub.cluster_defaulter->reconcile("c1", {}));
  EXPECT_EQ(api->write_count(), 1) << "with all other defaults";
  EXPECT_TRUE(has_finalizer(cluster("c1"), kApiCleanupFinalizer));
  EXPECT_TRUE(has_finalizer(cluster("c1"), kResourceCleanupFinalizer));
}

TEST_F(AcceptanceTest, RbacOfAClusterThatVanishedIsRemoved) {
  put_cluster("c1", true);
  {
    HubLife hub(api, clock);
    ASSERT_TRUE(hub.settle());
  }
  api->erase(api::managed_clusters(), {}, "c1");
  HubLife hub(api, clock);
  ASSERT_TRUE(hub.settle());
  EXPECT_FALSE(exists(res::cluster_roles(), {}, kRole));
  EXPECT_FALSE(exists(res::role_bindings(), "c1", kRole + ":work"));
}

TEST_F(AcceptanceTest, WorksOfAClusterThatVanishedAreCleanedUp) {
  put_cluster("c1", true);
  put_cluster("c2", true);
  HubLife hub(api, clock);
  ASSERT_TRUE(hub.settle());
  put_work("c1", "w1");
  put_work("c1", "held", "someone.example.com/else");
  put_work("c2", "w1");
  api->erase(api::managed_clusters(), {}, "c1");
  ASSERT_TRUE(hub.settle());
  EXPECT_TRUE(is_deleting(*api->get(api::manifest_works(), "c1", "w1"))) << "its agent may still finish it";
  EXPECT_TRUE(exists(res::role_bindings(), "c1", kRole + ":work")) << "and needs its rights for that";
  EXPECT_FALSE(is_deleting(*api->get(api::manifest_works(), "c2", "w1")));
  clock->advance(kAgentGrace);
  ASSERT_TRUE(hub.settle());
  EXPECT_FALSE(exists(api::manifest_works(), "c1", "w1"));
  EXPECT_TRUE(exists(api::manifest_works(), "c1", "held")) << "somebody else's finalizer";
  // The longer that lasts, the less often the hub looks.
  const auto pause = [&] { return hub.acceptance->reconcile("c1", {})->requeue_after.value_or(Duration::zero()); };
  EXPECT_EQ(pause(), kAgentGrace / 4);
  clock->advance(std::chrono::hours(2));
  EXPECT_EQ(pause(), std::chrono::minutes(10));
  api->erase(api::manifest_works(), "c1", "held");
  ASSERT_TRUE(hub.settle());
  EXPECT_FALSE(exists(res::role_bindings(), "c1", kRole + ":work"));
  EXPECT_EQ(pause(), Duration::zero());
}

TEST_F(AcceptanceTest, ANamespaceThatIsInUseIsNotGivenToACluster) {
  const auto put_namespaced = [&](const kube::Resource& type, const char* ns, const char* name) {
    api->put(type, {{"apiVersion", type.api_version()}, {"kind", type.kind}, {"metadata", {{"name", name}, {"namespace", ns}}}});
  };
  for (const char* name : {"shop", "empty"}) {
    api->put(res::namespaces(), {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}});
    put_namespaced(res::config_maps(), name, "kube-root-ca.crt");
    put_namespaced(res::service_accounts(), name, "default");
    put_cluster(name, true);
  }
  put_namespaced(res::services(), "shop", "web");
  HubLife hub(api, clock);
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(acceptance_condition(cluster("shop"), "HubAcceptedManagedCluster", "reason"), "Error");
  EXPECT_NE(acceptance_condition(cluster("shop"), "HubAcceptedManagedCluster", "message").find("Service web"), std::string::npos);
  EXPECT_FALSE(exists(res::role_bindings(), "shop", "open-cluster-management:managedcluster:shop:work"));
  EXPECT_EQ(label_of(*api->get(res::namespaces(), {}, "shop"), api::kClusterNameLabel), "");
  EXPECT_TRUE(exists(res::role_bindings(), "empty", "open-cluster-management:managedcluster:empty:work"));
  // What comes later is no obstacle: the namespace is the cluster's by then.
  put_namespaced(res::services(), "empty", "web");
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(acceptance_condition(cluster("empty"), "HubAcceptedManagedCluster", "reason"), "HubClusterAdminAccepted");
}

TEST_F(AcceptanceTest, AStaleCacheNeverRemovesWhatALivingClusterNeeds) {
  put_cluster("c1", true);
  HubLife hub(api, clock);
  ASSERT_TRUE(hub.settle());
  // The cache says the cluster is gone; the server has a new one.
  const Json object = cluster("c1");
  api->erase(api::managed_clusters(), {}, "c1");
  hub.clusters->refresh();
  api->put(api::managed_clusters(), {{"apiVersion", str(object, {"apiVersion"})},
                                     {"kind", "ManagedCluster"},
                                     {"metadata", {{"name", "c1"}}},
                                     {"spec", {{"hubAcceptsClient", true}}}});
  ASSERT_TRUE(hub.acceptance->reconcile("c1", {}));
  EXPECT_TRUE(exists(res::cluster_roles(), {}, kRole));
  EXPECT_EQ(api->count("delete"), 0);
}

TEST_F(AcceptanceTest, AStaleCacheNeverGrantsWhatWasDenied) {
  put_cluster("c1", true);
  HubLife hub(api, clock);
  hub.refresh();
  accept("c1", false);  // not yet in the cache
  ASSERT_TRUE(hub.acceptance->reconcile("c1", {}));
  EXPECT_TRUE(api->all(res::cluster_roles()).empty());
  EXPECT_EQ(api->write_count(), 0);
}

TEST_F(AcceptanceTest, AFailedListOfWorksReleasesNothing) {
  put_cluster("c1", true);
  HubLife hub(api, clock);
  ASSERT_TRUE(hub.settle());
  put_work("c1", "w1");
  start_deletion(api::managed_clusters(), {}, "c1");
  hub.refresh();
  api->on_request([](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    if (call.verb == "list" && call.plural == "manifestworks")
      return kube::Response{403, {}, R"({"kind":"Status","status":"Failure","reason":"Forbidden","code":403})"};
    return std::nullopt;
  });
  EXPECT_TRUE(hub.acceptance->reconcile("c1", {})) << "it waits for the clean-up";
  EXPECT_FALSE(hub.cleanup->reconcile("c1", {}));
  EXPECT_TRUE(has_finalizer(cluster("c1"), kApiCleanupFinalizer));
  EXPECT_TRUE(has_finalizer(cluster("c1"), kResourceCleanupFinalizer));
  EXPECT_TRUE(has_finalizer(*api->get(res::role_bindings(), "c1", kRole + ":work"), kWorkCleanupFinalizer));
  EXPECT_EQ(acceptance_condition(cluster("c1"), "Deleting", "reason"), "DeletingError");
}

TEST_F(AcceptanceTest, DriftIsBroughtBack) {
  put_cluster("c1", true);
  HubLife hub(api, clock);
  ASSERT_TRUE(hub.settle());
  const std::string before = state();
  api->erase(res::role_bindings(), "c1", kRole + ":registration");
  Json role = *api->get(res::cluster_roles(), {}, kRole);
  role["rules"] = Json::array({{{"verbs", {"*"}}, {"apiGroups", {"*"}}, {"resources", {"*"}}}});
  api->put(res::cluster_roles(), role);
  Json ns = *api->get(res::namespaces(), {}, "c1");
  erase_at(ns, {"metadata", "labels"});
  api->put(res::namespaces(), ns);
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(state(), before);
}

TEST_F(AcceptanceTest, AForeignBindingOfThatNameIsReplaced) {
  // Someone who may write in the namespace made the binding first, to another role.
  Json planted = registration_binding("c1");
  erase_at(planted, {"metadata", "labels"});
  planted["roleRef"]["name"] = "cluster-admin";
  api->put(res::role_bindings(), planted);
  put_cluster("c1", true);
  HubLife hub(api, clock);
  ASSERT_TRUE(hub.settle());
  const Json now = *api->get(res::role_bindings(), "c1", kRole + ":registration");
  EXPECT_EQ(str(now, {"roleRef", "name"}), kSharedRegistrationRole);
  EXPECT_EQ(acceptance_condition(cluster("c1"), "HubAcceptedManagedCluster", "status"), "True");
}

TEST_F(AcceptanceTest, ANamespaceThatWasThereBeforeIsNotCalledOurs) {
  api->put(res::namespaces(), {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "shop"}}}});
  put_cluster("shop", true);
  HubLife hub(api, clock);
  ASSERT_TRUE(hub.settle());
  const Json ns = *api->get(res::namespaces(), {}, "shop");
  EXPECT_EQ(label_of(ns, api::kClusterNameLabel), "shop");
  EXPECT_EQ(annotation_of(ns, kNamespaceMadeForAnnotation), "") << "unjoin deletes what carries this";
}

TEST_F(AcceptanceTest, ReservedNamesAreRefused) {
  for (const char* name : {"registration", "work", "kube-system", "kube-public", "kube-node-lease", "open-cluster-management",
                           "open-cluster-management-hub"}) {
    EXPECT_FALSE(reserved_name(name, "open-cluster-management-hub").empty()) << name;
  }
  for (const char* name : {"c1", "worker", "kube", "default", "registration2"}) {
    EXPECT_TRUE(reserved_name(name, "open-cluster-management-hub").empty()) << name;
  }
  put_cluster("c1", true);
  put_cluster("work", true);
  HubLife hub(api, clock);
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(acceptance_condition(cluster("work"), "HubAcceptedManagedCluster", "reason"), "Error");
  EXPECT_FALSE(exists(res::namespaces(), {}, "work"));
  EXPECT_EQ(list_at(*api->get(res::cluster_roles(), {}, kSharedWorkRole), {"rules"}), shared_roles()[1]["rules"]);
  start_deletion(api::managed_clusters(), {}, "work");
  ASSERT_TRUE(hub.settle());
  EXPECT_FALSE(exists(api::managed_clusters(), {}, "work"));
  EXPECT_TRUE(exists(res::cluster_roles(), {}, std::string(kSharedWorkRole))) << "still needed by c1";
}

TEST_F(AcceptanceTest, AnErrorOfTheServerIsTold) {
  put_cluster("c1", true);
  HubLife hub(api, clock);
  hub.refresh();
  ASSERT_TRUE(hub.acceptance->reconcile("c1", {}));
  EXPECT_EQ(api->write_count(), 0) << "the defaults come first";
  ASSERT_TRUE(hub.cluster_defaulter->reconcile("c1", {}));
  hub.refresh();
  api->fail_next("create", "clusterroles", 403, "Forbidden");
  EXPECT_FALSE(hub.acceptance->reconcile("c1", {}));
  EXPECT_EQ(acceptance_condition(cluster("c1"), "HubAcceptedManagedCluster", "status"), "False");
  EXPECT_EQ(acceptance_condition(cluster("c1"), "HubAcceptedManagedCluster", "reason"), "Error");
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(acceptance_condition(cluster("c1"), "HubAcceptedManagedCluster", "status"), "True");
}

TEST_F(AcceptanceTest, ANamespaceThatGoesAwayIsWaitedFor) {
  put_cluster("c1", true);
  api->put(res::namespaces(),
           {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "c1"}, {"finalizers", {"x/y"}}}}});
  start_deletion(res::namespaces(), {}, "c1");
  HubLife hub(api, clock);
  hub.refresh();
  ASSERT_TRUE(hub.cluster_defaulter->reconcile("c1", {}));
  hub.refresh();
  const auto outcome = hub.acceptance->reconcile("c1", {});
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->requeue_after.has_value());
  EXPECT_TRUE(api->all(res::role_bindings()).empty());
  api->erase(res::namespaces(), {}, "c1");
  ASSERT_TRUE(hub.settle());
  EXPECT_EQ(acceptance_condition(cluster("c1"), "HubAcceptedManagedCluster", "status"), "True");
}

}  // namespace
}  // namespace fleetadm::registration::hub
