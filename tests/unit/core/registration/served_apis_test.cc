// The APIs that a cluster serves: what a discovery that failed, or saw a part, does not take.
#include "core/registration/agent/served_apis.h"

#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "core/api/served_apis.h"
#include "core/controller/controller.h"
#include "tests/support/fake_api.h"

namespace fleetadm::registration::agent {
namespace {

using Names = std::vector<std::string>;

kube::Discovery discovery_of(const std::vector<std::pair<std::string, std::string>>& kinds, Names failed = {}) {
  kube::Discovery found;
  for (const auto& [group_version, kind] : kinds) {
    const auto slash = group_version.find('/');
    kube::DiscoveredResource one;
    one.resource.group = slash == std::string::npos ? "" : group_version.substr(0, slash);
    one.resource.version = slash == std::string::npos ? group_version : group_version.substr(slash + 1);
    one.resource.kind = kind;
    found.resources.push_back(one);
  }
  found.failed_groups = std::move(failed);
  return found;
}

Names names_in(const Json& status) {
  Names names;
  for (const Json& one : list_at(status, {"scores"})) names.push_back(str(one, {"name"}));
  return names;
}

std::string reason_in(const Json& status) {
  const Json object{{"status", status}};
  const Json* condition = controller::find_condition(object, api::kApisComplete);
  return condition == nullptr ? "" : str(*condition, {"status"}) + " " + str(*condition, {"reason"});
}

class ServedApis : public testing::Test {
 protected:
  Instant now_ = *parse_time("2026-03-01T12:00:00Z");
  Json all_ = served_apis_status(
      Json::object(), discovery_of({{"v1", "Pod"}, {"apps/v1", "Deployment"}, {"apps/v1", "Deployment"}, {"metrics/v1", "Node"}}),
      now_);
};

TEST_F(ServedApis, EachIsNamedOnceAsObjectsNameIt) {
  EXPECT_EQ(names_in(all_), (Names{"apps/v1/Deployment", "metrics/v1/Node", "v1/Pod"}));
  EXPECT_EQ(reason_in(all_), "True Complete");
  for (const Json& one : list_at(all_, {"scores"})) EXPECT_EQ(num(one, {"value"}), 1);
}

TEST_F(ServedApis, OnlyACompleteDiscoveryTakesSomething) {
  const Json partial = served_apis_status(all_, discovery_of({{"v1", "Pod"}, {"v1", "Secret"}}, {"metrics/v1"}), now_);
  EXPECT_EQ(names_in(partial), (Names{"apps/v1/Deployment", "metrics/v1/Node", "v1/Pod", "v1/Secret"}));
  EXPECT_EQ(reason_in(partial), "False Partial");
  EXPECT_NE(dump_json(partial).find("metrics/v1"), std::string::npos) << "which could not be read is told";
  const Json failed = served_apis_status(all_, fail(Category::kUnavailable, "away"), now_);
  EXPECT_EQ(names_in(failed), names_in(all_));
  EXPECT_EQ(reason_in(failed), "False DiscoveryFailed");
  EXPECT_NE(dump_json(failed).find("away"), std::string::npos);
  const Json mended = served_apis_status(partial, discovery_of({{"v1", "Pod"}}), now_);
  EXPECT_EQ(names_in(mended), Names{"v1/Pod"});
  EXPECT_EQ(reason_in(mended), "True Complete");
}

TEST_F(ServedApis, AClusterOfTooManyIsToldWhatFits) {
  std::vector<std::pair<std::string, std::string>> kinds;
  for (std::size_t i = 0; i <= kMostApis; ++i) kinds.emplace_back("v1", "K" + std::to_string(i));
  const Json status = served_apis_status(Json::object(), discovery_of(kinds), now_);
  EXPECT_EQ(names_in(status).size(), kMostApis);
  EXPECT_EQ(reason_in(status), "False TooMany");
}

TEST_F(ServedApis, NothingIsWrittenWhereNothingDiffers) {
  const auto hub = testkit::FakeApi::make();
  const auto member = testkit::FakeApi::make();
  member->on_request([](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    kube::Response answer;
    answer.status = 200;
    answer.body = call.path == "/api" ? R"({"kind":"APIVersions","versions":["v1"]})"
                  : call.path == "/apis"
                      ? R"({"kind":"APIGroupList","groups":[]})"
                      : R"({"kind":"APIResourceList","resources":[{"name":"pods","kind":"Pod","verbs":["get"]}]})";
    return answer;
  });
  const Json cluster{{"metadata", {{"name", "c1"}, {"uid", "u1"}}}};
  const auto publish = [&](Duration later) {
    return publish_served_apis(hub->client(), member->client(), cluster, now_ + later);
  };
  EXPECT_TRUE(publish(Duration::zero()).value_or(false));
  EXPECT_EQ(names_in(object_at(*hub->get(api::addon_placement_scores(), "c1", "served-apis"), {"status"})), Names{"v1/Pod"});
  const auto writes = hub->writes().size();
  EXPECT_TRUE(publish(std::chrono::hours(1)).value_or(false));
  EXPECT_EQ(hub->writes().size(), writes);
  member->on_request([](const testkit::ApiCall&) -> std::optional<kube::Response> {
    kube::Response answer;
    answer.status = 503;
    answer.body = "{}";
    return answer;
  });
  EXPECT_FALSE(publish(std::chrono::hours(2)).value_or(true));
  EXPECT_EQ(names_in(object_at(*hub->get(api::addon_placement_scores(), "c1", "served-apis"), {"status"})), Names{"v1/Pod"});
}

}  // namespace
}  // namespace fleetadm::registration::agent
