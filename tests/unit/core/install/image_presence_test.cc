#include "core/install/image_presence.h"

#include <gtest/gtest.h>

#include "tests/support/fake_api.h"

namespace fleetadm::install {
namespace {

const std::string kImage = "docker.io/library/fleetadm:v1";

Json node(const std::string& name, const std::vector<std::string>& images, const std::string& runtime = "containerd://1.7.0") {
  Json listed = Json::array();
  for (const std::string& image : images) listed.push_back({{"names", Json::array({"r@sha256:00", image})}, {"sizeBytes", 1}});
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata", {{"name", name}}},
          {"spec", Json::object()},
          {"status", {{"images", std::move(listed)}, {"nodeInfo", {{"containerRuntimeVersion", runtime}}}}}};
}

TEST(ImagePresenceTest, NodesThatCanTellAreAsked) {
  Json cordoned = node("cordoned", {});
  cordoned["spec"]["unschedulable"] = true;
  const Json nodes{
      {"items", Json::array({node("a", {"x:1", kImage}), node("b", {"x:1", kImage + "2"}), cordoned, node("c", {}),
                             node("sandbox", {}, "process://v1"), node("full", std::vector<std::string>(50, "x:1"))})}};
  const ImagePresence presence = image_presence(nodes, kImage);
  EXPECT_EQ(presence.with, 1U);
  EXPECT_EQ(presence.without, (std::vector<std::string>{"b", "c"}));
}

TEST(ImagePresenceTest, TheClusterIsAskedOnce) {
  const auto api = testkit::FakeApi::make();
  api->put(kube::resources::nodes(), node("a", {kImage}));
  const auto presence = image_presence(api->client(), kImage);
  ASSERT_TRUE(presence) << presence.error().message;
  EXPECT_EQ(presence->with, 1U);
  EXPECT_TRUE(presence->without.empty());
}

}  // namespace
}  // namespace fleetadm::install
