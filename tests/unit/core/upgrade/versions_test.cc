// Versions in names of images, and which of them work together.
#include "core/upgrade/versions.h"

#include <gtest/gtest.h>

namespace fleetadm::upgrade {
namespace {

TEST(Versions, OnlyVersionsAreVersions) {
  EXPECT_EQ(parse_version("v1.2.3"), (Version{1, 2, 3}));
  EXPECT_EQ(parse_version("0.10.0-rc1"), (Version{0, 10, 0}));
  for (const char* text : {"", "v", "latest", "1.2", "v1.2.", "1.2.3.4", "v-1.2.3", "1.2.3x", "99999999999.0.0", "vv1.2.3"})
    EXPECT_FALSE(parse_version(text)) << text;
}

TEST(Versions, TheTagOfAnImageTells) {
  EXPECT_EQ(version_of("fleetadm:v0.1.0"), "v0.1.0");
  EXPECT_EQ(version_of("registry.example.com:5000/team/fleetadm:v0.1.0@sha256:abc"), "v0.1.0");
  EXPECT_EQ(version_of("registry.example.com:5000/team/fleetadm"), "") << "a port is no tag";
  EXPECT_EQ(version_of("fleetadm:latest"), "");
  EXPECT_EQ(version_of("fleetadm@sha256:abc"), "");
}

TEST(Versions, AnotherTagOfTheSameImage) {
  EXPECT_EQ(with_tag("fleetadm:v0.1.0", "v0.2.0").value(), "fleetadm:v0.2.0");
  EXPECT_EQ(with_tag("r.example:5000/team/fleetadm", "v0.2.0").value(), "r.example:5000/team/fleetadm:v0.2.0");
  EXPECT_EQ(with_tag("r.example/fleetadm:v1.0.0@sha256:abc", "v0.2.0").value(), "r.example/fleetadm:v0.2.0");
  const auto by_digest = with_tag("r.example/fleetadm@sha256:abc", "v0.2.0");
  ASSERT_FALSE(by_digest);
  EXPECT_EQ(by_digest.error().category, Category::kUsage);
}

TEST(Versions, AHubWorksWithItsOwnMinorVersionAndTheOneBefore) {
  EXPECT_EQ(skew_of("v0.2.0", "v0.2.0"), Skew::kSame);
  EXPECT_EQ(skew_of("v0.2.1", "v0.2.0"), Skew::kSupported);
  EXPECT_EQ(skew_of("v0.2.0", "v0.1.9"), Skew::kSupported);
  EXPECT_EQ(skew_of("v0.3.0", "v0.1.9"), Skew::kTooOld);
  EXPECT_EQ(skew_of("v1.0.0", "v0.9.0"), Skew::kTooOld);
  EXPECT_EQ(skew_of("v0.2.0", "v0.2.1"), Skew::kNewer);
  EXPECT_EQ(skew_of("v0.2.0", ""), Skew::kUnknown);
  EXPECT_EQ(skew_of("", "v0.2.0"), Skew::kUnknown);
}

}  // namespace
}  // namespace fleetadm::upgrade
