#include "core/serve/streams/websocket_handshake.h"

#include <gtest/gtest.h>

namespace fleetadm::serve {
namespace {

TEST(WebSocketHandshake, RefusesWhatIsNone) {
  HttpRequest request;
  request.method = "GET";
  request.headers = {{"connection", "keep-alive, Upgrade"},
                     {"upgrade", "WebSocket"},
                     {"sec-websocket-version", "13"},
                     {"sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="}};
  EXPECT_TRUE(asks_upgrade_to(request, "websocket"));
  EXPECT_FALSE(asks_upgrade_to(request, "spdy/3.1"));
  const auto answer = accept_websocket(request, "x");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 101);
  auto wrong = request;
  wrong.headers[3].second = "c2hvcnQ=";
  EXPECT_FALSE(accept_websocket(wrong, "x"));
  wrong = request;
  wrong.headers[2].second = "8";
  EXPECT_FALSE(accept_websocket(wrong, "x"));
  wrong = request;
  wrong.method = "POST";
  EXPECT_FALSE(accept_websocket(wrong, "x"));
  wrong = request;
  wrong.headers[0].second = "keep-alive";
  EXPECT_FALSE(asks_upgrade_to(wrong, "websocket"));
}

TEST(WebSocketHandshake, ReadsListsInHeaders) {
  HttpRequest request;
  request.headers = {{"a", "x, y ,,z"}, {"b", "no"}, {"a", " w"}};
  EXPECT_EQ(header_words(request, "a"), (std::vector<std::string>{"x", "y", "z", "w"}));
  EXPECT_TRUE(header_words(request, "c").empty());
}

}  // namespace
}  // namespace fleetadm::serve
