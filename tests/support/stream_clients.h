// The clients' ends of WebSockets and of SPDY/3.1, as far as tests of exec, attach and port-forward need them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/stream/spdy_headers.h"
#include "tests/support/raw_client.h"

namespace fleetadm::testkit {

/// Of texts that are made in this order: header blocks of SPDY depend on those before them.
std::string joined(std::initializer_list<std::string> parts);

/// A frame of a client: masked, unless it is to be wrong.
std::string websocket_frame(unsigned opcode, std::string_view payload, bool last = true, bool masked = true);

struct WebSocketFrame {
  unsigned opcode = 0;
  bool last = false;
  bool masked = false;
  std::string payload;
};
/// Cuts the first whole frame off.
std::optional<WebSocketFrame> cut_websocket_frame(std::string& bytes);

class WebSocketClient {
 public:
  explicit WebSocketClient(RawClient& client) : client_(client) {}
  /// The status of the answer to the opening handshake. `headers`: more of them, each line with its end.
  int open(const std::string& target, const std::string& protocols, const std::string& headers = {});
  const std::string& head() const { return head_; }  // of the answer
  /// What came after the head of an answer that is no 101: its body so far.
  const std::string& rest() const { return bytes_; }
  bool send(std::string_view payload, unsigned opcode = 2) { return client_.send(websocket_frame(opcode, payload)); }
  /// One message on a channel.
  bool say(int channel, std::string_view data);
  /// The next frame, within 10 s; nothing at the end of the connection.
  std::optional<WebSocketFrame> next();

  /// All that came on the channels until the server closed; its close is answered.
  struct Heard {
    std::string output;
    std::string errors;
    Json status;
    unsigned close_code = 0;
    int statuses = 0;
  };
  Heard hear();
  /// Reads until the output holds the text; what was heard so far is the answer.
  Heard hear_until(std::string_view text);

 private:
  bool hear_frame(Heard& heard);
  RawClient& client_;
  std::string head_;
  std::string bytes_;
  Heard heard_;
};

struct SpdyFrame {
  bool control = false;
  unsigned type = 0;         // of a control frame
  std::uint32_t stream = 0;  // of a ping: its number
  unsigned flags = 0;
  std::string payload;  // of data; of others the whole content
};

/// Makes and takes apart frames; whoever uses it carries the bytes.
class SpdyClient {
 public:
  std::string open(std::uint32_t stream, const kube::SpdyHeaders& headers, bool fin = false);
  static std::string data(std::uint32_t stream, std::string_view bytes, bool fin = false);
  static std::string control(unsigned type, std::string_view content, unsigned flags = 0);
  static std::string ping(std::uint32_t number);
  static std::string reset(std::uint32_t stream);
  static std::string go_away();
  /// Cuts the first whole frame off.
  static std::optional<SpdyFrame> cut(std::string& bytes);

 private:
  kube::SpdyHeaderWriter writer_;
};

}  // namespace fleetadm::testkit
