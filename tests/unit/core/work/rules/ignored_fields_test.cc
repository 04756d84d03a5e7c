// Fields that a work leaves to others, over edits on the hub, edits on the spoke and restarts of the agent.
#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "core/work/rules/config_hash.h"
#include "core/work/rules/ignore_fields.h"
#include "tests/unit/core/work/fleet.h"

namespace fleetadm::work {
namespace {

using testing::eventually;
using testing::Fleet;
using testing::parsed;
using testing::work_of;

// The sums are those that upstream's agent keeps.
TEST(ConfigHash, IsThatOfUpstream) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"},"data":{"v":"1"}})",
       "1216ed17564f550ef312ab48c17cb633"},
      {R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default","creationTimestamp":null},
          "data":{"v":"1"}})",
       "1216ed17564f550ef312ab48c17cb633"},
      {R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default"},"spec":{"replicas":3,
          "paused":false,"template":{"spec":{"containers":[{"name":"c","env":[{"name":"A","value":"x y"},{"name":"B"}],
          "args":[]}]}}}})",
       "502b97d66092439f7dd830640b106029"},
      {R"({"apiVersion":"v1","kind":"X","metadata":{"name":"n"},"spec":{"a":1.5,"b":1.0,"c":1e30,"d":1e-7,"e":-5,"f":null,"g":{},
          "h":[null,true],"i":123456789012345678,"j":100000000.5,"k":1e20,"l":"<é\n>"}})",
       "3f832ab6f15a593b1692a09196ee588a"}};
  for (const auto& [object, sum] : cases) EXPECT_EQ(config_spec_hash(parsed(object)), sum) << object;
}

TEST(IgnoreFields, PresentFieldsAreNoPartOfTheManifestsIdentity) {
  const Json fields = parsed(R"j([{"condition": "OnSpokePresent", "jsonPaths": [".spec.env[?(@.name==\"A\")]"]},
                                  {"condition": "OnSpokeChange", "jsonPointers": ["/spec/replicas"]}])j");
  Json object = parsed(R"({"spec": {"replicas": 1, "env": [{"name": "A", "value": "1"}, {"name": "B"}]}})");
  ASSERT_TRUE(drop_present_fields(fields, object));
  EXPECT_EQ(object, parsed(R"({"spec": {"replicas": 1, "env": [{"name": "B"}]}})"));
}

TEST(IgnoreFields, WhatIsLiveStays) {
  const Json fields =
      parsed(R"j([{"condition": "OnSpokePresent", "jsonPaths": [".spec.env[?(@.name==\"A\")].value", ".spec.gone"]}])j");
  const Json live = parsed(R"({"spec": {"env": [{"name": "C"}, {"name": "A", "value": "theirs"}]}})");
  Json intent = parsed(R"({"spec": {"gone": 1, "env": [{"name": "A", "value": "ours"}, {"name": "B"}]}})");
  ASSERT_TRUE(settle_ignored_fields(fields, live, "work-agent", true, intent));
  EXPECT_EQ(intent, parsed(R"({"spec": {"env": [{"name": "A", "value": "theirs"}, {"name": "B"}]}})"));
}

class IgnoredFields : public ::testing::Test {
 protected:
  static std::string map(const std::string& name, const std::string& kept, const std::string& ignored) {
    return R"({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": ")" + name +
           R"(", "namespace": "default"}, "data": {"kept": ")" + kept + R"(", "ignored": ")" + ignored + R"("}})";
  }
  static Json work(const std::string& condition, const std::string& manifests) {
    return work_of("w1", "[" + manifests + "]",
                   R"({"manifestConfigs": [{"resourceIdentifier": {"group": "", "resource": "configmaps", "namespace": "default",
                       "name": "one"}, "updateStrategy": {"type": "ServerSideApply", "serverSideApply": {"force": true,
                       "ignoreFields": [{"condition": ")" +
                       condition + R"(", "jsonPointers": ["/data/ignored"]}]}}}]})");
  }
  void begin(const std::string& condition, const std::string& manifests) {
    fleet.hub->put(api::manifest_works(), work(condition, manifests));
    fleet.start_agent();
    ASSERT_TRUE(eventually([&] { return fleet.is_applied("w1"); }));
    testing::settle(*fleet.hub, *fleet.spoke);
  }
  void change(const std::string& condition, const std::string& manifests) {
    const Json patch{{"spec", work(condition, manifests)["spec"]}};
    ASSERT_TRUE(fleet.hub->client().patch(api::manifest_works(), testing::kCluster, "w1", kube::PatchType::kMerge, patch));
  }
  void set_on_spoke(const std::string& value) {
    Json object = *fleet.config_map("one");
    object["data"]["ignored"] = value;
    object["metadata"]["generation"] = num(object, {"metadata", "generation"}) + 1;
    fleet.spoke->put(kube::resources::config_maps(), object);
  }
  void quiet() { testing::settle(*fleet.hub, *fleet.spoke); }
  std::string on_spoke(const std::string& member) const {
    const auto object = fleet.config_map("one");
    return object ? str(*object, {"data", member}) : "<absent>";
  }
  int applies() const {
    int count = 0;
    for (const testkit::ApiCall& call : fleet.spoke->writes()) {
      if (call.name == "one" && call.content_type.find("apply-patch") != std::string::npos) ++count;
    }
    return count;
  }

  Fleet fleet;
};

TEST_F(IgnoredFields, AnEditOfNothingElseIsNotApplied) {
  begin("OnSpokePresent", map("one", "1", "a"));
  const int before = applies();
  change("OnSpokePresent", map("one", "1", "b"));
  quiet();
  EXPECT_EQ(applies(), before);
  EXPECT_EQ(on_spoke("ignored"), "a");
}

TEST_F(IgnoredFields, AnEditOfAnotherFieldLeavesThem) {
  begin("OnSpokePresent", map("one", "1", "a"));
  change("OnSpokePresent", map("one", "2", "b"));
  EXPECT_TRUE(eventually([&] { return on_spoke("kept") == "2"; }));
  EXPECT_EQ(on_spoke("ignored"), "a");
}

TEST_F(IgnoredFields, ARestartBesideAnotherManifestsChangeLeavesThem) {
  const std::string other =
      R"({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two", "namespace": "default"}, "data": {"v": ")";
  begin("OnSpokeChange", map("one", "1", "a") + "," + other + R"(1"}})");
  set_on_spoke("theirs");
  quiet();
  EXPECT_EQ(on_spoke("ignored"), "theirs");
  fleet.stop_agent();
  change("OnSpokeChange", map("one", "1", "a") + "," + other + R"(2"}})");
  fleet.start_agent();
  EXPECT_TRUE(eventually([&] {
    const auto two = fleet.config_map("two");
    return two && str(*two, {"data", "v"}) == "2";
  }));
  quiet();
  EXPECT_EQ(on_spoke("ignored"), "theirs");
  // The manifest's own change counts, also after a restart.
  fleet.stop_agent();
  change("OnSpokeChange", map("one", "1", "b") + "," + other + R"(2"}})");
  fleet.start_agent();
  EXPECT_TRUE(eventually([&] { return on_spoke("ignored") == "b"; }));
}

TEST_F(IgnoredFields, TheHashIsKeptOnTheObject) {
  begin("OnSpokePresent", map("one", "1", "a"));
  Json hashed = parsed(map("one", "1", "a"));
  hashed["data"].erase("ignored");
  EXPECT_EQ(annotation_of(*fleet.config_map("one"), kConfigSpecHash), config_spec_hash(hashed));
}

}  // namespace
}  // namespace fleetadm::work
