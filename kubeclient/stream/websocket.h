// WebSockets (RFC 6455) without the socket: the frames of either end. No extension is agreed on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "kubeclient/stream/role.h"

namespace fleetadm::kube {

/// Sec-WebSocket-Accept of a Sec-WebSocket-Key.
std::string websocket_accept(std::string_view key);

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
  explicit WebSocketFrames(StreamRole role = StreamRole::kServer) : role_(role) {}

  static constexpr std::uint64_t kMaxFrame = 16 * 1024 * 1024;

  /// Answers pings and closes by itself. `take` answers kNone, or why it wants no more. False: nothing more is read, and the last
  /// of what is to be sent is in output().
  bool feed(std::string_view bytes, const std::function<WebSocketClose(const WebSocketPiece&)>& take);
  /// One binary message of both parts.
  void send(std::string_view head, std::string_view rest = {});
  void ping();
  /// After it only the peer's own close is waited for.
  void close(WebSocketClose why);
  bool over() const { return over_; }
  std::string& output() { return output_; }

 private:
  std::size_t header_size() const;
  WebSocketClose begin_frame();
  WebSocketClose control_frame();
  bool give_up(WebSocketClose why);
  void write(std::uint8_t opcode, std::string_view head, std::string_view rest = {});

  StreamRole role_;
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

}  // namespace fleetadm::kube
