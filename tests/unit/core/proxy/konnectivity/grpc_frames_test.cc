#include "core/proxy/konnectivity/grpc_frames.h"

#include <gtest/gtest.h>
#include <vector>

namespace fleetadm::konnectivity {
namespace {

using namespace std::string_literals;

TEST(GrpcFrames, GivesMessagesHoweverTheyCome) {
  std::string body;
  append_grpc_frame(body, "one");
  append_grpc_frame(body, "");
  append_grpc_frame(body, std::string(70'000, 'x'));
  ASSERT_EQ(body.substr(0, 8), "\0\0\0\0\3one"s);
  for (const std::size_t step : {std::size_t{1}, std::size_t{3}, std::size_t{4096}, body.size()}) {
    GrpcFrames frames(100'000);
    std::vector<std::string> messages;
    for (std::size_t at = 0; at < body.size(); at += step) {
      frames.feed(std::string_view(body).substr(at, step));
      while (true) {
        auto message = frames.next();
        ASSERT_TRUE(message) << message.error().message;
        if (!*message) break;
        messages.push_back(**message);
      }
    }
    EXPECT_EQ(messages, (std::vector<std::string>{"one", "", std::string(70'000, 'x')})) << step;
    EXPECT_EQ(frames.held(), 0U);
    EXPECT_TRUE(frames.end());
  }
}

TEST(GrpcFrames, RefusesALengthBeforeAnythingOfItHasCome) {
  GrpcFrames frames(1000);
  frames.feed("\0\xff\xff\xff\xff"s);
  const auto message = frames.next();
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().category, Category::kInvalid);
  EXPECT_NE(message.error().message.find("4294967295"), std::string::npos);
}

TEST(GrpcFrames, RefusesCompressedAndUnknownFlags) {
  GrpcFrames compressed(1000);
  compressed.feed("\1"s);
  const auto message = compressed.next();
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().category, Category::kUnsupported);
  GrpcFrames odd(1000);
  odd.feed("\2\0\0\0\0"s);
  EXPECT_FALSE(odd.next());
}

TEST(GrpcFrames, KnowsWhenABodyBreaksOff) {
  GrpcFrames frames(1000);
  frames.feed("\0\0\0\0\5hell"s);
  const auto message = frames.next();
  ASSERT_TRUE(message);
  EXPECT_FALSE(*message);
  EXPECT_FALSE(frames.end());
}

}  // namespace
}  // namespace fleetadm::konnectivity
