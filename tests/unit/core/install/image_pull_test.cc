#include "core/install/image_pull.h"

#include <gtest/gtest.h>

#include "kubeclient/base/encoding.h"
#include "templates/templates.h"

namespace fleetadm::install {
namespace {

std::vector<Json> hub_deployments() {
  std::vector<Json> objects;
  for (const char* file : {"hub/deployment.yaml", "hub/gateway.yaml"}) {
    auto rendered = templates::render(file, {{"image", "r/f@sha256:00"},
                                             {"replicas", 1},
                                             {"gateway_replicas", 1},
                                             {"args", Json::array()},
                                             {"gateway_args", Json::array()}});
    EXPECT_TRUE(rendered) << rendered.error().message;
    for (Json& object : *rendered) objects.push_back(std::move(object));
  }
  return objects;
}

TEST(ImagePullTest, EveryDeploymentGetsThePolicyAndTheSecrets) {
  std::vector<Json> objects = hub_deployments();
  set_image_pull(objects, {"Never", {"one", "two"}});
  int deployments = 0;
  for (const Json& object : objects) {
    if (str(object, {"kind"}) != "Deployment") {
      EXPECT_EQ(find(object, {"spec", "template"}), nullptr);
      continue;
    }
    ++deployments;
    const Json& pod = object_at(object, {"spec", "template", "spec"});
    EXPECT_EQ(pod["imagePullSecrets"], Json::array({{{"name", "one"}}, {{"name", "two"}}}));
    for (const Json& container : list_at(pod, {"containers"})) {
      EXPECT_EQ(str(container, {"imagePullPolicy"}), "Never");
      EXPECT_EQ(str(container, {"image"}), "r/f@sha256:00");
    }
  }
  EXPECT_EQ(deployments, 2);
}

TEST(ImagePullTest, NothingIsSaidWhereNothingIsAsked) {
  std::vector<Json> objects = hub_deployments();
  const std::vector<Json> before = objects;
  set_image_pull(objects, {});
  EXPECT_EQ(objects, before);
}

TEST(ImagePullTest, ASecretHoldsOneLogin) {
  const Json secret = image_pull_secret("ns", "pull", "r.example.com", "me", "pass");
  EXPECT_EQ(str(secret, {"type"}), "kubernetes.io/dockerconfigjson");
  const auto text = base64_decode(str(secret, {"data", ".dockerconfigjson"}));
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "{\"auths\":{\"r.example.com\":{\"auth\":\"" + base64_encode("me:pass") + "\"}}}");
}

}  // namespace
}  // namespace fleetadm::install
