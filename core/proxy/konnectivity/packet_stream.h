// The client's side of one stream of konnectivity's packets: HTTP/2 with a single call of gRPC's.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <nghttp2/nghttp2.h>
#include <optional>
#include <string>
#include <string_view>

#include "core/proxy/konnectivity/grpc_frames.h"
#include "core/proxy/konnectivity/packet.h"
#include "core/serve/http/protocol.h"
#include "kubeclient/http2/http2_session.h"

namespace fleetadm::konnectivity {

/// I/O thread only.
class PacketStream : public serve::Protocol {
 public:
  static constexpr std::size_t kWindow = std::size_t{256} * 1024;  // of what the server may send ahead

  /// `metadata`: of the call, beside what gRPC demands.
  PacketStream(serve::ProtocolHost host, const std::string& authority, const std::string& method, const serve::Headers& metadata);
  ~PacketStream() override;
  PacketStream(const PacketStream&) = delete;
  PacketStream& operator=(const PacketStream&) = delete;

  bool feed(std::string_view bytes) override;
  void output(std::string& into, std::size_t most) override;
  bool finished() const override { return over_; }
  bool busy() const override { return true; }  // it is kept, however long nothing is said
  bool receiving() const override { return false; }
  void gone() override;

 protected:
  virtual void take(const Packet& packet) = 0;
  /// Of what takes packets, some is full: no more credit for now. give_credit() is called when that is over.
  virtual bool is_full() const = 0;
  /// Little waits to be sent: more may be read.
  virtual void has_room() = 0;
  /// The answer's head has come: the server takes the stream. `metadata`: all of its headers.
  virtual void begun(const serve::Headers& /*metadata*/) {}
  /// The connection is gone, and why.
  virtual void ended(const Error& why) = 0;

  void say(const Packet& packet);
  void give_credit();
  /// The end; `error` is the reason where there is none yet.
  void break_off(Error error);
  void end() { over_ = true; }
  bool over() const { return over_; }
  std::size_t unsent() const { return outgoing_.size() - given_; }
  const serve::ProtocolHost& host() const { return host_; }

 private:
  static const nghttp2_session_callbacks* callbacks();
  int on_header(const nghttp2_frame* frame, std::string_view name, std::string_view value);
  int on_frame(const nghttp2_frame* frame);
  void on_head_end(bool last);
  int on_data(std::int32_t stream, std::string_view data);
  void on_closed(std::int32_t, std::uint32_t) { over_ = true; }

  serve::ProtocolHost host_;
  GrpcFrames frames_{kMostPacketBytes};
  kube::Http2Session session_;
  std::int32_t id_ = 0;
  std::string outgoing_;
  std::size_t given_ = 0;       // of outgoing_
  std::size_t uncredited_ = 0;  // bytes that came, for which the server has no new credit yet
  bool is_head_ = true;         // until the answer's head has ended
  serve::Headers metadata_;     // of that head
  std::string status_;
  std::string content_type_;
  std::string grpc_status_;
  std::string grpc_message_;
  std::optional<Error> failure_;
  bool heard_ = false;  // anything at all: it takes the certificate
  bool over_ = false;
};

}  // namespace fleetadm::konnectivity
