// work status, describe, diff and evaluate against a hub in memory.
#include "tests/unit/commands/work/fixture.h"

namespace fleetadm::commands {
namespace {

Json condition(const std::string& type, const std::string& status, const std::string& reason, const std::string& message,
               const std::string& since, std::int64_t generation = 1) {
  return {{"type", type},
          {"status", status},
          {"reason", reason},
          {"message", message},
          {"lastTransitionTime", since},
          {"observedGeneration", generation}};
}

class WorkLooks : public WorkHub {
 protected:
  /// A work with one ConfigMap and one Deployment, reported as available.
  Json reported(const std::string& cluster, const std::string& name = "web") {
    const auto entry = [](int ordinal, const char* group, const char* kind, const char* plural, const char* object) {
      return Json{{"resourceMeta",
                   {{"ordinal", ordinal},
                    {"group", group},
                    {"version", "v1"},
                    {"kind", kind},
                    {"resource", plural},
                    {"namespace", "default"},
                    {"name", object}}},
                  {"conditions",
                   {condition("Applied", "True", "AppliedManifestComplete", "", "2026-03-01T09:00:00Z"),
                    condition("Available", "True", "ResourceAvailable", "Resource is available", "2026-03-01T09:30:00Z")}}};
    };
    return {
        {"apiVersion", "work.open-cluster-management.io/v1"},
        {"kind", "ManifestWork"},
        {"metadata", {{"name", name}, {"namespace", cluster}, {"generation", 1}, {"creationTimestamp", "2026-03-01T09:00:00Z"}}},
        {"spec",
         {{"workload",
           {{"manifests",
             {{{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", "a"}, {"namespace", "default"}}}},
              {{"apiVersion", "apps/v1"},
               {"kind", "Deployment"},
               {"metadata", {{"name", "web"}, {"namespace", "default"}}},
               {"spec", {{"replicas", 2}}}}}}}}}},
        {"status",
         {{"conditions",
           {condition("Applied", "True", "AppliedManifestWorkComplete", "", "2026-03-01T09:00:00Z"),
            condition("Available", "True", "ResourcesAvailable", "", "2026-03-01T09:30:00Z")}},
          {"resourceStatus",
           {{"manifests",
             {entry(0, "", "ConfigMap", "configmaps", "a"), entry(1, "apps", "Deployment", "deployments", "web")}}}}}}};
  }
  static Json& conditions_of(Json& work, std::size_t manifest) {
    return work["status"]["resourceStatus"]["manifests"][manifest]["conditions"];
  }
  using Row = std::vector<std::string>;
};

TEST_F(WorkLooks, StatusNamesWhatBlocksAndSinceWhen) {
  clusters(4);
  hub_->put(api::manifest_works(), reported("c1"));
  Json failing = reported("c2");
  failing["status"]["conditions"][0] =
      condition("Applied", "False", "AppliedManifestWorkFailed", "Failed", "2026-03-01T09:50:00Z");
  conditions_of(failing, 1)[0] =
      condition("Applied", "False", "AppliedManifestFailed", "Failed to apply manifest: no", "2026-03-01T09:55:00Z");
  hub_->put(api::manifest_works(), failing);
  Json old = reported("c3");
  old["metadata"]["generation"] = 2;
  hub_->put(api::manifest_works(), old);
  hub_->put(api::manifest_works(), reported("c4"));
  unreachable("c4");

  const auto report = run("work status", {});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  const auto& rows = report->table->rows;
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[0], (Row{"c1", "web", "(all 2)", "Available", "Unknown", "30m", ""}));
  EXPECT_EQ(rows[1], (Row{"c2", "web", "Deployment default/web", "NotApplied", "Unknown", "5m",
                          "Applied=False AppliedManifestFailed: Failed to apply manifest: no"}));
  EXPECT_EQ(rows[2], (Row{"c3", "web", "ConfigMap default/a", "Pending", "Unknown", "60m",
                          "Applied=Unknown NotReported: the agent has not reported generation 2 yet"}));
  EXPECT_EQ(rows[4][3], "Unreachable");
  EXPECT_EQ(rows[4][5], "60m");
  EXPECT_EQ(report->data["counts"], (Json{{"Available", 1}, {"NotApplied", 1}, {"Pending", 1}, {"Unreachable", 1}}));
  EXPECT_EQ(report->data["works"][1]["manifests"][1]["blocking"]["since"], "2026-03-01T09:55:00Z");
  EXPECT_EQ(run("work status", {{"cluster", "c1"}, {"manifests", "true"}})->table->rows.size(), 2U);
  EXPECT_EQ(run("work status", {}, {"nope"}).error().category, Category::kNotFound);
}

TEST_F(WorkLooks, StatusShowsWhyAManifestIsNotReady) {
  clusters(1);
  Json waiting = reported("c1");
  waiting["status"]["conditions"].push_back(condition("work.fleetadm.io/Ready", "False", "ResourcesNotReady",
                                                      "Deployment default/web: ImagePullBackOff: 0 of 2 replicas ready",
                                                      "2026-03-01T09:50:00Z"));
  conditions_of(waiting, 0).push_back(condition("work.fleetadm.io/Ready", "True", "Ready", "", "2026-03-01T09:50:00Z"));
  conditions_of(waiting, 1)
      .push_back(
          condition("work.fleetadm.io/Ready", "False", "ImagePullBackOff", "0 of 2 replicas ready", "2026-03-01T09:50:00Z"));
  hub_->put(api::manifest_works(), waiting);
  const auto report = run("work status", {});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  ASSERT_EQ(report->table->rows.size(), 1U);
  EXPECT_EQ(report->table->rows[0], (Row{"c1", "web", "Deployment default/web", "NotReady", "False (ImagePullBackOff)", "10m",
                                         "Ready=False ImagePullBackOff: 0 of 2 replicas ready"}));
  EXPECT_EQ(report->data["works"][0]["ready"], "False (ImagePullBackOff)");
  EXPECT_EQ(run("work get", {})->table->rows[0][5], "False (ImagePullBackOff)");
}

TEST_F(WorkLooks, StatusOfASetShowsTheClustersThatHaveNothingYet) {
  clusters(2);
  placement("eu", {"c1", "c2"});
  ASSERT_TRUE(run("work create", {{"filename", file(config_map("a"))}, {"placement", "eu"}}));
  Json child = reported("c1", "web-x1");
  child["metadata"]["labels"] = {{std::string(work::kReplicaSetLabel), "default.web"}};
  hub_->put(api::manifest_works(), child);
  const auto report = run("work status", {{"placement", "eu"}});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  ASSERT_EQ(report->table->rows.size(), 2U);
  EXPECT_EQ(report->table->rows[0][3], "Available");
  EXPECT_EQ(report->table->rows[1][3], "Missing");
  EXPECT_EQ(run("work status", {{"placement", "us"}}).error().category, Category::kNotFound);
}

TEST_F(WorkLooks, WatchingEndsWhenNothingIsInTheWay) {
  clusters(1);
  Json work = reported("c1");
  work["metadata"]["generation"] = 2;
  hub_->put(api::manifest_works(), work);
  context_.on_emit = [&] {
    context_.on_emit = {};
    hub_->put(api::manifest_works(), reported("c1"));
  };
  const auto report = run("work status", {{"watch", "true"}});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->exit_code, 0);
  ASSERT_GE(context_.emitted.size(), 2U);
  EXPECT_EQ(context_.emitted.front().table->rows[0][3], "Pending");
  EXPECT_EQ(context_.emitted.back().table->rows[0][3], "Available");
}

TEST_F(WorkLooks, DescribeTellsEverythingReported) {
  clusters(1);
  Json work = reported("c1");
  work["status"]["resourceStatus"]["manifests"][1]["statusFeedback"]["values"] =
      Json::array({{{"name", "ReadyReplicas"}, {"fieldValue", {{"type", "Integer"}, {"integer", 2}}}}});
  hub_->put(api::manifest_works(), work);
  const auto report = run("work describe", {});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  std::string text;
  for (const std::string& line : report->lines) text += line + "\n";
  EXPECT_NE(text.find("Available for 30m"), std::string::npos) << text;
  EXPECT_NE(text.find("Deployment default/web is Available"), std::string::npos) << text;
  EXPECT_NE(text.find("reports ReadyReplicas=2"), std::string::npos) << text;
}

TEST_F(WorkLooks, DiffAgainstAFileGroupsEqualClustersAndHidesSecrets) {
  clusters(3);
  const std::string secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: default}\nstringData: {p: ";
  const std::string before = file(config_map("a") + config_map("gone") + secret + "hunter2}\n");
  ASSERT_TRUE(run("work create", {{"filename", before}, {"clusters", "c1,c2"}}));
  const std::string after = file(config_map("a", 2) + config_map("new") + secret + "hunter3}\n", "after.yaml");
  ASSERT_TRUE(run("work create", {{"filename", after}, {"clusters", "c3"}}));
  const int writes = hub_->write_count();
  const auto report = run("work diff", {{"filename", after}});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->exit_code, 1);
  EXPECT_EQ(report->lines,
            (std::vector<std::string>{"2 clusters: c1, c2", "  v1 ConfigMap default/a", "    - data.v: x", "    + data.v: xx",
                                      "  v1 ConfigMap default/new: added", "  v1 Secret default/s", "    - stringData.p: ***",
                                      "    + stringData.p: *** (another value)", "  v1 ConfigMap default/gone: removed"}));
  EXPECT_EQ(dump_json(report->data).find("hunter"), std::string::npos);
  EXPECT_EQ(report->data["same"], Json::array({"c3"}));
  EXPECT_EQ(run("work diff", {{"filename", after}, {"cluster", "c3"}})->exit_code, 0);
  EXPECT_EQ(hub_->write_count(), writes);
}

TEST_F(WorkLooks, EvaluateReportsWithoutACluster) {
  const std::string work_file = file(R"(
apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata: {name: web, namespace: c1}
spec:
  workload: {manifests: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default}}]}
  manifestConfigs:
  - resourceIdentifier: {group: apps, resource: deployments, namespace: default, name: "*"}
    feedbackRules: [{type: WellKnownStatus}, {type: JSONPaths, jsonPaths: [{name: list, path: .status.list}]}]
  - resourceIdentifier: {group: batch, resource: jobs, namespace: default, name: j}
    conditionRules: [{type: WellKnownConditions, condition: Complete}]
)",
                                     "work.yaml");
  const std::string objects = file(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
status: {readyReplicas: 1, list: [1, 2]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: j, namespace: default}
status: {conditions: [{type: Complete, status: "True"}]}
)",
                                   "objects.yaml");
  const auto report = run("work evaluate", {{"filename", work_file}, {"object", objects}}, {});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  const auto& rows = report->table->rows;
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0], (Row{"Deployment default/web", "feedback", "ReadyReplicas", "1", "Integer", ""}));
  EXPECT_EQ(rows[1][4], "StatusFeedbackSyncFailed");
  EXPECT_EQ(rows[2], (Row{"Job default/j", "condition", "Complete", "True", "ConditionRuleEvaluated", "Job is finished"}));
  EXPECT_EQ(rows[3][0], "(the work)");
  ASSERT_EQ(report->notes.size(), 1U);
  EXPECT_EQ(report->notes[0], "Job default/j is not one of the work's manifests.");
  const auto raw = run("work evaluate", {{"filename", work_file}, {"object", objects}, {"raw-feedback", "true"}}, {});
  EXPECT_EQ(raw->table->rows[1][3], "[1,2]");
  EXPECT_FALSE(run("work evaluate", {{"filename", objects}, {"object", objects}}, {}));
}

TEST_F(WorkLooks, EvaluateAnswersCasesLineByLine) {
  context_.screen.input =
      R"({"id":"a","object":{"apiVersion":"v1","kind":"Pod","status":{"phase":"Running"}},"rule":{"type":"WellKnownStatus"}})"
      "\n"
      R"({"id":"b","object":{"apiVersion":"v1","kind":"Pod","status":{"phase":"Failed"}},"rules":[{"condition":"Complete","type":"WellKnownConditions"}]})"
      "\n"
      R"({"id":"c","object":{}})"
      "\n";
  const auto report = run("work evaluate", {{"scenarios", "-"}}, {});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  const std::string& out = context_.screen.output;
  EXPECT_NE(out.find(R"("id":"a")"), std::string::npos);
  EXPECT_NE(out.find(R"("string":"Running")"), std::string::npos);
  EXPECT_NE(out.find("Pod is in phase Failed"), std::string::npos);
  EXPECT_NE(out.find(R"("error")"), std::string::npos);
  EXPECT_FALSE(report->failures.empty());
}

}  // namespace
}  // namespace fleetadm::commands
