// Which image init deploys, and how: from the flags to the objects that the server is sent.
#include "commands/fleet/image_flags.h"

#include <gtest/gtest.h>

#include "commands/fleet/fleet.h"
#include "kubeclient/base/encoding.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::commands {
namespace {

const std::string kSomeDigest = "sha256:" + std::string(64, 'a');

class ImageFlagsTest : public ::testing::Test {
 protected:
  Result<DeployedImage> deployed(const ImageOptions& options) {
    FLEETADM_CHECK(validate_image_options(options));
    return deployed_image(context_, options, "ns");
  }
  std::shared_ptr<testkit::FakeApi> api_ = testkit::FakeApi::make();
  testkit::FakeContext context_{api_->client()};
  testkit::TemporaryFolder folder_{"image"};
};

TEST_F(ImageFlagsTest, TheImageIsTheDefaultOneOrOneOfARegistryOrAnother) {
  EXPECT_EQ(deployed({})->image, "fleetadm:" FLEETADM_VERSION);
  EXPECT_EQ(deployed({.registry = "r.example.com/team/"})->image, "r.example.com/team/fleetadm:" FLEETADM_VERSION);
  EXPECT_EQ(deployed({.image = "r.example.com/f@" + kSomeDigest})->image, "r.example.com/f@" + kSomeDigest);
}

TEST_F(ImageFlagsTest, WhatIsNoImageIsRefused) {
  for (const ImageOptions& wrong : {ImageOptions{.image = "r.example.com/F:1"}, ImageOptions{.image = "f@sha256:1"},
                                    ImageOptions{.image = "f", .registry = "r.example.com"},
                                    ImageOptions{.registry = "https://r.example.com"}, ImageOptions{.secrets = {"No_Name"}}}) {
    const auto result = deployed(wrong);
    ASSERT_FALSE(result) << wrong.image << wrong.registry;
    EXPECT_EQ(result.error().category, Category::kUsage) << result.error().message;
  }
}

TEST_F(ImageFlagsTest, OnlyTheLoginOfTheImagesRegistryIsStored) {
  ImageOptions options{.registry = "r.example.com"};
  options.credential_file =
      folder_.write("docker.json", "{\"auths\":{\"r.example.com\":{\"auth\":\"" + base64_encode("me:pass") +
                                       "\"},\"other.example.com\":{\"auth\":\"" + base64_encode("me:other") + "\"}}}");
  const auto image = deployed(options);
  ASSERT_TRUE(image) << image.error().message;
  ASSERT_TRUE(image->secret);
  EXPECT_EQ(image->pull.secrets, std::vector<std::string>{name_of(*image->secret)});
  const std::string stored = *base64_decode(str(*image->secret, {"data", ".dockerconfigjson"}));
  EXPECT_NE(stored.find(base64_encode("me:pass")), std::string::npos);
  EXPECT_EQ(stored.find("other"), std::string::npos);

  options.registry = "third.example.com";
  const auto none = deployed(options);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("has no user name and password for third.example.com"), std::string::npos);
}

TEST_F(ImageFlagsTest, NodesThatCannotGetTheImageAreNamedBefore) {
  const auto warned = [&](const ImageOptions& options) {
    context_.steps.told.clear();
    warn_of_missing_image(context_, api_->client(), *deployed(options));
    return context_.steps.told.empty() ? std::string() : context_.steps.told.front();
  };
  EXPECT_EQ(warned({}), "");  // a cluster without nodes tells nothing
  const Json node{{"apiVersion", "v1"},
                  {"kind", "Node"},
                  {"metadata", {{"name", "n1"}}},
                  {"status", {{"nodeInfo", {{"containerRuntimeVersion", "containerd://1.7.0"}}}}}};
  api_->put(kube::resources::nodes(), node);
  EXPECT_NE(warned({}).find("no node lists the image fleetadm:" FLEETADM_VERSION ", and no registry is named for it"),
            std::string::npos)
      << warned({});
  EXPECT_EQ(warned({.registry = "r.example.com"}), "");  // it may be there
  EXPECT_NE(warned({.registry = "r.example.com", .policy = "Never"}).find("Never forbids pulling it"), std::string::npos);

  Json second = node;
  second["metadata"]["name"] = "n2";
  second["status"]["images"] = Json::array({{{"names", Json::array({"docker.io/library/fleetadm:" FLEETADM_VERSION})}}});
  api_->put(kube::resources::nodes(), second);
  EXPECT_NE(warned({}).find("node n1 does not list the image"), std::string::npos) << warned({});
}

}  // namespace
}  // namespace fleetadm::commands
