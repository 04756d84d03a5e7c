// The server's end of WebSockets (RFC 6455), without the socket: the opening handshake, and frames. No extension is agreed on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/serve/http/message.h"
#include "kubeclient/base/result.h"

namespace fleetadm::serve {

/// The words of a header that is a list: of all headers of the name, separated by commas.
std::vector<std::string> header_words(const HttpRequest& request, std::string_view name);
/// The request wants another protocol on its connection ("websocket", "spdy/3.1"; in any case).
bool asks_upgrade_to(const HttpRequest& request, std::string_view protocol);
/// Sec-WebSocket-Accept of a Sec-WebSocket-Key.
std::string websocket_accept(std::string_view key);
/// The answer of 101, without its streams; kUsage where the request is no opening handshake of version 13.
Result<HttpResponse> accept_websocket(const HttpRequest& request, std::string_view subprotocol);

/// Why a connection is closed (RFC 6455 7.4.1).
enum class WebSocketClose : std::uint16_t { kNone = 0, kNormal = 1000, kProtocol = 1002, kUnsupported = 1003, kTooBig = 1009 };

/// A part of a message, as it came: messages are never held.
struct WebSocketPiece {
  bool text = false;
  bool begins = false;  // it is the message's first
  bool ends = false;    // it is the message's last
  std::string_view bytes;
};

class WebSocketFrames {
 public:
  static constexpr std::uint64_t kMaxFrame = 16 * 1024 * 1024;

  /// Answers pings and closes by itself. `take` answers kNone, or why it wants no more. False: nothing more is read, and the last
  /// of what is to be sent is in output().
  bool feed(std::string_view bytes, const std::function<WebSocketClose(const WebSocketPiece&)>& take);
  /// One binary message of both parts.
  void send(std::string_view head, std::string_view rest = {});
  void ping();
  /// After it only the client's own close is waited for.
  void close(WebSocketClose why);
  bool over() const { return over_; }
  std::string& output() { return output_; }

 private:
  std::size_t header_size() const;
  WebSocketClose begin_frame();
  WebSocketClose control_frame();
  bool give_up(WebSocketClose why);
  void write(std::uint8_t opcode, std::string_view head, std::string_view rest = {});

  std::string header_;   // of the frame that is being read
  std::string control_;  // its payload, where it is a control frame
  std::string piece_;
  std::uint64_t left_ = 0;  // of its payload
  std::uint64_t read_ = 0;
  std::uint8_t opcode_ = 0;
  bool last_ = false;        // the frame ends its message
  bool in_message_ = false;  // a message has begun and not ended
  bool begins_ = false;      // nothing of the message was given yet
  bool text_ = false;
  bool close_sent_ = false;
  bool over_ = false;
  std::string output_;
};

}  // namespace fleetadm::serve
