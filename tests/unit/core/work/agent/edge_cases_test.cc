// What goes wrong on clusters: each ends in a clear condition, and in the right state once it is over.
#include <gtest/gtest.h>
#include <set>

#include "core/api/kinds.h"
#include "core/work/hub/ttl_controller.h"
#include "core/work/rules/conditions.h"
#include "core/work/rules/names.h"
#include "tests/unit/core/work/fleet.h"

namespace fleetadm::work {
namespace {

using testing::config_map;
using testing::eventually;
using testing::Fleet;
using testing::parsed;
using testing::work_of;

class WorkEdges : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& manifests, const std::string& more = "{}") {
    fleet.hub->put(api::manifest_works(), work_of(name, manifests, more));
  }
  void change(const std::string& name, const std::string& manifests) {
    const Json patch = Json::object({{"spec", work_of(name, manifests)["spec"]}});
    ASSERT_TRUE(fleet.hub->client().patch(api::manifest_works(), testing::kCluster, name, kube::PatchType::kMerge, patch));
  }
  void wait_applied(const std::string& name) {
    ASSERT_TRUE(eventually([&] { return fleet.is_applied(name); })) << dump_json(fleet.work(name).value_or(Json()));
  }
  /// The Applied condition of the n-th manifest.
  Json applied_of(const std::string& name, std::size_t n = 0) const {
    const Json work = fleet.work(name).value_or(Json());
    const Json& manifests = list_at(work, {"status", "resourceStatus", "manifests"});
    const Json* condition = n < manifests.size() ? condition_in(list_at(manifests[n], {"conditions"}), "Applied") : nullptr;
    return condition == nullptr ? Json() : *condition;
  }
  std::string message_of(const std::string& name, std::size_t n = 0) const { return str(applied_of(name, n), {"message"}); }
  /// From now on such requests are answered like this.
  void refuse(const std::string& verb, const std::string& plural, int status, const std::string& reason,
              const std::string& words) {
    fleet.spoke->on_request([=](const testkit::ApiCall& call) -> std::optional<kube::Response> {
      if (call.verb != verb || call.plural != plural) return std::nullopt;
      const Json body{{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Failure"},
                      {"reason", reason}, {"message", words},   {"code", status}};
      return kube::Response{status, {{"content-type", "application/json"}}, dump_json(body)};
    });
  }

  Fleet fleet;
};

TEST_F(WorkEdges, AnObjectIsHandedOverFromWorkToWork) {
  put("w1", "[" + config_map("a", "1") + "," + config_map("b", "1") + "]");
  fleet.start_agent();
  wait_applied("w1");
  fleet.stop_agent();
  const std::string uid = uid_of(*fleet.config_map("b"));
  // Both changes are there when the agent comes back: whichever it sees first, the object lives on.
  put("w2", "[" + config_map("b", "1") + "]");
  change("w1", "[" + config_map("a", "1") + "]");
  fleet.start_agent();
  wait_applied("w1");
  wait_applied("w2");
  testing::settle(*fleet.hub, *fleet.spoke);
  ASSERT_TRUE(fleet.config_map("b"));
  EXPECT_EQ(uid_of(*fleet.config_map("b")), uid) << "never deleted in between";
  const Json owners = list_at(*fleet.config_map("b"), {"metadata", "ownerReferences"});
  ASSERT_EQ(owners.size(), 1U);
  EXPECT_EQ(str(owners[0], {"name"}), name_of(*fleet.applied_work("w2")));

  // The same when the whole work goes.
  put("w3", "[" + config_map("b", "1") + "]");
  wait_applied("w3");
  fleet.remove_work("w2");
  EXPECT_TRUE(eventually([&] { return fleet.is_gone("w2"); }));
  EXPECT_EQ(uid_of(*fleet.config_map("b")), uid);
  fleet.remove_work("w3");
  EXPECT_TRUE(eventually([&] { return fleet.is_gone("w3") && !fleet.config_map("b"); }));
}

TEST_F(WorkEdges, AWorkDeletedWhileItsClusterIsAwayIsCleanedUpLater) {
  put("w1", "[" + config_map("a", "1") + "]");
  fleet.start_agent();
  wait_applied("w1");
  fleet.stop_agent();
  fleet.remove_work("w1");
  EXPECT_TRUE(is_deleting(*fleet.work("w1"))) << "it waits for its agent";
  EXPECT_TRUE(fleet.config_map("a"));
  fleet.start_agent();
  EXPECT_TRUE(eventually([&] { return fleet.is_gone("w1"); }));
  EXPECT_FALSE(fleet.config_map("a"));
}

TEST_F(WorkEdges, ATerminatingNamespaceIsSaidAndWaitedFor) {
  refuse("create", "configmaps", 403, "Forbidden",
         "unable to create new content in namespace default because it is being terminated");
  put("w1", "[" + config_map("a", "1") + "]");
  fleet.start_agent();
  ASSERT_TRUE(eventually([&] { return fleet.condition("w1", "Applied") == "False"; }));
  EXPECT_EQ(str(applied_of("w1"), {"reason"}), "AppliedManifestFailed");
  EXPECT_NE(message_of("w1").find("because it is being terminated"), std::string::npos) << message_of("w1");
  EXPECT_EQ(fleet.condition("w1", "Available"), "False");
  fleet.spoke->on_request({});
  wait_applied("w1");
}

TEST_F(WorkEdges, AnImmutableFieldIsSaidAndTheRestIsApplied) {
  put("w1", "[" + config_map("a", "1") + "," + config_map("b", "1") + "]");
  fleet.start_agent();
  wait_applied("w1");
  testing::settle(*fleet.hub, *fleet.spoke);
  fleet.spoke->on_request([](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    if (call.verb != "update" || call.name != "a") return std::nullopt;
    return kube::Response{
        422,
        {{"content-type", "application/json"}},
        R"({"kind":"Status","status":"Failure","reason":"Invalid","message":"data: Invalid value: field is immutable","code":422})"};
  });
  change("w1", "[" + config_map("a", "2") + "," + config_map("b", "2") + "]");
  ASSERT_TRUE(eventually([&] { return fleet.condition("w1", "Applied") == "False"; }));
  EXPECT_TRUE(eventually([&] { return str(*fleet.config_map("b"), {"data", "v"}) == "2"; }));
  EXPECT_NE(message_of("w1", 0).find("field is immutable"), std::string::npos) << message_of("w1", 0);
  EXPECT_EQ(str(applied_of("w1", 1), {"status"}), "True");
  testing::settle(*fleet.hub, *fleet.spoke);
  EXPECT_LT(fleet.spoke->count("update", "configmaps"), 20) << "retried with patience";
  change("w1", "[" + config_map("a", "1") + "," + config_map("b", "2") + "]");
  wait_applied("w1");
}

TEST_F(WorkEdges, AnObjectThatTheServerFindsTooLargeIsSaid) {
  refuse("create", "configmaps", 413, "RequestEntityTooLarge", "etcdserver: request is too large");
  put("w1", "[" + config_map("a", "1") + "]");
  fleet.start_agent();
  ASSERT_TRUE(eventually([&] { return fleet.condition("w1", "Applied") == "False"; }));
  EXPECT_NE(message_of("w1").find("request is too large"), std::string::npos) << message_of("w1");
}

TEST_F(WorkEdges, WhatIsNoObjectIsSaidAndTheRestIsApplied) {
  put("w1", R"(["not an object", {"kind": "ConfigMap", "metadata": {"name": "x"}}, )" + config_map("a", "1") + "]");
  fleet.start_agent();
  ASSERT_TRUE(eventually([&] { return fleet.condition("w1", "Applied") == "False"; }));
  EXPECT_TRUE(eventually([&] { return fleet.config_map("a").has_value(); }));
  EXPECT_NE(message_of("w1", 0).find("not an object"), std::string::npos) << message_of("w1", 0);
  EXPECT_NE(message_of("w1", 1).find("no apiVersion"), std::string::npos) << message_of("w1", 1);
}

TEST_F(WorkEdges, ADefinitionAndItsInstanceComeInOneWork) {
  const auto json = [](const std::string& text) { return kube::Response{200, {{"content-type", "application/json"}}, text}; };
  const auto group = [](const std::string& name) {
    return R"({"name": ")" + name + R"(", "versions": [{"groupVersion": ")" + name +
           R"(/v1", "version": "v1"}], "preferredVersion": {"groupVersion": ")" + name + R"(/v1", "version": "v1"}})";
  };
  const auto list = [](const std::string& gv, const std::string& plural, const std::string& kind, const char* namespaced) {
    return R"({"kind": "APIResourceList", "groupVersion": ")" + gv + R"(", "resources": [{"name": ")" + plural +
           R"(", "singularName": "", "namespaced": )" + namespaced + R"(, "kind": ")" + kind +
           R"(", "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"]}]})";
  };
  const std::string ext = "apiextensions.k8s.io";
  fleet.spoke->route("/apis", json(R"({"kind": "APIGroupList", "groups": [)" + group(ext) + "]}"));
  fleet.spoke->route("/apis/" + ext + "/v1",
                     json(list(ext + "/v1", "customresourcedefinitions", "CustomResourceDefinition", "false")));
  std::atomic<int> asked = 0;
  fleet.spoke->on_request([&](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    // Served a little after it was created, as on a real server.
    const bool created = fleet.spoke->get(kube::resources::custom_resource_definitions(), "", "widgets.example.com").has_value();
    if (call.path == "/apis" && created && ++asked > 3)
      return json(R"({"kind": "APIGroupList", "groups": [)" + group(ext) + "," + group("example.com") + "]}");
    if (call.path == "/apis/example.com/v1") return json(list("example.com/v1", "widgets", "Widget", "true"));
    return std::nullopt;
  });
  put("w1",
      R"([{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "default"}, "spec": {"x": 1}},
      {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com"},
       "spec": {"group": "example.com", "names": {"plural": "widgets", "kind": "Widget"}, "scope": "Namespaced"}}])");
  fleet.start_agent();
  EXPECT_TRUE(eventually([&] { return fleet.is_applied("w1"); }, std::chrono::seconds(5))) << dump_json(*fleet.work("w1"));
  EXPECT_TRUE(fleet.spoke->get({"example.com", "v1", "widgets", "Widget", true}, "default", "w"));
  fleet.spoke->on_request({});
}

TEST_F(WorkEdges, TwoWorksThatWantDifferentThingsDoNotFightForEver) {
  put("w1", "[" + config_map("a", "1") + "]");
  put("w2", "[" + config_map("a", "2") + "]");
  fleet.start_agent();
  ASSERT_TRUE(eventually([&] {
    return message_of("w1").find("keeps being changed") != std::string::npos ||
           message_of("w2").find("keeps being changed") != std::string::npos;
  })) << message_of("w1")
      << message_of("w2");
  EXPECT_LE(fleet.spoke->count("update", "configmaps"), 16);
  const auto told = [&] {
    for (const Json& event : fleet.hub->all(kube::resources::events())) {
      if (str(event, {"reason"}) == "RepairBackOff" && str(event, {"regarding", "kind"}) == "ManifestWork") return true;
    }
    return false;
  };
  EXPECT_TRUE(eventually(told));
}

Json finished(const std::string& more, const std::string& since) {
  Json work = work_of("job", "[]", more);
  work["status"]["conditions"] = Json::array({{{"type", "Complete"}, {"status", "True"}, {"lastTransitionTime", since}}});
  return work;
}

TEST(FinishedWorks, EndWhenTheirTimeIsOver) {
  const std::string since = "2026-03-01T10:00:00Z";
  const auto end = end_of_life(finished(R"({"deleteOption": {"ttlSecondsAfterFinished": 90}})", since));
  ASSERT_TRUE(end);
  EXPECT_EQ(format_time(*end), "2026-03-01T10:01:30Z");
  EXPECT_EQ(end_of_life(finished(R"({"deleteOption": {"ttlSecondsAfterFinished": 0}})", since)), parse_time(since));
  EXPECT_FALSE(end_of_life(finished("{}", since)));
  EXPECT_FALSE(end_of_life(finished(R"({"deleteOption": {"ttlSecondsAfterFinished": -1}})", since)));
  Json running = finished(R"({"deleteOption": {"ttlSecondsAfterFinished": 90}})", since);
  running["status"]["conditions"][0]["status"] = "False";
  EXPECT_FALSE(end_of_life(running));
  Json of_a_set = finished(R"({"deleteOption": {"ttlSecondsAfterFinished": 0}})", since);
  of_a_set["metadata"]["labels"] = {{std::string(kReplicaSetLabel), "ns.set"}};
  EXPECT_FALSE(end_of_life(of_a_set));
}

TEST(FinishedWorks, AreDeletedOnTheHub) {
  const auto hub = testkit::FakeApi::make();
  const std::string now = format_time(Clock::system()->now());
  const auto put = [&](const std::string& name, const std::string& ttl, bool set) {
    Json work = finished(R"({"deleteOption": {"ttlSecondsAfterFinished": )" + ttl + "}}", now);
    work["metadata"]["name"] = name;
    if (set) work["metadata"]["labels"] = {{std::string(kReplicaSetLabel), "ns.set"}};
    hub->put(api::manifest_works(), work);
  };
  put("soon", "1", false);
  put("later", "3600", false);
  put("of-a-set", "0", true);
  controller::Manager manager({});
  add_finished_works_controller(manager, hub->client());
  std::jthread thread([&](std::stop_token stop) { EXPECT_TRUE(manager.run(std::move(stop))); });
  EXPECT_TRUE(eventually([&] { return !hub->get(api::manifest_works(), testing::kCluster, "soon"); }));
  EXPECT_TRUE(hub->get(api::manifest_works(), testing::kCluster, "later"));
  EXPECT_TRUE(hub->get(api::manifest_works(), testing::kCluster, "of-a-set"));
  thread.request_stop();
  thread.join();
}

}  // namespace
}  // namespace fleetadm::work
