// What the work agent reports (docs/reference/work.md#conditions), row by row, and the rules
// beside it that no other suite has.
#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "core/work/rules/conditions.h"
#include "tests/unit/core/work/fleet.h"

namespace fleetadm::work {
namespace {

using testing::config_map;
using testing::eventually;
using testing::Fleet;
using testing::parsed;

constexpr int kOfTheWork = -1;

struct Row {
  const char* id;
  std::string manifests;
  const char* spec;  // more of the work's spec
  int ordinal;       // of the manifest, or kOfTheWork
  const char* condition;
  const char* said;  // "Status Reason: message"; a trailing '*' stands for any more
};

std::string rules(const char* config) {
  return std::string(
             R"({"manifestConfigs": [{"resourceIdentifier": {"group": "", "resource": "configmaps", "namespace": "default",
    "name": "a"}, )") +
         config + "}]}";
}

const std::string kOne = "[" + config_map("a", "1") + "]";
const std::string kUnknown =
    R"([{"apiVersion": "v1", "kind": "Nope", "metadata": {"name": "x", "namespace": "default"}}, )" + config_map("a", "1") + "]";
const std::string kReady =
    rules(R"("conditionRules": [{"type": "CEL", "condition": "Ready", "celExpressions": ["object.data.v == '1'"]}])");
const std::string kNotReady =
    rules(R"("conditionRules": [{"type": "CEL", "condition": "Ready", "celExpressions": ["object.data.v == '2'"]}])");
const std::string kMessage = rules(
    R"("conditionRules": [{"type": "CEL", "condition": "Ready", "celExpressions": ["true"], "messageExpression": "'v is ' + object.data.v"}])");
const std::string kFails =
    rules(R"("conditionRules": [{"type": "CEL", "condition": "Ready", "celExpressions": ["object.data.gone == 'x'"]}])");
const std::string kBroken = rules(R"("conditionRules": [{"type": "CEL", "condition": "Ready", "celExpressions": ["object.("]}])");
const std::string kBoth =
    rules(R"("conditionRules": [{"type": "CEL", "condition": "Ready", "celExpressions": ["true", "object.data.v == '2'"]}])");
const std::string kPath = rules(R"("feedbackRules": [{"type": "JSONPaths", "jsonPaths": [{"name": "v", "path": ".data.v"}]}])");
const std::string kMissingPath =
    rules(R"("feedbackRules": [{"type": "JSONPaths", "jsonPaths": [{"name": "v", "path": ".data.none"}]}])");
const std::string kOtherVersion =
    rules(R"("feedbackRules": [{"type": "JSONPaths", "jsonPaths": [{"name": "v", "version": "v2", "path": ".data.v"}]}])");
const std::string kObjectPath =
    rules(R"("feedbackRules": [{"type": "JSONPaths", "jsonPaths": [{"name": "all", "path": ".data"}]}])");
const std::string kBadIgnore = rules(R"("updateStrategy": {"type": "ServerSideApply", "serverSideApply": {"ignoreFields": [
    {"condition": "OnSpokePresent", "jqPathExpressions": ["not ( a path"]}]}})");
constexpr const char* kUserExecutor = R"({"executor": {"subject": {"type": "User"}}})";

const Row kRows[] = {
    {"unknown_kind", kUnknown, "{}", 0, "Applied",
     "False AppliedManifestFailed: Failed to apply manifest: the server doesn't have a resource type \"Nope\""},
    {"unknown_kind_available", kUnknown, "{}", 0, "Available", "Unknown IncompleteResourceMeta: Resource meta is incomplete"},
    {"unknown_kind_work", kUnknown, "{}", kOfTheWork, "Applied",
     "False AppliedManifestWorkFailed: Failed to apply manifest work"},
    {"unknown_kind_work_available", kUnknown, "{}", kOfTheWork, "Available",
     "Unknown ResourcesStatusUnknown: 1 of 2 resources have unknown status"},
    {"executor_subject", kOne, kUserExecutor, 0, "Applied",
     "False AppliedManifestFailed: Failed to apply manifest: only support ServiceAccount type for the executor"},
    {"applied", kOne, "{}", 0, "Applied", "True AppliedManifestComplete: Apply manifest complete"},
    {"available", kOne, "{}", 0, "Available", "True ResourceAvailable: Resource is available"},
    {"work_applied", kOne, "{}", kOfTheWork, "Applied", "True AppliedManifestWorkComplete: Apply manifest work complete"},
    {"work_available", kOne, "{}", kOfTheWork, "Available", "True ResourcesAvailable: All resources are available"},
    {"ignore_fields", kOne, kBadIgnore.c_str(), 0, "Applied",
     "False AppliedManifestSSAIgnoreFieldError: Failed to process ignoreFields: *"},
    {"rule_true", kOne, kReady.c_str(), 0, "Ready", "True ConditionRuleEvaluated: Manifest is Ready"},
    {"rule_false", kOne, kNotReady.c_str(), 0, "Ready", "False ConditionRuleEvaluated: Manifest is not Ready"},
    {"rule_all_must_hold", kOne, kBoth.c_str(), 0, "Ready", "False ConditionRuleEvaluated: Manifest is not Ready"},
    {"rule_message", kOne, kMessage.c_str(), 0, "Ready", "True ConditionRuleEvaluated: v is 1"},
    {"rule_error", kOne, kFails.c_str(), 0, "Ready", "False ConditionRuleExpressionError: *"},
    {"rule_that_does_not_compile", kOne, kBroken.c_str(), 0, "Ready", "False ConditionRuleExpressionError: *"},
    {"rule_aggregated", kOne, kReady.c_str(), kOfTheWork, "Ready", "True ConditionRulesAggregated: Manifest is Ready"},
    {"no_feedback", kOne, "{}", 0, "StatusFeedbackSynced", "True NoStatusFeedbackSynced: "},
    {"feedback", kOne, kPath.c_str(), 0, "StatusFeedbackSynced", "True StatusFeedbackSynced: "},
    {"feedback_missing", kOne, kMissingPath.c_str(), 0, "StatusFeedbackSynced", "True StatusFeedbackSynced: "},
    {"feedback_version", kOne, kOtherVersion.c_str(), 0, "StatusFeedbackSynced",
     "False StatusFeedbackSyncFailed: Sync status feedback failed with error *"},
    {"feedback_object", kOne, kObjectPath.c_str(), 0, "StatusFeedbackSynced",
     "False StatusFeedbackSyncFailed: Sync status feedback failed with error *"},
};

class WorkCatalogue : public ::testing::TestWithParam<Row> {};

std::string said(const Json& work, int ordinal, const char* type) {
  const Json& manifests = list_at(work, {"status", "resourceStatus", "manifests"});
  if (ordinal >= static_cast<int>(manifests.size())) return "<no such manifest>";
  const Json& holder = ordinal == kOfTheWork ? object_at(work, {"status"}) : manifests[static_cast<std::size_t>(ordinal)];
  const Json* found = condition_in(list_at(holder, {"conditions"}), type);
  return found == nullptr ? "<none>" : str(*found, {"status"}) + " " + str(*found, {"reason"}) + ": " + str(*found, {"message"});
}

bool alike(const std::string& text, const std::string& pattern) {
  return pattern.ends_with('*') ? text.starts_with(pattern.substr(0, pattern.size() - 1)) : text == pattern;
}

TEST_P(WorkCatalogue, IsReportedAsTheReferenceSays) {
  const Row& row = GetParam();
  Fleet fleet;
  fleet.hub->put(api::manifest_works(), testing::work_of("w", row.manifests, row.spec));
  fleet.start_agent();
  const auto now = [&] { return said(fleet.work("w").value_or(Json()), row.ordinal, row.condition); };
  EXPECT_TRUE(eventually([&] { return alike(now(), row.said); }, std::chrono::seconds(5))) << now();
}
INSTANTIATE_TEST_SUITE_P(Reference, WorkCatalogue, ::testing::ValuesIn(kRows),
                         [](const auto& row) { return std::string(row.param.id); });

class WorkRules : public ::testing::Test {
 protected:
  void put(const std::string& manifests, const std::string& more = "{}") {
    fleet.hub->put(api::manifest_works(), testing::work_of("w", manifests, more));
  }
  void change(const std::string& manifests) {
    const Json patch{{"spec", testing::work_of("w", manifests)["spec"]}};
    ASSERT_TRUE(fleet.hub->client().patch(api::manifest_works(), testing::kCluster, "w", kube::PatchType::kMerge, patch));
  }
  bool applied() {
    return eventually([&] { return fleet.is_applied("w"); });
  }
  Fleet fleet;
};

TEST_F(WorkRules, ASecretOfAnotherTypeIsMadeAgain) {
  const auto secret = [](const std::string& type) {
    return R"([{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}, "type": ")" + type +
           R"(", "data": {"a": "eA=="}}])";
  };
  put(secret("Opaque"));
  fleet.start_agent();
  ASSERT_TRUE(applied());
  const std::string former = uid_of(*fleet.spoke->get(kube::resources::secrets(), "default", "s"));
  change(secret("example.com/own"));
  ASSERT_TRUE(applied());
  const Json now = *fleet.spoke->get(kube::resources::secrets(), "default", "s");
  EXPECT_EQ(str(now, {"type"}), "example.com/own");
  EXPECT_NE(uid_of(now), former);
}

TEST_F(WorkRules, TheUidOfAManifestAndTheNamespaceOfAClusterWideOneAreIgnored) {
  put(R"([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default", "uid": "elsewhere"}},
      {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "namespace": "default"}}])");
  fleet.start_agent();
  ASSERT_TRUE(applied());
  EXPECT_NE(uid_of(*fleet.config_map("a")), "elsewhere");
  EXPECT_TRUE(fleet.spoke->get(kube::resources::namespaces(), "", "n"));
  const Json work = *fleet.work("w");
  EXPECT_EQ(str(list_at(work, {"status", "resourceStatus", "manifests"})[1], {"resourceMeta", "namespace"}), "");
}

TEST_F(WorkRules, AConflictIsTriedAgainAtOnce) {
  put("[" + config_map("a", "1") + "]");
  fleet.start_agent();
  ASSERT_TRUE(applied());
  fleet.spoke->fail_next("update", "configmaps", 409, "Conflict");
  change("[" + config_map("a", "2") + "]");
  EXPECT_TRUE(applied());
  EXPECT_EQ(str(*fleet.config_map("a"), {"data", "v"}), "2");
}

TEST_F(WorkRules, WhatIsCompleteIsNotAppliedAgain) {
  put("[" + config_map("a", "1") + "]", rules(R"("conditionRules": [{"type": "CEL", "condition": "Complete",
      "celExpressions": ["true"]}])"));
  fleet.start_agent();
  ASSERT_TRUE(eventually([&] { return fleet.condition("w", "Complete") == "True"; })) << dump_json(*fleet.work("w"));
  testing::settle(*fleet.hub, *fleet.spoke);
  fleet.spoke->erase(kube::resources::config_maps(), "default", "a");
  testing::settle(*fleet.hub, *fleet.spoke);
  EXPECT_FALSE(fleet.config_map("a")) << "it has done its work";
}

}  // namespace
}  // namespace fleetadm::work
