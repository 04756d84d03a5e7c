// What a field manager has applied of an object, and keeping it in a newer intent.
#include "core/install/owned_fields.h"

#include <gtest/gtest.h>

namespace fleetadm::install {
namespace {

/// A Deployment as a server has it: with defaults, and fields of others.
Json applied_object() {
  return *parse_json(R"({
    "apiVersion": "apps/v1", "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "apps", "uid": "1", "labels": {"app": "web", "team": "blue"},
      "managedFields": [
        {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:metadata": {"f:labels": {"f:team": {}}}}},
        {"manager": "fleetadm", "operation": "Apply", "fieldsV1": {
          "f:metadata": {"f:labels": {"f:app": {}}},
          "f:spec": {"f:replicas": {}, "f:template": {"f:spec": {
            "f:nodeSelector": {".": {}, "f:disk": {}},
            "f:tolerations": {},
            "f:imagePullSecrets": {"k:{\"name\":\"login\"}": {}},
            "f:containers": {"k:{\"name\":\"web\"}": {".": {}, "f:name": {}, "f:image": {}, "f:args": {},
              "f:env": {"k:{\"name\":\"PROXY\"}": {".": {}, "f:name": {}, "f:value": {}}}}}}}}}}]},
    "spec": {"replicas": 3, "paused": false, "template": {"spec": {
      "restartPolicy": "Always", "nodeSelector": {"disk": "fast", "zone": "a"}, "tolerations": [{"key": "t"}],
      "imagePullSecrets": [{"name": "login"}, {"name": "other"}],
      "containers": [{"name": "web", "image": "web:1", "args": ["old"], "imagePullPolicy": "IfNotPresent",
        "env": [{"name": "PROXY", "value": "p"}, {"name": "OTHER", "value": "o"}]}]}}},
    "status": {"replicas": 3}})");
}

TEST(AppliedBy, IsWhatTheManagerSaidAndNothingElse) {
  const Json expected = *parse_json(R"({
    "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "apps", "labels": {"app": "web"}},
    "spec": {"replicas": 3, "template": {"spec": {
      "nodeSelector": {"disk": "fast"}, "tolerations": [{"key": "t"}], "imagePullSecrets": [{"name": "login"}],
      "containers": [{"name": "web", "image": "web:1", "args": ["old"], "env": [{"name": "PROXY", "value": "p"}]}]}}}})");
  EXPECT_EQ(applied_by(applied_object(), "fleetadm"), expected) << dump_json(applied_by(applied_object(), "fleetadm"));
}

TEST(AppliedBy, IsNothingOfWhoeverHasNotApplied) {
  EXPECT_TRUE(applied_by(applied_object(), "kubectl").is_null()) << "an update is no intent";
  EXPECT_TRUE(applied_by(applied_object(), "helm").is_null());
  EXPECT_TRUE(applied_by(Json::object(), "fleetadm").is_null());
}

TEST(KeepApplied, AddsWhatTheNewIntentDoesNotSpeakOf) {
  Json intent = *parse_json(R"({"spec": {"replicas": 1, "template": {"spec": {
    "containers": [{"name": "web", "image": "web:2", "args": ["new"], "env": [{"name": "NEW", "value": "n"}]}]}}}})");
  keep_applied(intent, applied_object(), "fleetadm", {"spec", "template", "spec"});
  const Json expected = *parse_json(R"({"spec": {"replicas": 1, "template": {"spec": {
    "nodeSelector": {"disk": "fast"}, "tolerations": [{"key": "t"}], "imagePullSecrets": [{"name": "login"}],
    "containers": [{"name": "web", "image": "web:2", "args": ["new"],
      "env": [{"name": "NEW", "value": "n"}, {"name": "PROXY", "value": "p"}]}]}}}})");
  EXPECT_EQ(intent, expected) << dump_json(intent);
}

TEST(AppliedBy, LeavesListsInTheirOrder) {
  const Json live = *parse_json(R"({"kind": "List", "metadata": {"name": "x", "managedFields": [{"manager": "fleetadm",
    "operation": "Apply", "fieldsV1": {"f:env": {"k:{\"name\":\"A\"}": {"f:name": {}}, "k:{\"name\":\"B\"}": {"f:name": {}}}}}]},
    "env": [{"name": "B"}, {"name": "A"}]})");
  EXPECT_EQ(applied_by(live, "fleetadm")["env"], live.at("env")) << "a variable may refer to one before it";
}

TEST(KeepApplied, KnowsElementsWhoseKeysTheServerHasCompleted) {
  const Json live = *parse_json(R"({
    "metadata": {"managedFields": [{"manager": "fleetadm", "operation": "Apply", "fieldsV1": {"f:ports": {
      "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}, "f:name": {}}}}}]},
    "ports": [{"port": 80, "protocol": "TCP", "name": "web"}]})");
  Json intent{{"ports", Json::array({{{"port", 80}, {"name", "http"}}})}};
  const Json before = intent;
  keep_applied(intent, live, "fleetadm", {"ports"});
  EXPECT_EQ(intent, before) << "twice the same key is refused by servers";
}

TEST(KeepApplied, LeavesOutWhatIsNotThere) {
  Json live = applied_object();
  erase_at(live, {"spec", "template", "spec", "tolerations"});
  Json intent{{"spec", {{"template", {{"spec", {{"nodeSelector", {{"disk", "slow"}}}}}}}}}};
  keep_applied(intent, live, "fleetadm", {"spec", "template", "spec"});
  EXPECT_FALSE(find(intent, {"spec", "template", "spec", "tolerations"}) != nullptr);
  EXPECT_EQ(str(intent, {"spec", "template", "spec", "nodeSelector", "disk"}), "slow") << "the intent's own value counts";
  Json untouched = intent;
  keep_applied(untouched, live, "somebody", {"spec", "template", "spec"});
  EXPECT_EQ(untouched, intent);
}

}  // namespace
}  // namespace fleetadm::install
