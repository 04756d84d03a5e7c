// Ignored fields by who holds them: what others hold is not applied, what only we hold is not lost.
#include "core/work/rules/held_fields.h"

#include <gtest/gtest.h>

#include "core/work/rules/ignore_fields.h"
#include "tests/unit/core/work/fleet.h"

namespace fleetadm::work {
namespace {

using testing::parsed;

/// What is sent of `intent` where `path` is ignored and the managers "us" (by apply) and "them" hold these fields of `live`.
Json sent(const std::string& path, const std::string& intent, const std::string& live, const std::string& ours,
          const std::string& theirs, const std::string& ours_is = R"("apiVersion": "v1", "operation": "Apply")") {
  Json object = parsed(live);
  object["apiVersion"] = "v1";
  object["metadata"]["managedFields"] =
      parsed(R"([{"manager": "us", )" + ours_is + R"(, "fieldsV1": )" + ours +
             R"(}, {"manager": "them", "apiVersion": "v1", "operation": "Update", "fieldsV1": )" + theirs + "}]");
  const Json fields = parsed(R"([{"condition": "OnSpokePresent", "jsonPaths": [")" + path + R"("]}])");
  Json left = parsed(intent);
  const Status settled = settle_ignored_fields(fields, object, "us", false, left);
  EXPECT_TRUE(settled.has_value());
  return left;
}

TEST(HeldFields, AFieldThatOthersHoldIsLeftOut) {
  EXPECT_EQ(sent(".spec.replicas", R"({"spec": {"replicas": 1, "x": 1}})", R"({"spec": {"replicas": 5, "x": 1}})",
                 R"({"f:spec": {"f:x": {}}})", R"({"f:spec": {"f:replicas": {}}})"),
            parsed(R"({"spec": {"x": 1}})"));
}

TEST(HeldFields, AFieldThatWeHoldIsSentAsItIsLive) {
  const char* const intent = R"({"spec": {"replicas": 1, "x": 1}})";
  const char* const live = R"({"spec": {"replicas": 5, "x": 1}})";
  const char* const both = R"({"f:spec": {"f:x": {}, "f:replicas": {}}})";
  EXPECT_EQ(sent(".spec.replicas", intent, live, both, "{}"), parsed(live));
  EXPECT_EQ(sent(".spec.replicas", intent, live, both, R"({"f:spec": {"f:replicas": {}}})"), parsed(live)) << "held by both";
  EXPECT_EQ(sent(".spec.replicas", intent, live, "{}", both, R"("apiVersion": "v2", "operation": "Apply")"), parsed(live))
      << "the fields of another version say nothing";
  EXPECT_EQ(sent(".spec.replicas", intent, live, both, "{}", R"("apiVersion": "v1", "operation": "Update")"),
            parsed(R"({"spec": {"x": 1}})"))
      << "what is not applied any more is removed, not what was updated";
}

TEST(HeldFields, WithoutEntriesTheLiveValueIsSent) {
  const Json fields = parsed(R"([{"condition": "OnSpokePresent", "jsonPaths": [".spec.replicas"]}])");
  Json intent = parsed(R"({"spec": {"replicas": 1}})");
  ASSERT_TRUE(settle_ignored_fields(fields, parsed(R"({"spec": {"replicas": 5}})"), "us", false, intent));
  EXPECT_EQ(intent, parsed(R"({"spec": {"replicas": 5}})"));
}

TEST(HeldFields, OfAnObjectOurPartIsSent) {
  const char* const intent = R"({"data": {"a": "1"}})";
  const char* const live = R"({"data": {"a": "2", "b": "2"}})";
  const char* const theirs = R"({"f:data": {"f:b": {}}})";
  EXPECT_EQ(sent(".data", intent, live, R"({"f:data": {".": {}, "f:a": {}, "f:gone": {}}})", theirs),
            parsed(R"({"data": {"a": "2"}})"));
  EXPECT_EQ(sent(".data", intent, live, R"({"f:data": {}})", theirs), parsed(R"({"data": {}})"))
      << "all that is left of us is the place";
  EXPECT_EQ(sent(".data", intent, live, "{}", theirs), Json::object());
}

TEST(HeldFields, ElementsAreFoundByTheirKeys) {
  const char* const intent =
      R"({"spec": {"ports": [{"port": 80, "name": "a", "node": 1}, {"port": 90, "name": "b", "node": 2}]}})";
  const char* const live =
      R"({"spec": {"ports": [{"port": 90, "name": "b", "node": 20}, {"port": 80, "name": "a", "node": 10}]}})";
  const char* const ours = R"({"f:spec": {"f:ports": {"k:{\"port\":80}": {".": {}, "f:name": {}, "f:port": {}, "f:node": {}},
      "k:{\"port\":90}": {".": {}, "f:name": {}, "f:port": {}}}}})";
  const char* const theirs = R"({"f:spec": {"f:ports": {"k:{\"port\":90}": {"f:node": {}}}}})";
  EXPECT_EQ(sent(".spec.ports[*].node", intent, live, ours, theirs),
            parsed(R"({"spec": {"ports": [{"port": 80, "name": "a", "node": 10}, {"port": 90, "name": "b"}]}})"));
  EXPECT_EQ(sent(".spec.ports[?(@.name=='b')]", intent, live, ours, theirs),
            parsed(R"({"spec": {"ports": [{"port": 80, "name": "a", "node": 1}, {"port": 90, "name": "b"}]}})"));
  EXPECT_EQ(sent(".spec.ports", intent, live, ours, theirs),
            parsed(R"({"spec": {"ports": [{"port": 90, "name": "b"}, {"port": 80, "name": "a", "node": 10}]}})"));
}

TEST(HeldFields, APartOfAnAtomicValueIsSentAsItIsLive) {
  const char* const list = R"({"args": ["ours", "b"], "x": 1})";
  const char* const atomic = R"({"f:args": {}})";
  for (const char* holder : {"us", "them", "nobody"}) {
    const std::string name(holder);
    EXPECT_EQ(sent(".args[0]", list, R"({"args": ["live", "b"], "x": 1})", name == "us" ? atomic : "{}",
                   name == "them" ? atomic : "{}"),
              parsed(R"({"args": ["live", "b"], "x": 1})"))
        << name;
  }
  EXPECT_EQ(sent(".selector.a", R"({"selector": {"a": "1", "b": "1"}})", R"({"selector": {"a": "2", "b": "1"}})", "{}",
                 R"({"f:selector": {}})"),
            parsed(R"({"selector": {"a": "2", "b": "1"}})"));
}

TEST(HeldFields, ElementsOfSetsAreFoundByValue) {
  EXPECT_EQ(sent(".finalizers", R"({"finalizers": ["a"]})", R"({"finalizers": ["b", "a"]})",
                 R"({"f:finalizers": {"v:\"a\"": {}}})", R"({"f:finalizers": {"v:\"b\"": {}}})"),
            parsed(R"({"finalizers": ["a"]})"));
}

TEST(HeldFields, VeryLongListsAreTakenAsTheyAre) {
  Json live;
  Json ours;
  for (int i = 0; i < 1000; ++i) {
    live["l"].push_back({{"name", std::to_string(i)}, {"v", 1}});
    ours["f:l"][R"(k:{"name":")" + std::to_string(i) + R"("})"]["f:name"] = Json::object();
  }
  Json intent = live;
  for (Json& one : intent["l"]) one["v"] = 2;
  EXPECT_EQ(sent(".l[*].v", dump_json(intent), dump_json(live), dump_json(ours), "{}"), live);
}

}  // namespace
}  // namespace fleetadm::work
