// SPDY/3.1 as Kubernetes' clients speak it: header blocks, streams, and what ends the connection.
#include "kubeclient/stream/spdy.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <utility>

#include "tests/support/stream_clients.h"

namespace fleetadm::kube {
namespace {

using testkit::joined;
using testkit::SpdyClient;

class Streams final : public SpdyConnection::Sink {
 public:
  bool on_open(SpdyStreamId stream, const SpdyHeaders& headers) override {
    heard += "open " + std::to_string(stream) + " " + spdy_header(headers, "streamtype") + "\n";
    return spdy_header(headers, "streamtype") != "unwanted";
  }
  void on_data(SpdyStreamId stream, std::string_view bytes) override {
    heard += "data " + std::to_string(stream) + " " + std::string(bytes) + "\n";
  }
  void on_end(SpdyStreamId stream) override { heard += "end " + std::to_string(stream) + "\n"; }
  void on_reset(SpdyStreamId stream) override { heard += "reset " + std::to_string(stream) + "\n"; }
  std::string heard;
};

struct Lab {
  SpdyConnection server;
  SpdyClient client;
  Streams streams;
  bool feed(std::string_view bytes) { return server.feed(bytes, streams); }
  /// "2:1" a reply of stream 1, "0:1 text" data of it, with "." where it ends the stream.
  std::string sent() {
    std::string text;
    while (auto frame = SpdyClient::cut(server.output())) {
      text += std::to_string(frame->control ? frame->type : 0) + ":" + std::to_string(frame->stream);
      if (!frame->control) text += " " + frame->payload + (frame->flags == 1 ? "." : "");
      text += "\n";
    }
    return text;
  }
};

TEST(SpdyHeaders, ComeBackAsTheyWere) {
  SpdyHeaderWriter writer;
  SpdyHeaderReader reader;
  const std::vector<SpdyHeaders> blocks = {{{"streamtype", "error"}, {"port", "8080"}, {"requestid", "0"}},
                                           {},
                                           {{"streamtype", "data"}, {"x", std::string(5000, 'y')}}};
  for (const auto& block : blocks) {
    const auto read = reader.read(writer.write(block));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, block);
  }
  EXPECT_EQ(spdy_header(blocks[0], "port"), "8080");
  EXPECT_EQ(spdy_header(blocks[0], "none"), "");
}

TEST(SpdyHeaders, StartWithTheProtocolsDictionary) {
  // A zlib stream with a preset dictionary; its number is the Adler-32 of SPDY/3's.
  EXPECT_EQ(SpdyHeaderWriter().write({}).substr(2, 4), "\xe3\xc6\xa7\xc2");
}

TEST(SpdyHeaders, HaveNoNamesInCapitals) {
  EXPECT_TRUE(SpdyHeaderReader().read(SpdyHeaderWriter().write({{"streamtype", "A"}})));
  EXPECT_FALSE(SpdyHeaderReader().read(SpdyHeaderWriter().write({{"streamType", "a"}})));
}

TEST(SpdyHeaders, AreBounded) {
  SpdyHeaderWriter writer;
  SpdyHeaderReader reader;
  EXPECT_FALSE(reader.read(writer.write({{"bomb", std::string(1'000'000, 'x')}})));
  EXPECT_FALSE(SpdyHeaderReader().read("nonsense"));
  EXPECT_FALSE(SpdyHeaderReader().read(""));
}

TEST(SpdyConnection, OpensStreamsAndCarriesData) {
  Lab lab;
  EXPECT_TRUE(lab.feed(joined({lab.client.open(1, {{"streamtype", "stdin"}}), SpdyClient::data(1, "hello"),
                               lab.client.open(3, {{"streamtype", "stdout"}}), SpdyClient::data(1, "", true)})));
  EXPECT_EQ(lab.streams.heard, "open 1 stdin\ndata 1 hello\nopen 3 stdout\nend 1\n");
  EXPECT_EQ(lab.sent(), "2:1\n2:3\n");
  lab.server.send(3, "world");
  lab.server.end(3);
  lab.server.send(3, "late");
  lab.server.send(99, "nobody");
  EXPECT_EQ(lab.sent(), "0:3 world\n0:3 .\n");
}

TEST(SpdyConnection, ReadsByteByByte) {
  Lab lab;
  const std::string bytes = joined({lab.client.open(1, {{"streamtype", "stdin"}}, true), SpdyClient::data(1, "late"),
                                    lab.client.open(3, {{"streamtype", "a"}}), SpdyClient::data(3, "xy")});
  for (const char byte : bytes) ASSERT_TRUE(lab.feed({&byte, 1}));
  EXPECT_EQ(lab.streams.heard, "open 1 stdin\nend 1\nopen 3 a\ndata 3 x\ndata 3 y\n");
}

TEST(SpdyConnection, AnswersPingsAndSendsItsOwn) {
  Lab lab;
  EXPECT_TRUE(lab.feed(SpdyClient::ping(7)));
  EXPECT_EQ(lab.sent(), "6:7\n");
  lab.server.ping();
  EXPECT_EQ(lab.sent(), "6:2\n");
  EXPECT_TRUE(lab.feed(SpdyClient::ping(2)));  // the answer to ours
  EXPECT_EQ(lab.sent(), "");
}

TEST(SpdyConnection, ResetsStreams) {
  Lab lab;
  EXPECT_TRUE(lab.feed(joined(
      {lab.client.open(1, {{"streamtype", "a"}}), SpdyClient::reset(1), SpdyClient::data(1, "late"), SpdyClient::reset(1)})));
  EXPECT_EQ(lab.streams.heard, "open 1 a\nreset 1\n");
  EXPECT_TRUE(lab.feed(lab.client.open(3, {{"streamtype", "b"}})));
  lab.sent();
  lab.server.cancel(3);
  lab.server.cancel(3);
  EXPECT_EQ(lab.sent(), "3:3\n");
}

TEST(SpdyConnection, RefusesStreams) {
  Lab lab;
  EXPECT_TRUE(lab.feed(joined({lab.client.open(5, {{"streamtype", "unwanted"}}), lab.client.open(3, {{"streamtype", "older"}}),
                               lab.client.open(8, {{"streamtype", "even"}}), lab.client.open(7, {{"streamtype", "good"}})})));
  EXPECT_EQ(lab.streams.heard, "open 5 unwanted\nopen 7 good\n");
  EXPECT_EQ(lab.sent(), "2:5\n3:5\n3:3\n3:8\n2:7\n");
}

TEST(SpdyConnection, BoundsItsStreams) {
  Lab lab;
  for (std::uint32_t i = 0; i < SpdyConnection::kMaxStreams; ++i) ASSERT_TRUE(lab.feed(lab.client.open(2 * i + 1, {})));
  lab.sent();
  const auto next = static_cast<std::uint32_t>(2 * SpdyConnection::kMaxStreams + 1);
  EXPECT_TRUE(lab.feed(lab.client.open(next, {})));
  EXPECT_EQ(lab.sent(), "3:" + std::to_string(next) + "\n");
  EXPECT_TRUE(lab.feed(joined({SpdyClient::reset(1), lab.client.open(next + 2, {})})));
  EXPECT_EQ(lab.sent(), "2:" + std::to_string(next + 2) + "\n");
}

TEST(SpdyConnection, IgnoresWhatSaysNothingToIt) {
  Lab lab;
  EXPECT_TRUE(lab.feed(joined({SpdyClient::control(4, std::string(4, '\0')), SpdyClient::control(9, std::string(8, '\1')),
                               SpdyClient::control(200, "?"), SpdyClient::data(77, "to nobody")})));
  EXPECT_EQ(lab.streams.heard, "");
  EXPECT_EQ(lab.sent(), "");
}

TEST(SpdyConnection, EndsWithAGoodbyeOrAnError) {
  Lab polite;
  EXPECT_FALSE(polite.feed(SpdyClient::go_away() + SpdyClient::ping(1)));
  EXPECT_TRUE(polite.server.over());
  EXPECT_EQ(polite.sent(), "");
  const std::vector<std::string> wrong = {
      SpdyClient::data(0, "x"),                                                     // no stream
      SpdyClient::control(1, "short"),                                              // half a stream
      SpdyClient::control(1, std::string("\0\0\0\1\0\0\0\0\0\0", 10) + "garbage"),  // no header block
      SpdyClient::control(3, "1234"),                                               // half a reset
      std::string("\x80\x02\x00\x06\x00\x00\x00\x04\x00\x00\x00\x01", 12),          // SPDY/2
      SpdyClient::control(4, std::string(SpdyConnection::kMaxControlFrame + 1, 'x')),
  };
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    Lab lab;
    EXPECT_FALSE(lab.feed(wrong[i])) << i;
    EXPECT_EQ(lab.sent(), "7:0\n") << i;
    EXPECT_FALSE(lab.feed(SpdyClient::ping(1))) << i;
  }
}

/// What was heard, whatever pieces the data came in.
class Summary final : public SpdyConnection::Sink {
 public:
  bool on_open(SpdyStreamId stream, const SpdyHeaders& headers) override {
    events += "open " + std::to_string(stream) + " " + std::to_string(headers.size()) + "\n";
    return stream % 3 != 0;
  }
  void on_data(SpdyStreamId stream, std::string_view bytes) override { data[stream] += bytes; }
  void on_end(SpdyStreamId stream) override { events += "end " + std::to_string(stream) + "\n"; }
  void on_reset(SpdyStreamId stream) override { events += "reset " + std::to_string(stream) + "\n"; }
  std::string events;
  std::map<SpdyStreamId, std::string> data;
};

TEST(SpdyConnection, TakesAnyBytesInAnyPieces) {
  std::mt19937 random(20240607);
  const auto below = [&](std::size_t limit) { return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random); };
  for (int round = 0; round < 1000; ++round) {
    SpdyClient client;
    std::string bytes;
    for (std::uint32_t stream = 1; stream < 2 * below(6); stream += 2) {
      bytes += client.open(stream, {{"streamtype", "x"}, {"port", std::to_string(below(70000))}}, below(4) == 0);
      bytes += SpdyClient::data(stream, std::string(below(50), 'd'), below(4) == 0);
      if (below(4) == 0) bytes += SpdyClient::reset(stream);
      if (below(4) == 0) bytes += SpdyClient::ping(stream);
      if (below(8) == 0) bytes += SpdyClient::go_away();
    }
    for (std::size_t changes = bytes.empty() ? 0 : below(3); changes > 0; --changes)
      bytes[below(bytes.size())] = static_cast<char>(below(256));
    SpdyConnection whole;
    Summary of_whole;
    const bool open = whole.feed(bytes, of_whole);
    SpdyConnection pieces;
    Summary of_pieces;
    bool still = true;
    for (std::size_t at = 0; at < bytes.size();) {
      const auto size = std::min(bytes.size() - at, below(9) + 1);
      still = pieces.feed(std::string_view(bytes).substr(at, size), of_pieces);
      at += size;
    }
    ASSERT_EQ(open, still) << round;
    ASSERT_EQ(of_whole.events, of_pieces.events) << round;
    ASSERT_EQ(of_whole.data, of_pieces.data) << round;
    ASSERT_EQ(whole.output(), pieces.output()) << round;
  }
}

TEST(SpdyConnection, TheEndsUnderstandEachOther) {
  SpdyConnection client(StreamRole::kClient);
  Streams heard;
  Lab server;
  const auto swap = [&] {
    EXPECT_TRUE(server.feed(std::exchange(client.output(), {})));
    EXPECT_TRUE(client.feed(std::exchange(server.server.output(), {}), heard));
  };
  EXPECT_EQ(client.open({{"streamtype", "stdin"}}), 1U);
  EXPECT_EQ(client.open({{"streamtype", "unwanted"}}), 3U);
  client.send(1, "hello");
  client.end(1);
  client.ping();
  swap();
  EXPECT_EQ(server.streams.heard, "open 1 stdin\nopen 3 unwanted\ndata 1 hello\nend 1\n");
  server.server.send(1, "yes");
  server.server.end(1);
  server.server.ping();
  swap();
  EXPECT_EQ(heard.heard, "reset 3\ndata 1 yes\nend 1\n");
  EXPECT_TRUE(server.server.output().empty());  // a ping's answer is not answered
  EXPECT_EQ(SpdyConnection().open({}), 0U);     // a server opens none
  client.go_away();
  EXPECT_FALSE(server.feed(client.output()));
}

TEST(SpdyConnection, AClientBoundsItsStreamsAndTakesNone) {
  SpdyConnection client(StreamRole::kClient);
  Streams heard;
  for (std::size_t i = 0; i < SpdyConnection::kMaxStreams; ++i) ASSERT_NE(client.open({}), 0U);
  EXPECT_EQ(client.open({}), 0U);
  client.output().clear();
  SpdyClient server;
  EXPECT_TRUE(client.feed(server.open(2, {{"streamtype", "data"}}), heard));
  EXPECT_EQ(heard.heard, "");
  EXPECT_EQ(SpdyClient::cut(client.output())->type, 3U);
}

}  // namespace
}  // namespace fleetadm::kube
