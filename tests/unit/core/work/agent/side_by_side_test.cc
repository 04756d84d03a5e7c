// The objects of one work are written side by side where they need nothing of each other, and in order where they do.
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

#include "core/api/kinds.h"
#include "core/work/rules/conditions.h"
#include "core/work/rules/manifest.h"
#include "tests/unit/core/work/fleet.h"

namespace fleetadm::work {
namespace {

using testing::config_map;
using testing::deployment;
using testing::eventually;
using testing::Fleet;
using testing::parsed;
using testing::work_of;

std::vector<std::vector<std::size_t>> batches_of(const std::string& manifests) {
  const auto resolve = [](const std::string& api_version, const std::string& kind) -> Result<kube::Resource> {
    const kube::GroupVersion gv = kube::parse_api_version(api_version);
    return kube::Resource{gv.group, gv.version, kind + "s", kind, true};
  };
  return apply_batches(decode_manifests(work_of("w", manifests), resolve));
}

std::string of(const std::string& kind, const std::string& name) {
  return R"({"apiVersion": "example.com/v1", "kind": ")" + kind + R"(", "metadata": {"name": ")" + name +
         R"(", "namespace": "n"}})";
}

using Batches = std::vector<std::vector<std::size_t>>;

TEST(ApplyBatches, FollowTheRanks) {
  EXPECT_EQ(batches_of("[" + of("Deployment", "a") + "," + of("ConfigMap", "a") + "," + of("Secret", "a") + "," +
                       of("Namespace", "n") + "," + of("CustomResourceDefinition", "d") + "," + of("Widget", "w") + "]"),
            (Batches{{3, 4}, {1, 2}, {0}, {5}}));
}

TEST(ApplyBatches, KeepRolesBeforeBindings) {
  EXPECT_EQ(batches_of("[" + of("ClusterRole", "a") + "," + of("ClusterRole", "b") + "," + of("ClusterRoleBinding", "a") + "," +
                       of("ClusterRoleBinding", "b") + "," + of("Role", "a") + "]"),
            (Batches{{0, 1}, {2, 3}, {4}}));
}

TEST(ApplyBatches, KeepTheOrderOfKindsWhoseNeedsAreUnknown) {
  EXPECT_EQ(
      batches_of("[" + of("Issuer", "a") + "," + of("Widget", "a") + "," + of("Widget", "b") + "," + of("Issuer", "b") + "]"),
      (Batches{{0}, {1, 2}, {3}}));
}

TEST(ApplyBatches, HaveAnObjectOnce) {
  EXPECT_EQ(batches_of("[" + of("ConfigMap", "a") + "," + of("ConfigMap", "b") + "," + of("ConfigMap", "a") + "]"),
            (Batches{{1, 2}}));
}

TEST(ApplyBatches, AreBounded) {
  std::string many = "[" + of("ConfigMap", "m0");
  for (std::size_t i = 1; i < 2 * kBatchLimit + 1; ++i) many += "," + of("ConfigMap", "m" + std::to_string(i));
  const Batches batches = batches_of(many + "]");
  ASSERT_EQ(batches.size(), 3U);
  EXPECT_EQ(batches[0].size(), kBatchLimit);
  EXPECT_EQ(batches[2].size(), 1U);
}

/// Notes when requests for objects begin and end on the spoke.
class Spans {
 public:
  explicit Spans(testkit::FakeApi& api) {
    api.on_request([this](const testkit::ApiCall& call) -> std::optional<kube::Response> {
      if (call.verb != "create" || call.plural == "appliedmanifestworks") return std::nullopt;
      {
        const std::lock_guard lock(mutex_);
        begun_.push_back(call.plural);
        most_ = std::max(most_, ++running_);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      const std::lock_guard lock(mutex_);
      --running_;
      return std::nullopt;
    });
  }
  int most() const {
    const std::lock_guard lock(mutex_);
    return most_;
  }
  std::vector<std::string> begun() const {
    const std::lock_guard lock(mutex_);
    return begun_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> begun_;
  int running_ = 0;
  int most_ = 0;
};

std::string twelve_maps() {
  std::string manifests;
  for (int i = 0; i < 12; ++i) manifests += config_map("m" + std::to_string(i), "1") + ",";
  return manifests;
}

TEST(SideBySide, WritesAtOnceWithinTheBoundAndReportsInTheOrderOfTheSpec) {
  Fleet fleet;
  Spans spans(*fleet.spoke);
  fleet.hub->put(api::manifest_works(),
                 work_of("w1", "[" + deployment("web", 1) + "," + twelve_maps() +
                                   R"({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}])"));
  fleet.start_agent();
  ASSERT_TRUE(eventually([&] { return fleet.is_applied("w1"); }));
  testing::settle(*fleet.hub, *fleet.spoke);
  fleet.stop_agent();
  EXPECT_GT(spans.most(), 1);
  EXPECT_LE(spans.most(), 5);
  const std::vector<std::string> begun = spans.begun();
  ASSERT_EQ(begun.size(), 14U);  // no request more than objects
  EXPECT_EQ(begun.front(), "namespaces");
  EXPECT_EQ(begun.back(), "deployments");
  const Json& manifests = list_at(*fleet.work("w1"), {"status", "resourceStatus", "manifests"});
  ASSERT_EQ(manifests.size(), 14U);
  for (std::size_t i = 0; i < manifests.size(); ++i) {
    EXPECT_EQ(num(manifests[i], {"resourceMeta", "ordinal"}), static_cast<std::int64_t>(i));
    EXPECT_TRUE(is_true(list_at(manifests[i], {"conditions"}), "Applied")) << i;
  }
  EXPECT_EQ(fleet.hub->count("patch", "manifestworks"), 2);  // the finalizer, the status
  EXPECT_EQ(fleet.spoke->count("patch", "appliedmanifestworks"), 1);
}

TEST(SideBySide, AFailureStopsNoOther) {
  Fleet fleet;
  fleet.spoke->on_request([](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    if (call.verb != "create" || call.plural != "configmaps" || name_of(call.body) != "m3") return std::nullopt;
    return kube::Response{
        403,
        {{"content-type", "application/json"}},
        R"({"kind": "Status", "status": "Failure", "reason": "Forbidden", "message": "not this one", "code": 403})"};
  });
  fleet.hub->put(api::manifest_works(), work_of("w1", "[" + twelve_maps() + deployment("web", 1) + "]"));
  fleet.start_agent();
  ASSERT_TRUE(eventually([&] { return fleet.condition("w1", "Applied") == "False"; }));
  const Json work = *fleet.work("w1");
  const Json& manifests = list_at(work, {"status", "resourceStatus", "manifests"});
  ASSERT_EQ(manifests.size(), 13U);
  for (std::size_t i = 0; i < manifests.size(); ++i) {
    EXPECT_EQ(is_true(list_at(manifests[i], {"conditions"}), "Applied"), i != 3) << i;
  }
  EXPECT_TRUE(fleet.config_map("m11"));
  EXPECT_TRUE(fleet.spoke->get(kube::resources::deployments(), "default", "web"));
}

TEST(SideBySide, AnObjectNamedTwiceEndsAsTheLaterOneSays) {
  Fleet fleet;
  fleet.hub->put(api::manifest_works(),
                 work_of("w1", "[" + config_map("a", "1") + "," + config_map("b", "1") + "," + config_map("a", "2") + "]"));
  fleet.start_agent();
  ASSERT_TRUE(eventually([&] { return fleet.is_applied("w1"); }));
  EXPECT_EQ(str(fleet.config_map("a").value_or(Json()), {"data", "v"}), "2");
}

}  // namespace
}  // namespace fleetadm::work
