// What of a member's failures is told at once.
#include "core/push/alarm.h"

#include <gtest/gtest.h>
#include <utility>

namespace fleetadm::push {
namespace {

Error error_of_kind(Category category) { return fail(category, "x").value(); }

/// Answers calls and streams with what it was given last; streams at once.
class Scripted final : public kube::Transport {
 public:
  Result<kube::Response> call(const kube::Request& /*request*/) override {
    if (error) return fail(*error);
    return kube::Response{status, {}, "{}"};
  }
  std::unique_ptr<kube::StreamHandle> stream(const kube::Request& /*request*/, std::shared_ptr<kube::StreamSink> sink) override {
    if (status != 0) sink->on_response(status, {});
    sink->on_data("x");
    sink->on_end(error);
    return nullptr;
  }
  std::string address() const override { return "https://member"; }

  int status = 200;
  std::optional<Error> error;
};

struct Kept final : kube::StreamSink {
  void on_response(int code, const std::map<std::string, std::string>& /*headers*/) override { status = code; }
  void on_data(std::string_view chunk) override { data += chunk; }
  void on_end(std::optional<Error> end) override {
    ended = true;
    error = std::move(end);
  }
  int status = 0;
  std::string data;
  bool ended = false;
  std::optional<Error> error;
};

class PushAlarm : public ::testing::Test {
 protected:
  int rung_by(int status, std::optional<Error> error) {
    member->status = status;
    member->error = std::move(error);
    const int before = rung;
    static_cast<void>(client.transport()->call({}));
    const int by_call = rung - before;
    sink = std::make_shared<Kept>();
    static_cast<void>(client.transport()->stream({}, sink));
    EXPECT_EQ(rung - before, 2 * by_call) << "a stream as a call";
    return by_call;
  }

  int rung = 0;
  std::shared_ptr<Scripted> member = std::make_shared<Scripted>();
  std::shared_ptr<Kept> sink;
  const kube::Client client = with_alarm(kube::Client(member, std::make_shared<kube::WriteGate>(), "m1"), [this] { ++rung; });
};

TEST_F(PushAlarm, RingsWhereNothingIsAnsweredAndWhereTheCredentialIsRefused) {
  EXPECT_EQ(rung_by(0, error_of_kind(Category::kUnavailable)), 1);
  EXPECT_EQ(rung_by(0, error_of_kind(Category::kTimeout)), 1);
  EXPECT_EQ(rung_by(0, error_of_kind(Category::kTls)), 1);
  EXPECT_EQ(rung_by(401, std::nullopt), 1);
}

TEST_F(PushAlarm, IsSilentWhereTheMemberAnswersOrNobodyWaits) {
  for (const int status : {200, 403, 404, 409, 410, 500}) EXPECT_EQ(rung_by(status, std::nullopt), 0) << status;
  EXPECT_EQ(rung_by(0, error_of_kind(Category::kCancelled)), 0);
}

TEST_F(PushAlarm, ChangesNothingOfWhatComes) {
  rung_by(200, error_of_kind(Category::kUnavailable));
  EXPECT_EQ(sink->status, 200);
  EXPECT_EQ(sink->data, "x");
  ASSERT_TRUE(sink->error);
  EXPECT_EQ(sink->error->category, Category::kUnavailable);
  EXPECT_EQ(client.cluster_name(), "m1");
  EXPECT_EQ(client.transport()->address(), "https://member");
}

}  // namespace
}  // namespace fleetadm::push
