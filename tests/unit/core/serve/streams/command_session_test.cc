// A session of exec without a server: its deadlines, and what it holds back.
#include "core/serve/streams/command_session.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <thread>

#include "tests/support/stream_clients.h"

namespace fleetadm::serve {
namespace {

using namespace std::chrono_literals;
using testkit::cut_websocket_frame;
using testkit::SpdyClient;
using testkit::websocket_frame;

/// What a test says of the command.
struct Script {
  std::string output;
  bool over = false;
  std::size_t takes = 1000;  // bytes of input at a time
  std::string input;
  bool input_ended = false;
  int columns = 0;
};

class ScriptedEnd final : public ExecTarget {
 public:
  explicit ScriptedEnd(Script& script) : script_(script) {}
  void begin(const WatchDescriptor&) override {}
  std::size_t take_input(std::string_view bytes) override {
    const auto size = std::min(bytes.size(), script_.takes);
    script_.input += bytes.substr(0, size);
    return size;
  }
  void end_input() override { script_.input_ended = true; }
  void resize(int columns, int) override { script_.columns = columns; }
  BodyStream::More read(Channel channel, std::string& into, std::size_t most) override {
    if (channel == Channel::kOutput && !script_.output.empty()) {
      into += script_.output.substr(0, most);
      script_.output.erase(0, most);
      return BodyStream::More::kYes;
    }
    return script_.over ? BodyStream::More::kEnd : BodyStream::More::kLater;
  }
  Json outcome() override { return exit_status(3); }

 private:
  Script& script_;
};

constexpr ChannelsWanted kAll{true, true, true, false};

class Sessions : public ::testing::Test {
 protected:
  std::unique_ptr<CommandSession> websocket(const CommandSessionLimits& limits = {}) {
    return std::make_unique<CommandSession>(make_websocket_channels(kAll, true), std::make_unique<ScriptedEnd>(script_), kAll,
                                            limits);
  }
  static BodyStream::More read(CommandSession& session, std::string& into) { return session.read(into, 64 * 1024); }
  static std::string said(int channel, std::string_view data) {
    return websocket_frame(2, std::string(1, static_cast<char>(channel)) + std::string(data));
  }
  Script script_;
};

TEST_F(Sessions, EndWithAStatusAndTheClientsGoodbye) {
  const auto session = websocket();
  script_.output = "hello";
  script_.over = true;
  std::string bytes;
  EXPECT_EQ(read(*session, bytes), BodyStream::More::kYes);
  std::string all;
  unsigned closed = 0;
  while (const auto frame = cut_websocket_frame(bytes)) {
    if (frame->opcode == 8) closed = 1;
    all += frame->payload.substr(1) + "|";
  }
  EXPECT_EQ(closed, 1U);
  EXPECT_TRUE(all.starts_with("|hello|{")) << all;
  EXPECT_EQ(read(*session, bytes), BodyStream::More::kLater);  // for the goodbye
  EXPECT_FALSE(session->take(websocket_frame(8, std::string("\x03\xe8"))));
  EXPECT_EQ(read(*session, bytes), BodyStream::More::kEnd);
}

TEST_F(Sessions, DoNotWaitForAGoodbyeForever) {
  const auto session = websocket({.times = {.leave = 20ms}});
  script_.over = true;
  std::string bytes;
  EXPECT_EQ(read(*session, bytes), BodyStream::More::kYes);
  std::this_thread::sleep_for(30ms);
  EXPECT_EQ(read(*session, bytes), BodyStream::More::kEnd);
}

TEST_F(Sessions, DoNotWaitForStreamsForever) {
  CommandSession session(make_spdy_channels(kAll), std::make_unique<ScriptedEnd>(script_), kAll, {.open = 200ms});
  script_.output = "not yet";
  SpdyClient client;
  EXPECT_TRUE(session.take(client.open(1, {{"streamtype", "error"}})));
  std::string bytes;
  EXPECT_EQ(read(session, bytes), BodyStream::More::kYes);  // the reply
  EXPECT_EQ(read(session, bytes), BodyStream::More::kLater);
  EXPECT_EQ(script_.output, "not yet");
  std::this_thread::sleep_for(250ms);
  EXPECT_EQ(read(session, bytes), BodyStream::More::kEnd);
}

TEST_F(Sessions, EndWhenNothingMoves) {
  const auto session = websocket({.times = {.idle = 200ms}});
  std::string bytes;
  read(*session, bytes);
  std::this_thread::sleep_for(250ms);
  EXPECT_TRUE(session->take(said(0, "x")));
  EXPECT_EQ(read(*session, bytes), BodyStream::More::kLater);
  std::this_thread::sleep_for(250ms);
  EXPECT_EQ(read(*session, bytes), BodyStream::More::kEnd);
}

TEST_F(Sessions, SaySomethingWhileTheyAreSilent) {
  const auto session = websocket({.times = {.keep_alive = 20ms}});
  std::string bytes;
  read(*session, bytes);
  bytes.clear();
  std::this_thread::sleep_for(30ms);
  EXPECT_EQ(read(*session, bytes), BodyStream::More::kYes);
  EXPECT_EQ(cut_websocket_frame(bytes)->opcode, 9U);
}

TEST_F(Sessions, HoldInputBackThatIsNotTaken) {
  const auto session = websocket({.waiting = 100});
  script_.takes = 0;
  EXPECT_TRUE(session->takes());
  EXPECT_TRUE(session->take(said(0, std::string(150, 'x')) + said(255, std::string(1, '\0'))));
  EXPECT_FALSE(session->takes());
  script_.takes = 60;
  std::string bytes;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(script_.input_ended);
    read(*session, bytes);
  }
  EXPECT_TRUE(session->takes());
  EXPECT_EQ(script_.input.size(), 150U);
  EXPECT_TRUE(script_.input_ended);
}

TEST_F(Sessions, HoldBackAClientThatOnlyAsks) {
  const auto session = websocket();
  const std::string ping = websocket_frame(9, std::string(125, 'x'));
  int asked = 0;
  while (session->takes() && asked < 10'000) {
    EXPECT_TRUE(session->take(ping));
    ++asked;
  }
  EXPECT_LT(asked, 10'000);
  std::string bytes;
  read(*session, bytes);
  EXPECT_TRUE(session->takes());
}

TEST_F(Sessions, ReadSizesInAnyPieces) {
  const auto session = websocket();
  for (const char* piece : {R"({"Width")", R"(:120,"Height":40}{"Wi)", R"(dth":80,"Height":)"})
    EXPECT_TRUE(session->take(said(4, piece)));
  EXPECT_EQ(script_.columns, 120);
  EXPECT_TRUE(session->take(said(4, "24}")));
  EXPECT_EQ(script_.columns, 80);
  EXPECT_TRUE(session->take(said(4, std::string(5000, 'x'))));  // nonsense is dropped
  EXPECT_TRUE(session->take(said(4, R"({"Width":-7}{"Width":1e9,"Height":1})")));
  EXPECT_EQ(script_.columns, 0xffff);
}

}  // namespace
}  // namespace fleetadm::serve
