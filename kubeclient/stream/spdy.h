// SPDY/3.1 (the framing of exec, attach and port-forward before WebSockets, and inside port-forward's tunnel), either end of it,
// without the socket. Of the protocol's features those count that Kubernetes' clients use: streams that the client
// opens, data, ends, resets, pings, GOAWAY. They keep no windows; a client that is to wait is not read from.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "kubeclient/stream/role.h"
#include "kubeclient/stream/spdy_headers.h"

namespace fleetadm::kube {

using SpdyStreamId = std::uint32_t;

class SpdyConnection {
 public:
  static constexpr std::size_t kMaxStreams = 512;
  static constexpr std::size_t kMaxControlFrame = 64 * 1024;

  /// What the peer does with the streams. Callbacks may send.
  class Sink {
   public:
    /// Of a client. False: the stream is refused. Its reply is sent by then.
    virtual bool on_open(SpdyStreamId /*stream*/, const SpdyHeaders& /*headers*/) { return false; }
    virtual void on_data(SpdyStreamId stream, std::string_view bytes) = 0;
    virtual void on_end(SpdyStreamId stream) = 0;  // the peer sends no more on it
    virtual void on_reset(SpdyStreamId stream) = 0;

   protected:
    ~Sink() = default;
  };

  explicit SpdyConnection(StreamRole role = StreamRole::kServer)
      : client_(role == StreamRole::kClient), next_ping_(client_ ? 1 : 2) {}

  /// A client's new stream; 0 where kMaxStreams are open, or all numbers are used up. It may be sent on at once.
  SpdyStreamId open(const SpdyHeaders& headers);
  /// False: the peer has said goodbye, or has broken the protocol (then a GOAWAY that says so is in output()).
  bool feed(std::string_view bytes, Sink& sink);
  /// On a stream that is not open (any more), these do nothing.
  void send(SpdyStreamId stream, std::string_view bytes);
  void end(SpdyStreamId stream);
  void cancel(SpdyStreamId stream);
  void ping();
  /// A client's goodbye.
  void go_away();
  bool over() const { return over_; }
  std::string& output() { return output_; }

 private:
  enum class Reset : std::uint32_t { kProtocol = 1, kRefused = 3, kCancel = 5 };
  struct Stream {
    bool ended_here = false;
    bool ended_there = false;
  };

  bool begin_frame();
  bool control_frame(Sink& sink);
  bool open_stream(Sink& sink, std::uint8_t flags);
  void ended_there(SpdyStreamId stream, Sink& sink);
  void send_reset(SpdyStreamId stream, Reset why);
  bool broken();
  void write_control(std::uint16_t type, std::string_view payload);

  bool client_;
  SpdyHeaderReader reader_;
  SpdyHeaderWriter writer_;
  std::map<SpdyStreamId, Stream> streams_;
  SpdyStreamId next_ = 1;  // the least number of the client's next stream
  std::uint32_t next_ping_;
  std::string header_;   // of the frame that is being read
  std::string payload_;  // its content, where it is a control frame
  std::size_t left_ = 0;
  bool over_ = false;
  std::string output_;
};

}  // namespace fleetadm::kube
