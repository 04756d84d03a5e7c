#include "core/proxy/member/tunnel_requests.h"

#include <gtest/gtest.h>

#include "core/proxy/member/switched_body.h"
#include "core/serve/http/body_pipe.h"
#include "kubeclient/base/json.h"
#include "tests/unit/core/proxy/member/recording_hop.h"

namespace fleetadm::proxy {
namespace {

using More = serve::BodyStream::More;

/// The member's side of an upgraded connection.
class SwitchedMember final : public serve::UpgradedStream {
 public:
  explicit SwitchedMember(bool* gone) : gone_(gone) {}
  ~SwitchedMember() override { *gone_ = true; }
  More read(std::string& into, std::size_t most) override {
    const auto size = std::min(most, says.size());
    into.append(says, 0, size);
    says.erase(0, size);
    return size > 0 ? More::kYes : end;
  }
  void on_ready(std::function<void()> ready) override { wake = std::move(ready); }
  void begin(const serve::WatchDescriptor& /*watch*/) override {}
  bool take(std::string_view bytes) override {
    heard += bytes;
    return !closed;
  }
  bool takes() const override { return heard.size() < room; }

  std::string says;
  std::string heard;
  std::size_t room = SIZE_MAX;
  bool closed = false;
  More end = More::kLater;
  std::function<void()> wake;

 private:
  bool* gone_;
};

class TunnelRequests : public testing::Test {
 protected:
  serve::HttpResponse ask(serve::HttpRequest request) {
    std::optional<serve::HttpResponse> out;
    const auto handler = answer_tunnel(member_);
    handler(std::move(request), [&](serve::HttpResponse answer) { out = std::move(answer); });
    return out.value();
  }
  serve::HttpResponse ask_for_upgrade(std::shared_ptr<serve::BodyReader> said) {
    connection_ = std::make_shared<SwitchedMember>(&gone_);
    member_->answer.status = 101;
    member_->answer.headers = {
        {"connection", "Upgrade"}, {"upgrade", "SPDY/3.1"}, {"x-stream-protocol-version", "v4.channel.k8s.io"}};
    member_->answer.upgrade = connection_;
    member_->answer.stream = connection_;
    serve::HttpRequest request;
    request.method = "POST";
    request.path = "/api/v1/namespaces/a/pods/b/exec";
    request.headers = {{"fleetadm-upgrade", "SPDY/3.1"}, {"x-stream-protocol-version", "v4.channel.k8s.io"}};
    request.content = std::move(said);
    auto answer = ask(std::move(request));
    member_->answer = {};
    return answer;
  }

  std::shared_ptr<RecordingHop> member_ = std::make_shared<RecordingHop>();
  std::shared_ptr<SwitchedMember> connection_;
  bool gone_ = false;
};

TEST_F(TunnelRequests, RequestsAndAnswersGoOnAsTheyAre) {
  member_->answer.status = 201;
  member_->answer.body = "made";
  auto pipe = serve::make_body_pipe(10);
  serve::HttpRequest request;
  request.method = "POST";
  request.path = "/a%2Fb";
  request.query = "c=d";
  request.headers = {{"fleetadm-user", "alice"}};
  request.content = pipe.reader;
  const auto answer = ask(std::move(request));
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, "made");
  ASSERT_EQ(member_->requests.size(), 1U);
  const auto& sent = member_->requests.front();
  EXPECT_EQ(sent.path, "/a%2Fb");
  EXPECT_EQ(sent.query, "c=d");
  EXPECT_EQ(sent.content, pipe.reader);
  EXPECT_EQ(sent.headers, (serve::Headers{{"fleetadm-user", "alice"}}));
}

TEST_F(TunnelRequests, AFailureIsAStatusThatSaysWhichHop) {
  const std::vector<std::pair<Error, int>> cases = {
      {{.category = Category::kTimeout, .message = "the API server: no answer in time"}, 504},
      {{.category = Category::kUnavailable, .message = "the API server: broke"}, 502},
      {{.category = Category::kTls, .message = "the API server: unknown CA"}, 502},
      {{.code = 503, .category = Category::kUnavailable, .message = "full", .retry_after_seconds = 1}, 503},
      {{.code = 403, .category = Category::kAuth, .message = "reserved", .reason = "Forbidden"}, 403}};
  for (const auto& [error, code] : cases) {
    member_->error = error;
    const auto answer = ask({});
    EXPECT_EQ(answer.status, code);
    const Json status = Json::parse(answer.body);
    EXPECT_EQ(status["kind"], "Status");
    EXPECT_EQ(status["status"], "Failure");
    EXPECT_EQ(status["code"], code);
    EXPECT_EQ(status["message"], error.message);
    EXPECT_FALSE(status["reason"].get<std::string>().empty());
  }
}

TEST_F(TunnelRequests, AnUpgradeIsAskedForAndSaidInHeaders) {
  auto pipe = serve::make_body_pipe(1024);
  const auto answer = ask_for_upgrade(pipe.reader);
  const auto& sent = member_->requests.front();
  EXPECT_EQ(
      sent.headers,
      (serve::Headers{{"x-stream-protocol-version", "v4.channel.k8s.io"}, {"connection", "Upgrade"}, {"upgrade", "SPDY/3.1"}}));
  EXPECT_FALSE(sent.content) << "it is not the body of a request";
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers,
            (serve::Headers{{"x-stream-protocol-version", "v4.channel.k8s.io"}, {"fleetadm-switched", "SPDY/3.1"}}));
  EXPECT_FALSE(answer.upgrade);
  ASSERT_TRUE(answer.stream);
}

TEST_F(TunnelRequests, BytesGoBothWaysAfterIt) {
  auto pipe = serve::make_body_pipe(1024);
  pipe.writer->push("early ");
  const auto answer = ask_for_upgrade(std::move(pipe.reader));
  int woken = 0;
  answer.stream->on_ready([&] { ++woken; });
  pipe.writer->push("late");
  EXPECT_EQ(connection_->heard, "early late");
  connection_->says = "answer";
  connection_->wake();
  EXPECT_EQ(woken, 1);
  std::string text;
  EXPECT_EQ(answer.stream->read(text, 100), More::kYes);
  EXPECT_EQ(text, "answer");
  EXPECT_EQ(answer.stream->read(text, 100), More::kLater);
  pipe.writer->finish();
  EXPECT_EQ(answer.stream->read(text, 100), More::kLater) << "the member may still say something";
  connection_->end = More::kEnd;
  EXPECT_EQ(answer.stream->read(text, 100), More::kEnd);
}

TEST_F(TunnelRequests, TheMemberSetsThePace) {
  auto pipe = serve::make_body_pipe(10);
  const auto answer = ask_for_upgrade(std::move(pipe.reader));
  connection_->room = 5;
  pipe.writer->push("0123456789");
  pipe.writer->push("abcdefghij");
  EXPECT_EQ(connection_->heard, "0123456789");
  EXPECT_FALSE(pipe.writer->has_room()) << "the tunnel's window stays shut";
  connection_->room = 15;
  connection_->wake();
  EXPECT_EQ(connection_->heard, "0123456789abcdefghij");
  EXPECT_TRUE(pipe.writer->has_room());
}

TEST_F(TunnelRequests, EitherEndEndsBoth) {
  auto pipe = serve::make_body_pipe(10);
  auto answer = ask_for_upgrade(std::move(pipe.reader));
  connection_.reset();
  EXPECT_FALSE(gone_);
  int woken = 0;
  answer.stream->on_ready([&] { ++woken; });
  pipe.writer->cut();
  EXPECT_TRUE(gone_) << "the client broke off";
  EXPECT_EQ(woken, 1);
  std::string text;
  EXPECT_EQ(answer.stream->read(text, 100), More::kCut);

  gone_ = false;
  auto other = serve::make_body_pipe(10);
  answer = ask_for_upgrade(std::move(other.reader));
  connection_.reset();
  answer.stream.reset();
  EXPECT_TRUE(gone_) << "nobody reads it";
  std::string_view more = "x";
  EXPECT_EQ(other.writer->write(more, {}), serve::BodyWriter::Outcome::kAbandoned);
}

TEST_F(TunnelRequests, ARefusedUpgradeIsTheMembersAnswer) {
  member_->answer.status = 403;
  member_->answer.body = "no exec";
  serve::HttpRequest request;
  request.headers = {{"fleetadm-upgrade", "websocket"}};
  const auto answer = ask(std::move(request));
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(answer.body, "no exec");
  EXPECT_TRUE(answer.headers.empty());
}

}  // namespace
}  // namespace fleetadm::proxy
