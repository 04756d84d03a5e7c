// work create, apply, get and delete against an API server in memory.
#include "commands/work/work.h"

#include <gtest/gtest.h>
#include <thread>

#include "commands/framework/manifests.h"
#include "core/api/kinds.h"
#include "core/work/rules/names.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::commands {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: default\ndata: {v: '1'}\n";

class WorkCommands : public testing::Test {
 protected:
  WorkCommands() {
    register_work(registry_);
    for (const char* name : {"c1", "c2"}) {
      Json cluster{{"apiVersion", "cluster.open-cluster-management.io/v1"},
                   {"kind", "ManagedCluster"},
                   {"metadata", {{"name", name}, {"labels", {{"env", "dev"}}}}}};
      hub_->put(api::managed_clusters(), cluster);
    }
  }
  Result<Report> run(const std::string& path, const Flags& flags, const std::vector<std::string>& args = {"web"}) {
    return testkit::run_command(registry_, path, context_, flags, args);
  }
  std::string file(const std::string& text, const std::string& name = "web.yaml") { return folder_.write(name, text); }
  std::optional<Json> work(const std::string& cluster) { return hub_->get(api::manifest_works(), cluster, "web"); }
  void placement(const std::string& name) {
    hub_->put(api::placements(), {{"apiVersion", "cluster.open-cluster-management.io/v1beta1"},
                                  {"kind", "Placement"},
                                  {"metadata", {{"name", name}, {"namespace", "default"}}}});
  }
  std::optional<Json> set() { return hub_->get(api::manifest_work_replica_sets(), "default", "web"); }

  std::shared_ptr<testkit::FakeApi> hub_ = testkit::FakeApi::make();
  testkit::FakeContext context_{hub_->client()};
  testkit::TemporaryFolder folder_{"work-commands"};
  Registry registry_;
};

TEST_F(WorkCommands, CreatesForEachClusterAndIsHonestAboutTheMissing) {
  const auto report = run("work create", {{"filename", file(kMap)}, {"clusters", "c1,c9,c2"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->lines, (std::vector<std::string>{"work web created for cluster c1", "work web created for cluster c2"}));
  ASSERT_EQ(report->failures.size(), 1U);
  EXPECT_EQ(report->failures[0].cluster, "c9");
  EXPECT_EQ(report->failures[0].category, Category::kNotFound);
  EXPECT_EQ(name_of(list_at(*work("c2"), {"spec", "workload", "manifests"})[0]), "a");
}

TEST_F(WorkCommands, CreateLeavesWhatExistsAndApplyIsIdempotent) {
  const std::string manifests = file(kMap);
  ASSERT_TRUE(run("work create", {{"filename", manifests}, {"selector", "env=dev"}}));
  Json configured = *work("c1");
  configured["spec"]["deleteOption"] = {{"propagationPolicy", "Orphan"}};
  hub_->put(api::manifest_works(), configured);
  const int written = hub_->write_count();
  const auto rerun = run("work create", {{"filename", manifests}, {"clusters", "c1"}});
  ASSERT_TRUE(rerun) << "the same call again";
  EXPECT_EQ(rerun->lines[0], "work web unchanged for cluster c1");
  EXPECT_EQ(hub_->write_count(), written);
  const auto again =
      run("work create",
          {{"filename", file(std::string(kMap) + "---\n" + "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n", "more.yaml")},
           {"clusters", "c1"}});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().category, Category::kConflict);
  EXPECT_NE(again.error().hint.find("work apply"), std::string::npos);
  const int before = hub_->write_count();
  const auto same = run("work apply", {{"filename", manifests}, {"selector", "env=dev"}});
  ASSERT_TRUE(same);
  EXPECT_EQ(same->lines[0], "work web unchanged for cluster c1");
  EXPECT_EQ(hub_->write_count(), before);
  const auto other =
      run("work apply", {{"filename", file(std::string(kMap) + "---\n" + "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n")},
                         {"clusters", "c1"}});
  ASSERT_TRUE(other);
  EXPECT_EQ(other->lines[0], "work web configured for cluster c1");
  EXPECT_EQ(list_at(*work("c1"), {"spec", "workload", "manifests"}).size(), 2U);
  EXPECT_EQ(str(*work("c1"), {"spec", "deleteOption", "propagationPolicy"}), "Orphan") << "the rest of the spec is others'";
}

TEST_F(WorkCommands, DeletingWhatIsGoneSucceeds) {
  placement("p");
  for (const Flags& flags : {Flags{{"clusters", "c1,c2"}}, Flags{{"all-clusters", "true"}}, Flags{{"placement", "default/p"}}}) {
    const auto gone = run("work delete", flags);
    ASSERT_TRUE(gone) << gone.error().message;
    EXPECT_TRUE(gone->failures.empty());
    EXPECT_TRUE(gone->lines.empty());
    ASSERT_FALSE(gone->notes.empty());
    EXPECT_NE(gone->notes[0].find("(nothing to delete)"), std::string::npos) << gone->notes[0];
  }
  EXPECT_EQ(hub_->write_count(), 0);
}

TEST_F(WorkCommands, APlacementGetsASet) {
  const Flags flags{{"filename", file(kMap)}, {"placement", "default/p"}};
  const auto missing = run("work create", flags);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().category, Category::kNotFound);
  EXPECT_EQ(hub_->write_count(), 0);
  placement("p");
  ASSERT_TRUE(run("work create", flags));
  ASSERT_TRUE(set());
  EXPECT_EQ(str(list_at(*set(), {"spec", "placementRefs"})[0], {"name"}), "p");
  Json changed = *set();
  changed["spec"]["placementRefs"][0]["rolloutStrategy"] = {{"type", "Progressive"}};
  hub_->put(api::manifest_work_replica_sets(), changed);
  ASSERT_TRUE(run("work apply", {{"filename", file("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n")}, {"placement", "p"}}));
  EXPECT_EQ(name_of(list_at(*set(), {"spec", "manifestWorkTemplate", "workload", "manifests"})[0]), "s");
  EXPECT_EQ(str(list_at(*set(), {"spec", "placementRefs"})[0], {"rolloutStrategy", "type"}), "Progressive")
      << "a rollout strategy is kept";
  const auto deleted = run("work delete", {{"placement", "p"}});
  ASSERT_TRUE(deleted);
  EXPECT_FALSE(set());
}

TEST_F(WorkCommands, ASetGetsTheRolloutThatTheFlagsAskFor) {
  placement("p");
  placement("q");
  Json grouped = *hub_->get(api::placements(), "default", "p");
  at_or_make(grouped, {"spec", "decisionStrategy", "groupStrategy", "decisionGroups"}) =
      Json::array({{{"groupName", "canary"}}, {{"groupName", "early"}}});
  hub_->put(api::placements(), grouped);
  const auto strategy = [this] { return object_at(list_at(*set(), {"spec", "placementRefs"})[0], {"rolloutStrategy"}); };
  const std::string manifests = file(kMap);
  const auto made = run("work create", {{"filename", manifests},
                                        {"placement", "p"},
                                        {"max-concurrency", "25%"},
                                        {"max-failures", "1"},
                                        {"min-success-time", "90s"},
                                        {"progress-deadline", "10m"},
                                        {"first", "canary,early"}});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(strategy(), Json({{"type", "Progressive"},
                              {"progressive",
                               {{"maxConcurrency", "25%"},
                                {"maxFailures", 1},
                                {"minSuccessTime", "1m30s"},
                                {"progressDeadline", "10m"},
                                {"mandatoryDecisionGroups", {{{"groupName", "canary"}}, {{"groupName", "early"}}}}}}}));
  const Json before = strategy();
  ASSERT_TRUE(run("work apply", {{"filename", manifests}, {"placement", "p"}}));
  EXPECT_EQ(strategy(), before) << "no flags: it stays";
  ASSERT_TRUE(run("work apply", {{"filename", manifests}, {"placement", "q"}}));
  EXPECT_EQ(strategy(), before) << "it goes along to another placement";
  ASSERT_TRUE(run("work apply", {{"filename", manifests}, {"placement", "q"}, {"max-failures", "2"}}));
  EXPECT_EQ(num(strategy(), {"progressive", "maxFailures"}), 2);
  EXPECT_EQ(str(strategy(), {"progressive", "maxConcurrency"}), "25%") << "a flag changes what it names, and no limit beside it";
  ASSERT_TRUE(run("work apply", {{"filename", manifests}, {"placement", "q"}, {"strategy", "per-group"}}));
  ASSERT_TRUE(run("work apply", {{"filename", manifests}, {"placement", "q"}, {"max-failures", "3"}}));
  EXPECT_EQ(str(strategy(), {"type"}), "ProgressivePerGroup");
  const auto changed = run("work apply", {{"filename", manifests}, {"placement", "q"}, {"strategy", "all"}});
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed->lines[0], "work web configured for placement default/q");
  EXPECT_EQ(str(strategy(), {"type"}), "All");
  const int writes = hub_->write_count();
  for (const Flags& wrong : {Flags{{"filename", manifests}, {"clusters", "c1"}, {"max-concurrency", "2"}},
                             Flags{{"filename", manifests}, {"placement", "p"}, {"max-concurrency", "two"}},
                             Flags{{"filename", manifests}, {"placement", "p"}, {"strategy", "all"}, {"max-failures", "2"}},
                             Flags{{"filename", manifests}, {"placement", "p"}, {"progress-deadline", "2d"}}}) {
    const auto refused = run("work apply", wrong);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().category, Category::kUsage);
  }
  EXPECT_EQ(hub_->write_count(), writes);
}

TEST_F(WorkCommands, WaitReadsBackAndNamesWhatBlocks) {
  const std::string manifests = file(kMap);
  ASSERT_TRUE(run("work create", {{"filename", manifests}, {"clusters", "c1"}}));
  const auto late = run("work apply", {{"filename", manifests}, {"clusters", "c1"}, {"wait", "applied"}, {"timeout", "10ms"}});
  ASSERT_TRUE(late);
  ASSERT_EQ(late->failures.size(), 1U);
  EXPECT_EQ(late->failures[0].category, Category::kTimeout);
  EXPECT_EQ(late->failures[0].message, "the agent has not reported it yet");
  EXPECT_EQ(late->exit_code, 6) << "not one came in time: a deadline, no partial failure";
  Json seen = *work("c1");
  const std::int64_t generation = num(seen, {"metadata", "generation"});
  seen["status"]["conditions"] = Json::array();
  for (const char* type : {"Applied", "Available"}) {
    seen["status"]["conditions"].push_back({{"type", type}, {"status", "True"}, {"observedGeneration", generation}});
  }
  hub_->put(api::manifest_works(), seen);
  const auto done = run("work apply", {{"filename", manifests}, {"clusters", "c1"}, {"wait", "available"}, {"timeout", "5s"}});
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->failures.empty());
  // As upstream's agents report it: nothing more can be waited for, and that is said.
  const auto silent = run("work apply", {{"filename", manifests}, {"clusters", "c1"}, {"wait", "ready"}, {"timeout", "5s"}});
  ASSERT_TRUE(silent);
  EXPECT_TRUE(silent->failures.empty());
  ASSERT_FALSE(silent->notes.empty());
  EXPECT_NE(silent->notes.back().find("Readiness is unknown on c1"), std::string::npos) << silent->notes.back();
  seen["status"]["conditions"].push_back({{"type", "work.fleetadm.io/Ready"},
                                          {"status", "False"},
                                          {"message", "0 of 3 replicas ready"},
                                          {"observedGeneration", generation}});
  hub_->put(api::manifest_works(), seen);
  const auto waited = run("work apply", {{"filename", manifests}, {"clusters", "c1"}, {"wait", "ready"}, {"timeout", "10ms"}});
  ASSERT_TRUE(waited);
  ASSERT_EQ(waited->failures.size(), 1U);
  EXPECT_EQ(waited->failures[0].message, "0 of 3 replicas ready");
  seen["status"]["conditions"].back()["status"] = "True";
  hub_->put(api::manifest_works(), seen);
  const auto ready = run("work apply", {{"filename", manifests}, {"clusters", "c1"}, {"wait", "ready"}, {"timeout", "5s"}});
  ASSERT_TRUE(ready);
  EXPECT_TRUE(ready->failures.empty() && ready->exit_code == 0);
}

TEST_F(WorkCommands, GetFindsByNameAndBySet) {
  placement("p");
  ASSERT_TRUE(run("work create", {{"filename", file(kMap)}, {"clusters", "c1"}}));
  Json child{
      {"apiVersion", "work.open-cluster-management.io/v1"},
      {"kind", "ManifestWork"},
      {"metadata",
       {{"name", "app-1a2b3"},
        {"namespace", "c2"},
        {"labels", {{std::string(work::kReplicaSetLabel), "default.app"}, {std::string(work::kPlacementNameLabel), "p"}}}}}};
  hub_->put(api::manifest_works(), child);
  auto all = run("work get", {}, {});
  ASSERT_TRUE(all);
  ASSERT_EQ(all->table->rows.size(), 2U);
  EXPECT_EQ(all->table->rows[1][6], "p");
  EXPECT_EQ(run("work get", {}, {"app"})->table->rows.size(), 1U);
  EXPECT_EQ(run("work get", {{"cluster", "c1"}}, {})->table->rows.size(), 1U);
  const auto none = run("work get", {}, {"nope"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().category, Category::kNotFound);
}

TEST_F(WorkCommands, DeleteSparesWhatASetWouldMakeAgain) {
  ASSERT_TRUE(run("work create", {{"filename", file(kMap)}, {"clusters", "c1"}}));
  Json child = *work("c1");
  child["metadata"] = {{"name", "web"}, {"namespace", "c2"}, {"labels", {{std::string(work::kReplicaSetLabel), "default.web"}}}};
  hub_->put(api::manifest_works(), child);
  const auto report = run("work delete", {{"all-clusters", "true"}, {"wait", "true"}});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->lines, (std::vector<std::string>{"work web deleted from cluster c1"}));
  ASSERT_EQ(report->failures.size(), 1U);
  EXPECT_EQ(report->failures[0].cluster, "c2");
  EXPECT_NE(report->failures[0].hint.find("--placement"), std::string::npos);
  EXPECT_FALSE(work("c1"));
  EXPECT_TRUE(work("c2"));
}

TEST_F(WorkCommands, BadInputIsRefusedBeforeAnythingIsSent) {
  struct Case {
    std::string text;
    std::string message;
  };
  const std::string two = std::string(kMap) + "---\n" + kMap;
  const Case cases[] = {
      {"", "no manifests found"},
      {"- 1\n", "not a Kubernetes object"},
      {"kind: ConfigMap\nmetadata: {name: a}\n", "no apiVersion or kind"},
      {"apiVersion: v1\nkind: ConfigMap\n", "no metadata.name"},
      {"apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n", "generateName"},
      {two, "bad.yaml:8: v1 ConfigMap default/a is already in"},
      {"a: [1\nb: 2\n", "line 2"},
      {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: " + std::string(600 * 1024, 'x') + "}\n", "500 KiB"}};
  for (const Case& one : cases) {
    const auto report = run("work create", {{"filename", file(one.text, "bad.yaml")}, {"clusters", "c1"}});
    ASSERT_FALSE(report) << one.message;
    EXPECT_NE(report.error().message.find(one.message), std::string::npos) << report.error().message;
  }
  EXPECT_FALSE(run("work create", {{"filename", file(kMap)}}));
  EXPECT_FALSE(run("work create", {{"filename", file(kMap)}, {"clusters", "c1"}, {"placement", "p"}}));
  EXPECT_FALSE(run("work create", {{"filename", file(kMap)}, {"clusters", "c1"}}, {"Not_A_Name"}));
  EXPECT_FALSE(run("work create", {{"filename", "https://example.com/x.yaml"}, {"clusters", "c1"}}));
  EXPECT_EQ(hub_->write_count(), 0);
}

TEST_F(WorkCommands, ManifestsComeFromFoldersStdinAndLists) {
  file(kMap, "b.yaml");
  file(R"({"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}]})",
       "a.json");
  file("not a manifest", "README.md");
  context_.screen.input = "apiVersion: v1\nkind: Namespace\nmetadata: {name: n}\n";
  const auto loaded = load_manifests(context_, {folder_.path().string(), "-"});
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_EQ(loaded->size(), 3U);
  EXPECT_EQ(str((*loaded)[0].object, {"kind"}), "Secret");
  EXPECT_EQ((*loaded)[2].where(), "stdin:1");
}

TEST_F(WorkCommands, AMalformedManifestIsAUsageErrorThatNamesFileAndLine) {
  for (const auto& [text, line] :
       {std::pair{"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"x\n", "line 4"}, std::pair{"a: 1\nb: [\n", "line 3"}}) {
    const std::string path = file(text, "broken.yaml");
    const auto loaded = load_manifests(context_, {path});
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().category, Category::kUsage);
    EXPECT_NE(loaded.error().message.find(path + ": "), std::string::npos) << loaded.error().message;
    EXPECT_NE(loaded.error().message.find(line), std::string::npos) << loaded.error().message;
  }
  const std::string path = file("apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n---\napiVersion: v1\n", "half.yaml");
  const auto loaded = load_manifests(context_, {path});
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto checked = check_manifests(*loaded);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().category, Category::kUsage);
  EXPECT_TRUE(checked.error().message.starts_with(path + ":5: ")) << checked.error().message;
}

TEST_F(WorkCommands, ADryRunWritesNothing) {
  auto gate = std::make_shared<kube::WriteGate>();
  gate->dry_run = kube::DryRun::kClient;
  testkit::FakeContext dry(hub_->client(gate));
  const auto report = testkit::run_command(registry_, "work create", dry,
                                           {{"filename", file(kMap)}, {"clusters", "c1"}, {"wait", "available"}}, {"web"});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(hub_->write_count(), 0);
}

TEST_F(WorkCommands, ADryRunTellsWhatWouldBe) {
  ASSERT_TRUE(run("work create", {{"filename", file(kMap)}, {"clusters", "c1"}}));
  const std::string other = file("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n", "other.yaml");
  for (const kube::DryRun mode : {kube::DryRun::kClient, kube::DryRun::kServer}) {
    auto gate = std::make_shared<kube::WriteGate>();
    gate->dry_run = mode;
    testkit::FakeContext dry(hub_->client(gate));
    const auto told = [&](const std::string& manifests) {
      const auto report =
          testkit::run_command(registry_, "work apply", dry, {{"filename", manifests}, {"clusters", "c1"}}, {"web"});
      return report ? report->lines.at(0) : report.error().message;
    };
    const std::string mark = mode == kube::DryRun::kClient ? " (dry run)" : " (server dry run)";
    EXPECT_EQ(told(other), "work web configured for cluster c1" + mark);
    EXPECT_EQ(told(file(kMap)), "work web unchanged for cluster c1" + mark);
    EXPECT_EQ(name_of(list_at(*work("c1"), {"spec", "workload", "manifests"})[0]), "a");
  }
}

}  // namespace
}  // namespace fleetadm::commands
