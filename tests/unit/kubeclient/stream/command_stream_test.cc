// exec with kubeclient's own end, through a sandbox server: output, input, exit codes, back-pressure, refusals.
#include "kubeclient/stream/command_stream.h"

#include <gtest/gtest.h>

#include "tests/support/stream_lab.h"

namespace fleetadm::kube {
namespace {

using namespace std::chrono_literals;
using testkit::StreamLab;

class CommandStreamTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    slot() = std::make_unique<StreamLab>();
    lab().add_pod("p", "exec sleep 1000");
  }
  static void TearDownTestSuite() { slot().reset(); }
  static std::unique_ptr<StreamLab>& slot() {
    static std::unique_ptr<StreamLab> the_lab;
    return the_lab;
  }
  static StreamLab& lab() { return *slot(); }

  static Result<std::unique_ptr<CommandStream>> open(const std::vector<std::string>& command, const Query& streams,
                                                     const std::string& user = "admin", const std::string& pod = "p") {
    Request request;
    request.path = "/api/v1/namespaces/default/pods/" + pod + "/exec";
    request.query = streams;
    for (const auto& word : command) request.query.emplace_back("command", word);
    return CommandStream::open(lab().config(user), request);
  }
  /// All that comes until the end: output, and errors in brackets.
  static std::string hear(CommandStream& stream) {
    std::string heard;
    while (!stream.over()) {
      const auto piece = stream.next(10s);
      if (!piece) return heard + "!" + piece.error().message;
      if (!*piece && !stream.over()) return heard + "!nothing";
      if (!*piece) break;
      heard += (*piece)->channel == Channel::kErrors ? "[" + (*piece)->bytes + "]" : (*piece)->bytes;
    }
    return heard;
  }
  const Query outputs_ = {{"stdout", "true"}, {"stderr", "true"}};
  const Query all_ = {{"stdin", "true"}, {"stdout", "true"}};
};

TEST_F(CommandStreamTest, GivesOutputAndTheExitCode) {
  auto stream = open({"sh", "-c", "echo out; sleep 0.05; echo err >&2"}, outputs_);
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_EQ(hear(**stream), "out\n[err\n]");
  EXPECT_EQ((*stream)->exit_code(), 0);
  auto failing = open({"sh", "-c", "exit 7"}, outputs_);
  ASSERT_TRUE(failing);
  EXPECT_EQ(hear(**failing), "");
  EXPECT_EQ((*failing)->exit_code(), 7);
}

TEST_F(CommandStreamTest, SendsInputToItsEnd) {
  auto stream = open({"sh", "-c", "wc -c; echo end"}, all_);
  ASSERT_TRUE(stream) << stream.error().message;
  const std::string much(3'000'000, 'x');
  for (std::string_view rest = much; !rest.empty();) {
    const auto taken = (*stream)->send_input(rest, 10s);
    ASSERT_TRUE(taken) << taken.error().message;
    ASSERT_GT(*taken, 0U);
    rest.remove_prefix(*taken);
  }
  ASSERT_TRUE((*stream)->end_input());
  EXPECT_FALSE((*stream)->send_input("late", 0s));
  EXPECT_EQ(hear(**stream), "3000000\nend\n");
}

TEST_F(CommandStreamTest, CarriesBothWaysAtOnceAndHoldsLittle) {
  auto stream = open({"cat"}, all_);
  ASSERT_TRUE(stream);
  const std::string piece(50'000, 'y');
  std::size_t sent = 0;
  std::size_t heard = 0;
  constexpr std::size_t kAll = 5'000'000;
  while (heard < kAll) {
    if (sent < kAll) {
      const auto taken = (*stream)->send_input(std::string_view(piece).substr(0, std::min(piece.size(), kAll - sent)), 0s);
      ASSERT_TRUE(taken);
      sent += *taken;
    }
    const auto got = (*stream)->next(sent < kAll ? 0s : 10s);
    ASSERT_TRUE(got) << got.error().message;
    if (*got) heard += (*got)->bytes.size();
  }
  EXPECT_EQ(heard, kAll);
  ASSERT_TRUE((*stream)->end_input());
  EXPECT_EQ(hear(**stream), "");
  EXPECT_EQ((*stream)->exit_code(), 0);
}

TEST_F(CommandStreamTest, TakesNoMoreInputThanIsRead) {
  auto stream = open({"sleep", "1000"}, all_);
  ASSERT_TRUE(stream);
  const std::string piece(1'000'000, 'z');
  std::size_t sent = 0;
  for (int i = 0; i < 100; ++i) {
    const auto taken = (*stream)->send_input(piece, 0s);
    ASSERT_TRUE(taken);
    sent += *taken;
  }
  EXPECT_LT(sent, 30'000'000U);  // the sockets' buffers and what either end holds; 100 MB were offered
}

TEST_F(CommandStreamTest, WaitsForNoLongerThanItsPatience) {
  auto stream = open({"sleep", "1000"}, outputs_);
  ASSERT_TRUE(stream);
  const auto begun = std::chrono::steady_clock::now();
  const auto piece = (*stream)->next(50ms);
  ASSERT_TRUE(piece);
  EXPECT_FALSE(*piece);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
  EXPECT_GE((*stream)->descriptor(), 0);
}

TEST_F(CommandStreamTest, TellsARefusalWithItsStatus) {
  const auto forbidden = open({"id"}, outputs_, "nobody");
  ASSERT_FALSE(forbidden);
  EXPECT_EQ(forbidden.error().code, 403);
  EXPECT_EQ(forbidden.error().category, Category::kAuth);
  EXPECT_NE(forbidden.error().message.find("cannot"), std::string::npos) << forbidden.error().message;
  const auto absent = open({"id"}, outputs_, "admin", "absent");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().category, Category::kNotFound);
  EXPECT_EQ(absent.error().cluster, "lab");
}

}  // namespace
}  // namespace fleetadm::kube
