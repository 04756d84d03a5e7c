// Frames of WebSockets (RFC 6455): what a client may send, and what ends the connection.
#include "kubeclient/stream/websocket.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <random>
#include <utility>

#include "tests/support/stream_clients.h"

namespace fleetadm::kube {
namespace {

using testkit::cut_websocket_frame;
using testkit::websocket_frame;

/// The server's end, and what it was given.
struct Server {
  WebSocketFrames frames;
  std::vector<std::string> messages;
  bool text = false;
  int begun = 0;

  bool feed(std::string_view bytes) {
    return frames.feed(bytes, [this](const WebSocketPiece& piece) {
      if (piece.begins) {
        ++begun;
        messages.emplace_back();
      }
      text = piece.text;
      messages.back() += piece.bytes;
      if (piece.ends) messages.back() += "|";
      return messages.back() == "enough|" ? WebSocketClose::kUnsupported : WebSocketClose::kNone;
    });
  }
  /// The code of the close that was sent; 0: none.
  unsigned closed() {
    while (auto frame = cut_websocket_frame(frames.output())) {
      if (frame->opcode == 8)
        return static_cast<unsigned char>(frame->payload[0]) * 256U + static_cast<unsigned char>(frame->payload[1]);
    }
    return 0;
  }
};

TEST(WebSocketHandshake, AcceptsAsTheStandardsExample) {
  EXPECT_EQ(websocket_accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(WebSocketFrames, GivesMessagesOfAnySize) {
  for (const std::size_t size : {0U, 1U, 125U, 126U, 65535U, 65536U, 200000U}) {
    Server server;
    const std::string payload(size, 'x');
    EXPECT_TRUE(server.feed(websocket_frame(2, payload)));
    ASSERT_EQ(server.messages.size(), 1U) << size;
    EXPECT_EQ(server.messages[0], payload + "|") << size;
    EXPECT_FALSE(server.text);
  }
}

TEST(WebSocketFrames, GivesTheSameByteByByte) {
  Server server;
  const std::string bytes = websocket_frame(2, std::string(300, 'a')) + websocket_frame(9, "hello") + websocket_frame(1, "text") +
                            websocket_frame(2, "");
  for (const char byte : bytes) ASSERT_TRUE(server.feed({&byte, 1}));
  EXPECT_EQ(server.messages, (std::vector<std::string>{std::string(300, 'a') + "|", "text|", "|"}));
  const auto pong = cut_websocket_frame(server.frames.output());
  ASSERT_TRUE(pong);
  EXPECT_EQ(pong->opcode, 10U);
  EXPECT_EQ(pong->payload, "hello");
  EXPECT_FALSE(pong->masked);
}

TEST(WebSocketFrames, JoinsFragmentsAroundAPing) {
  Server server;
  EXPECT_TRUE(server.feed(websocket_frame(2, "one ", false) + websocket_frame(0, "two ", false) + websocket_frame(9, "") +
                          websocket_frame(0, "three")));
  EXPECT_EQ(server.messages, std::vector<std::string>{"one two three|"});
  EXPECT_EQ(server.begun, 1);
  EXPECT_FALSE(server.frames.output().empty());  // the pong
}

TEST(WebSocketFrames, EndsWhatBreaksTheProtocol) {
  const std::string reserved = [] {
    std::string frame = websocket_frame(2, "x");
    frame[0] = static_cast<char>(frame[0] | 0x40);
    return frame;
  }();
  const std::vector<std::string> wrong = {
      websocket_frame(2, "x", true, false),                      // not masked
      websocket_frame(0, "x"),                                   // continues nothing
      websocket_frame(2, "x", false) + websocket_frame(2, "y"),  // begins inside another
      websocket_frame(3, "x"),                                   // unknown
      websocket_frame(11, ""),                                   // unknown control frame
      websocket_frame(9, std::string(126, 'x')),                 // a long ping
      websocket_frame(9, "x", false),                            // a ping in pieces
      websocket_frame(8, "x"),                                   // half a code
      websocket_frame(8, std::string("\x03\xed", 2)),            // 1005 is never sent
      reserved,
  };
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    Server server;
    EXPECT_FALSE(server.feed(wrong[i])) << i;
    EXPECT_EQ(server.closed(), 1002U) << i;
    EXPECT_FALSE(server.feed(websocket_frame(2, "more"))) << i;
    EXPECT_TRUE(server.frames.over());
  }
}

TEST(WebSocketFrames, RefusesFramesThatAreTooLarge) {
  Server server;
  std::string head = websocket_frame(2, std::string(70000, 'x')).substr(0, 14);
  head[5] = 0x10;  // of the length: 256 MiB and more
  EXPECT_FALSE(server.feed(head.substr(0, 14)));
  EXPECT_EQ(server.closed(), 1009U);
  Server huge;
  for (std::size_t i = 2; i < 10; ++i) head[i] = static_cast<char>(0xff);
  EXPECT_FALSE(huge.feed(head));
  EXPECT_EQ(huge.closed(), 1009U);
}

TEST(WebSocketFrames, EndsWhatItsOwnerRefuses) {
  Server server;
  EXPECT_FALSE(server.feed(websocket_frame(2, "enough") + websocket_frame(2, "more")));
  EXPECT_EQ(server.messages.size(), 1U);
  EXPECT_EQ(server.closed(), 1003U);
}

TEST(WebSocketFrames, AnswersACloseAndWaitsForOne) {
  Server asked;
  EXPECT_FALSE(asked.feed(websocket_frame(8, std::string("\x03\xe8") + "bye")));
  EXPECT_EQ(asked.closed(), 1000U);
  Server empty;
  EXPECT_FALSE(empty.feed(websocket_frame(8, "")));
  EXPECT_EQ(cut_websocket_frame(empty.frames.output())->payload, "");

  Server asks;
  asks.frames.close(WebSocketClose::kNormal);
  asks.frames.send("not any more");
  asks.frames.ping();
  EXPECT_EQ(asks.closed(), 1000U);
  EXPECT_TRUE(asks.feed(websocket_frame(2, "late") + websocket_frame(9, "late")));
  EXPECT_TRUE(asks.messages.empty());
  EXPECT_FALSE(asks.feed(websocket_frame(8, std::string("\x03\xe8"))));
  EXPECT_TRUE(asks.frames.output().empty());  // one close is enough
}

TEST(WebSocketFrames, WritesFramesOfAnySize) {
  for (const std::size_t size : {0U, 125U, 126U, 65535U, 65536U, 100000U}) {
    WebSocketFrames frames;
    frames.send("ab", std::string(size, 'c'));
    std::string bytes = frames.output();
    const auto frame = cut_websocket_frame(bytes);
    ASSERT_TRUE(frame) << size;
    EXPECT_EQ(frame->opcode, 2U);
    EXPECT_TRUE(frame->last);
    EXPECT_FALSE(frame->masked);
    EXPECT_EQ(frame->payload, "ab" + std::string(size, 'c'));
    EXPECT_TRUE(bytes.empty());
  }
}

TEST(WebSocketFrames, TakeAnyBytesInAnyPieces) {
  std::mt19937 random(20240607);
  const auto below = [&](std::size_t limit) { return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random); };
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (std::size_t frames = below(6); frames > 0; --frames) {
      constexpr std::array kOpcodes = {0U, 1U, 2U, 2U, 9U, 10U, 8U};
      bytes += websocket_frame(kOpcodes.at(below(kOpcodes.size())), std::string(below(200), 'x'), below(3) > 0, below(20) > 0);
    }
    for (std::size_t changes = bytes.empty() ? 0 : below(3); changes > 0; --changes)
      bytes[below(bytes.size())] = static_cast<char>(below(256));
    Server whole;
    const bool open = whole.feed(bytes);
    Server pieces;
    bool still = true;
    for (std::size_t at = 0; at < bytes.size();) {
      const auto size = std::min(bytes.size() - at, below(9) + 1);
      still = pieces.feed(std::string_view(bytes).substr(at, size));
      at += size;
    }
    ASSERT_EQ(open, still) << round;
    ASSERT_EQ(whole.messages, pieces.messages) << round;
    ASSERT_EQ(whole.frames.output(), pieces.frames.output()) << round;
  }
}

TEST(WebSocketFrames, TheEndsUnderstandEachOther) {
  for (const std::size_t size : {0U, 1U, 125U, 126U, 65535U, 65536U}) {
    WebSocketFrames client(StreamRole::kClient);
    Server server;
    const std::string text(size, 't');
    client.send("a", text);
    client.ping();
    const std::string sent = std::exchange(client.output(), {});
    EXPECT_NE(static_cast<unsigned char>(sent[1]) & 0x80U, 0U);  // masked
    EXPECT_TRUE(server.feed(sent));
    EXPECT_EQ(server.messages, (std::vector<std::string>{"a" + text + "|"}));
    server.frames.send("b", text);
    std::string heard;
    const auto take = [&](const WebSocketPiece& piece) {
      heard += piece.bytes;
      return WebSocketClose::kNone;
    };
    EXPECT_TRUE(client.feed(std::exchange(server.frames.output(), {}), take));  // its pong first
    EXPECT_EQ(heard, "b" + text);
    client.close(WebSocketClose::kNormal);
    EXPECT_FALSE(server.feed(std::exchange(client.output(), {})));
    EXPECT_FALSE(client.feed(std::exchange(server.frames.output(), {}), take));
    EXPECT_TRUE(client.over());
  }
}

TEST(WebSocketFrames, AClientTakesNoMaskedFrames) {
  WebSocketFrames client(StreamRole::kClient);
  EXPECT_FALSE(client.feed(websocket_frame(2, "x"), [](const WebSocketPiece&) { return WebSocketClose::kNone; }));
  EXPECT_TRUE(client.over());
}

}  // namespace
}  // namespace fleetadm::kube
