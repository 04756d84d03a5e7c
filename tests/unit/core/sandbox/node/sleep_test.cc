#include <gtest/gtest.h>

#include "core/sandbox/node/pod_status.h"

namespace fleetadm::sandbox {
namespace {

TEST(SleepOf, IsReadFromThePlainCommandOnly) {
  using std::chrono::seconds;
  const auto of = [](const Json& command, const Json& args = Json::array()) {
    return sleep_of({{"command", command}, {"args", args}});
  };
  EXPECT_EQ(of(Json::array({"sleep", "300"})), Duration(seconds(300)));
  EXPECT_EQ(of(Json::array({"/bin/sleep"}), Json::array({"5"})), Duration(seconds(5)));
  EXPECT_FALSE(of(Json::array({"sh", "-c", "sleep 300"})));
  EXPECT_FALSE(of(Json::array({"sleep", "a while"})));
  EXPECT_FALSE(of(Json::array({"sleep"})));
  EXPECT_FALSE(of(Json::array()));
  EXPECT_GT(*of(Json::array({"sleep", "9223372036854775807"})), Duration(seconds(1000000))) << "and no overflow";
}

}  // namespace
}  // namespace fleetadm::sandbox
