// HTTP/2 from clients who mean it ill, byte by byte: how much of it is answered, kept, or handed on.
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "core/serve/http/protocol.h"
#include "tests/unit/core/serve/http/http2_bytes.h"

namespace fleetadm::serve {
namespace {

using namespace std::string_literals;

class Http2Floods : public testing::Test {
 protected:
  Http2Floods() { connect(); }

  /// A new connection.
  void connect() {
    open_ = true;
    ProtocolHost host;
    host.room = std::make_shared<MemoryBudget>(limits_.bodies);
    host.limits = limits_;
    host.handle = [this](const HttpRequest& request, const Reply& reply) {
      ++asked_;
      if (request.header("x-late").empty()) reply(answer_text(200, "ok"));
    };
    host.streams_body = [](const HttpRequest&) { return true; };
    host.flush = [] {};
    host.post = [](const std::function<void()>& task) { task(); };
    protocol_ = make_http2(std::move(host));
    feed(std::string(kPreface) + h2_frame(4, 0, 0) + h2_frame(4, 1, 0));
    sent_ = 0;
  }
  /// As a connection would: what comes is taken, what goes out is taken by the client, until one end closes.
  void feed(std::string_view bytes) {
    while (!bytes.empty() && open_) {
      const auto piece = bytes.substr(0, 16 * 1024);
      bytes.remove_prefix(piece.size());
      open_ = protocol_->feed(piece);
      std::string out;
      protocol_->output(out, 1024 * 1024);
      sent_ += out.size();
      open_ = open_ && !protocol_->finished();
    }
  }

  HttpLimits limits_;
  std::shared_ptr<Protocol> protocol_;
  bool open_ = true;
  int asked_ = 0;
  std::size_t sent_ = 0;
};

TEST_F(Http2Floods, RequestsThatAreTakenBackAtOnceEndTheConnection) {
  std::string all;
  for (std::uint32_t stream = 1; stream < 20'000; stream += 2)
    all += h2_frame(1, 5, stream, h2_head(h2_field("x-late", "1"))) + h2_frame(3, 0, stream, h2_number(8));
  feed(all);
  EXPECT_FALSE(open_);
  EXPECT_LT(asked_, 2000) << "of 10,000";
}

TEST_F(Http2Floods, MoreStreamsThanAllowedAreRefused) {
  std::string all;
  for (std::uint32_t stream = 1; stream < 2'000; stream += 2) all += h2_frame(1, 5, stream, h2_head(h2_field("x-late", "1")));
  feed(all);
  EXPECT_LE(asked_, static_cast<int>(limits_.streams));
  EXPECT_LE(protocol_->streams(), limits_.streams);
}

TEST_F(Http2Floods, AHeadWithoutEndEndsTheConnection) {
  feed(h2_frame(1, 0, 1, h2_head()) + h2_many(h2_frame(9, 0, 1, h2_field("x", "y")), 5'000));
  EXPECT_FALSE(open_);
  EXPECT_EQ(asked_, 0);
}

TEST_F(Http2Floods, AcknowledgementsThatNobodyTakesEndTheConnection) {
  // The client does not read: what has to be said to it would pile up.
  bool taken = true;
  for (int i = 0; i < 100 && taken; ++i) taken = protocol_->feed(h2_many(h2_frame(6, 0, 0, "01234567"), 100));
  EXPECT_FALSE(taken);
}

TEST_F(Http2Floods, SettingsThatNobodyTakesEndTheConnection) {
  bool taken = true;
  for (int i = 0; i < 100 && taken; ++i) taken = protocol_->feed(h2_many(h2_frame(4, 0, 0), 100));
  EXPECT_FALSE(taken);
}

TEST_F(Http2Floods, GamesWithWindowsEndTheConnection) {
  for (const std::string& frames :
       {h2_frame(8, 0, 0, h2_number(0)), h2_frame(8, 0, 0, h2_number(0x7FFFFFFF)) + h2_frame(8, 0, 0, h2_number(0x7FFFFFFF)),
        h2_frame(4, 0, 0, "\0\4"s + h2_number(0xFFFFFFFF)), h2_frame(4, 0, 0, "\0\5"s + h2_number(1)),
        h2_frame(4, 0, 0, h2_many("\0\4"s + h2_number(100), 100)), h2_frame(8, 0, 99, h2_number(1)),
        h2_frame(1, 4, 1, h2_head()) + h2_many(h2_frame(0, 0, 1, std::string(16'384, 'x')), 1'000)}) {
    connect();
    feed(frames);
    const bool cut = !open_ || sent_ > 0;  // by a GOAWAY, or a reset of the stream
    EXPECT_TRUE(cut) << frames.size();
  }
}

TEST_F(Http2Floods, FramesThatBreakTheProtocolEndTheConnection) {
  for (const std::string& frames :
       {h2_frame(0, 0, 0, "x"), h2_frame(0, 0, 1, "x"), h2_frame(3, 0, 1, h2_number(8)), h2_frame(9, 4, 1, h2_head()),
        h2_frame(1, 5, 2, h2_head()), h2_frame(1, 5, 1, "\xFF\xFF\xFF\xFF\xFF\xFF"), h2_frame(5, 4, 1, h2_number(2) + h2_head()),
        h2_frame(6, 0, 0, "short"), h2_frame(6, 0, 1, "01234567"), h2_frame(4, 0, 1), h2_frame(4, 1, 0, "x"),
        "\xFF\xFF\xFF\0\0\0\0\0\1"s, h2_frame(1, 0, 1, h2_head()) + h2_frame(6, 0, 0, "01234567")}) {
    connect();
    feed(frames + h2_many(h2_frame(6, 1, 0, "01234567"), 10));
    EXPECT_FALSE(open_) << frames.size() << " type " << static_cast<int>(frames[3]);
  }
}

TEST_F(Http2Floods, HeadsThatAreNoRequestsAreRefusedByThemselves) {
  std::uint32_t stream = 1;
  for (const std::string& head :
       {h2_field(":method", "GET"), h2_head(h2_field("connection", "close")), h2_head(h2_field("transfer-encoding", "chunked")),
        h2_head(h2_field("Upper", "case")), h2_head(h2_field("x", "a\r\nb: c")), h2_head(h2_field("x", "a\0b"s)),
        h2_head(h2_field(":path", "/second")), h2_head(h2_field("content-length", "5")), h2_head(h2_field("te", "gzip")),
        h2_field("x", "y") + h2_head(), h2_field(":method", "CONNECT") + h2_field(":authority", "a") + h2_field(":path", "/x")}) {
    feed(h2_frame(1, 5, stream, head));
    stream += 2;
  }
  EXPECT_EQ(asked_, 0);
  EXPECT_TRUE(open_);
  feed(h2_frame(1, 5, stream, h2_head()));
  EXPECT_EQ(asked_, 1) << "the next is answered";
}

}  // namespace
}  // namespace fleetadm::serve
