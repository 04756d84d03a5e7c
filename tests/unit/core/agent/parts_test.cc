// What of an agent is not ready.
#include "core/agent/parts.h"

#include <gtest/gtest.h>

namespace fleetadm::agent {
namespace {

TEST(Parts, TheFirstThatIsMissingIsToldUntilAllWereReady) {
  std::string works = "appliedmanifestworks is not synced: forbidden\nmanifestworks is not synced\n";
  std::string registration;
  Parts parts;
  parts.add("registration", [&] { return registration; });
  EXPECT_EQ(parts.not_ready(), "it is starting") << "others are still to come";
  parts.add("works", [&] { return works; });
  parts.complete();
  EXPECT_EQ(parts.not_ready(), "works: appliedmanifestworks is not synced: forbidden, manifestworks is not synced");
  registration = "managedclusters is not synced";
  EXPECT_TRUE(parts.not_ready().starts_with("registration: managedclusters is not synced; works: "));
  registration.clear();
  works.clear();
  EXPECT_EQ(parts.not_ready(), "");
  works = "lost";
  EXPECT_EQ(parts.not_ready(), "") << "a heartbeat that has begun goes on";
}

}  // namespace
}  // namespace fleetadm::agent
