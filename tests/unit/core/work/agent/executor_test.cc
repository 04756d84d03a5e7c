// Works with an executor: what it may not read is not published, and rights that change are noticed.
#include "core/work/agent/executor.h"

#include <gtest/gtest.h>
#include <thread>
#include <tuple>

#include "core/api/kinds.h"
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

constexpr const char* kExecutor =
    R"("executor": {"subject": {"type": "ServiceAccount", "serviceAccount": {"namespace": "n", "name": "sa"}}})";

std::string rules_for(const std::string& strategy) {
  return R"("manifestConfigs": [{"resourceIdentifier": {"group": "", "resource": "configmaps", "namespace": "default", "name": "a"},
      "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [{"name": "v", "path": ".data.v"}]}],
      "conditionRules": [{"type": "CEL", "condition": "Complete", "celExpressions": ["object.data.v == 'secret'"]}],
      "updateStrategy": {"type": ")" +
         strategy + "\"}}]";
}

class ExecutorWork : public ::testing::Test {
 protected:
  /// The executor may do what this verb list has.
  void allow(const std::string& verbs) {
    fleet.spoke->on_review([verbs](const Json& spec) {
      return (" " + verbs + " ").find(" " + str(spec, {"resourceAttributes", "verb"}) + " ") != std::string::npos;
    });
  }
  void put(const std::string& strategy) {
    fleet.hub->put(api::manifest_works(), work_of("w1", "[" + config_map("a", "mine") + "]",
                                                  std::string("{") + kExecutor + "," + rules_for(strategy) + "}"));
  }
  Json entry() const {
    const Json work = fleet.work("w1").value_or(Json());
    const Json& manifests = list_at(work, {"status", "resourceStatus", "manifests"});
    return manifests.empty() ? Json() : manifests[0];
  }
  std::string condition(const std::string& type, const std::string& member = "status") const {
    const Json now = entry();
    const Json* found = condition_in(list_at(now, {"conditions"}), type);
    return found == nullptr ? "<none>" : str(*found, {member});
  }
  Json feedback() const { return list_at(entry(), {"statusFeedback", "values"}); }
  /// Somebody's hand on a RoleBinding of the spoke.
  void touch_binding(const std::string& value) {
    fleet.spoke->put(kube::resources::role_bindings(),
                     parsed(R"({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "b", "namespace": "default"}, "x": ")" +
                            value + "\"}"));
  }

  static constexpr const char* kAll = "create update patch get delete";
  Fleet fleet;
};

class DeniedReader : public ExecutorWork, public ::testing::WithParamInterface<std::tuple<const char*, bool>> {};

TEST_P(DeniedReader, PublishesNothing) {
  const auto& [strategy, exists] = GetParam();
  if (exists) fleet.spoke->put(kube::resources::config_maps(), parsed(config_map("a", "secret")));
  allow("create update patch delete");
  put(strategy);
  fleet.start_agent();
  ASSERT_TRUE(eventually([&] { return fleet.condition("w1", "Applied") == "False"; }));
  EXPECT_EQ(condition("Available"), "Unknown");
  EXPECT_EQ(condition("Available", "reason"), "FetchingResourceFailed");
  EXPECT_EQ(condition("Complete"), "<none>");
  EXPECT_EQ(condition("StatusFeedbackSynced"), "False");
  EXPECT_TRUE(feedback().empty()) << dump_json(feedback());
  EXPECT_EQ(condition("Applied", "message"),
            "Failed to apply manifest: not allowed to apply the resource  configmaps, default a, will try again in 1m0s");
}

INSTANTIATE_TEST_SUITE_P(Executors, DeniedReader, ::testing::Combine(::testing::Values("Update", "ReadOnly"), ::testing::Bool()));

/// A manifest that is complete is only looked at: that needs the right to get, too.
TEST_F(ExecutorWork, ThatLosesTheRightToGetOfWhatIsCompleteTakesTheFeedbackBack) {
  fleet.spoke->put(kube::resources::config_maps(), parsed(config_map("a", "secret")));
  allow(kAll);
  put("ReadOnly");
  fleet.start_agent();
  ASSERT_TRUE(eventually([&] { return condition("Complete") == "True" && feedback().size() == 1; }));
  testing::settle(*fleet.hub, *fleet.spoke);
  allow("");
  touch_binding("1");
  EXPECT_TRUE(eventually([&] { return feedback().empty(); }));
  EXPECT_EQ(condition("Available"), "Unknown");
  EXPECT_EQ(condition("Complete"), "True") << "what has ended does not start again";
}

TEST_F(ExecutorWork, ThatMayReadButNotWriteReportsWhatItReads) {
  fleet.spoke->put(kube::resources::config_maps(), parsed(config_map("a", "theirs")));
  allow("get");
  put("Update");
  fleet.start_agent();
  ASSERT_TRUE(eventually([&] { return fleet.condition("w1", "Applied") == "False"; }));
  EXPECT_EQ(condition("Available"), "True");
  EXPECT_EQ(feedback().size(), 1U);
}

TEST_F(ExecutorWork, NoticesWithinSecondsThatRightsWereRevokedAndGranted) {
  allow(kAll);
  put("Update");
  fleet.start_agent();
  ASSERT_TRUE(eventually([&] { return fleet.is_applied("w1"); }));
  ASSERT_TRUE(eventually([&] { return feedback().size() == 1; }));
  testing::settle(*fleet.hub, *fleet.spoke);
  allow("");
  touch_binding("1");
  EXPECT_TRUE(eventually([&] { return fleet.condition("w1", "Applied") == "False"; }, std::chrono::seconds(5)));
  EXPECT_TRUE(feedback().empty()) << "what was published is taken back";
  allow(kAll);
  touch_binding("2");
  EXPECT_TRUE(eventually([&] { return fleet.is_applied("w1") && feedback().size() == 1; }, std::chrono::seconds(5)));
}

TEST_F(ExecutorWork, AnswersOfAnAuthorizerThatLagsAreAskedForAgain) {
  allow(kAll);
  put("Update");
  fleet.start_agent();
  ASSERT_TRUE(eventually([&] { return fleet.is_applied("w1"); }));
  testing::settle(*fleet.hub, *fleet.spoke);
  // The binding's change arrives before the authorizer knows of it.
  const auto known_from = std::chrono::steady_clock::now() + std::chrono::milliseconds(400);
  fleet.spoke->on_review([known_from](const Json&) { return std::chrono::steady_clock::now() < known_from; });
  touch_binding("1");
  EXPECT_TRUE(eventually([&] { return fleet.condition("w1", "Applied") == "False"; }, std::chrono::seconds(5)));
}

TEST_F(ExecutorWork, RestsWhileNoRightsChange) {
  allow(kAll);
  put("Update");
  fleet.start_agent();
  ASSERT_TRUE(eventually([&] { return fleet.is_applied("w1"); }));
  const auto reviews = [&] { return fleet.spoke->count("create", "subjectaccessreviews"); };
  int before = -1;
  ASSERT_TRUE(eventually([&] {
    const int now = reviews();
    const bool rests = now > 0 && now == before;
    before = now;
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    return rests;
  }));
}

/// An object of w1 that w2 names, too; what becomes of it when w1 goes.
class NamedTwice : public ExecutorWork {
 protected:
  void name_twice(const std::string& more) {
    fleet.hub->put(api::manifest_works(), work_of("w1", "[" + config_map("a", "1") + "]"));
    fleet.start_agent();
    ASSERT_TRUE(eventually([&] { return fleet.is_applied("w1"); }));
    fleet.hub->put(api::manifest_works(), work_of("w2", "[" + config_map("a", "1") + "]", more));
    ASSERT_TRUE(eventually([&] { return fleet.condition("w2", "Applied") != "<none>"; }));
    testing::settle(*fleet.hub, *fleet.spoke);
    fleet.remove_work("w1");
    ASSERT_TRUE(eventually([&] { return fleet.is_gone("w1"); }));
  }
  std::size_t owners() const {
    const auto object = fleet.config_map("a");
    return object ? list_at(*object, {"metadata", "ownerReferences"}).size() : 0;
  }
};

TEST_F(NamedTwice, IsDeletedWhereTheOtherMayNotApplyIt) {
  allow("");
  name_twice(std::string("{") + kExecutor + "}");
  EXPECT_FALSE(fleet.config_map("a"));
}

TEST_F(NamedTwice, IsDeletedWhereTheOtherOnlyReadsIt) {
  name_twice("{" + rules_for("ReadOnly") + "}");
  EXPECT_FALSE(fleet.config_map("a"));
}

TEST_F(NamedTwice, IsHandedOverToAnExecutorThatMay) {
  allow(kAll);
  name_twice(std::string("{") + kExecutor + "}");
  ASSERT_TRUE(fleet.config_map("a"));
  EXPECT_EQ(owners(), 1U);
}

TEST_F(NamedTwice, WaitsWhileRightsCannotBeAskedFor) {
  allow(kAll);
  fleet.hub->put(api::manifest_works(), work_of("w1", "[" + config_map("a", "1") + "]"));
  fleet.start_agent();
  ASSERT_TRUE(eventually([&] { return fleet.is_applied("w1"); }));
  fleet.spoke->on_request([](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    if (call.plural != "subjectaccessreviews") return std::nullopt;
    return kube::Response{503, {{"content-type", "application/json"}}, R"({"kind": "Status", "status": "Failure", "code": 503})"};
  });
  fleet.hub->put(api::manifest_works(), work_of("w2", "[" + config_map("a", "1") + "]", std::string("{") + kExecutor + "}"));
  ASSERT_TRUE(eventually([&] { return fleet.condition("w2", "Applied") == "False"; }));
  fleet.remove_work("w1");
  testing::settle(*fleet.hub, *fleet.spoke);
  EXPECT_TRUE(fleet.config_map("a")) << "neither deleted nor given away";
  EXPECT_EQ(owners(), 1U);
  EXPECT_FALSE(fleet.is_gone("w1"));
  fleet.spoke->on_request({});
  EXPECT_TRUE(eventually([&] { return fleet.is_gone("w1"); }, std::chrono::seconds(40)));
}

}  // namespace
}  // namespace fleetadm::work
