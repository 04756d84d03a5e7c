// The client's side of one connection to a konnectivity front end: HTTP/2 with one stream of gRPC's, which carries one
// connection.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nghttp2/nghttp2.h>
#include <optional>
#include <string>
#include <string_view>

#include "core/proxy/konnectivity/connections.h"
#include "core/proxy/konnectivity/grpc_frames.h"
#include "core/proxy/konnectivity/local_pipe.h"
#include "core/serve/http/protocol.h"

namespace fleetadm::konnectivity {

/// I/O thread only.
class FrontStream final : public serve::Protocol, public std::enable_shared_from_this<FrontStream> {
 public:
  using Done = std::function<void(Result<boost::asio::ip::tcp::socket>)>;

  /// `done` is called once; where the stream ends before the target is connected, when it ends.
  FrontStream(serve::ProtocolHost host, boost::asio::any_io_executor executor, std::string authority, const std::string& target,
              Done done);
  ~FrontStream() override;
  FrontStream(const FrontStream&) = delete;
  FrontStream& operator=(const FrontStream&) = delete;

  bool feed(std::string_view bytes) override;
  void output(std::string& into, std::size_t most) override;
  bool finished() const override;
  bool busy() const override { return true; }  // it is kept, however long nothing is said
  bool receiving() const override { return false; }
  bool tick(std::chrono::steady_clock::time_point now) override;
  void drain() override { close_connection(); }
  void gone() override;

 private:
  struct FreeSession {
    void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
  };

  static nghttp2_session_callbacks* callbacks();
  void on_header(std::string_view name, std::string_view value);
  int on_data(std::string_view data);
  void on_head_end(bool last);
  void on_closed();
  void take(const Packet& packet);
  void opened();
  void say(const Packet& packet);
  void close_connection();
  void give_credit();
  void break_off(Error error);

  serve::ProtocolHost host_;
  boost::asio::any_io_executor executor_;
  Done done_;
  ClientConnection connection_;
  GrpcFrames frames_;
  std::shared_ptr<LocalPipe> pipe_;
  std::unique_ptr<nghttp2_session, FreeSession> session_;
  std::int32_t id_ = 0;
  std::string outgoing_;
  std::size_t given_ = 0;       // of outgoing_
  std::size_t uncredited_ = 0;  // bytes that came, for which the server has no new credit yet
  bool is_head_ = true;         // until the answer's head has ended
  std::string status_;
  std::string content_type_;
  std::string grpc_status_;
  std::string grpc_message_;
  std::optional<Error> failure_;
  std::optional<std::chrono::steady_clock::time_point> closing_;
  bool heard_ = false;  // anything at all: it takes the certificate
  bool over_ = false;
};

}  // namespace fleetadm::konnectivity
