// HTTP/2 from the client's side on the connection of a cluster's agent: each request is a stream of its own. Bytes in, bytes out;
// the connection (core/serve/http/connection.h) has the socket.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <nghttp2/nghttp2.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/agent_identity.h"
#include "core/proxy/hop/client_left.h"
#include "core/proxy/tunnel/registry.h"
#include "core/proxy/tunnel/tunnel_body.h"
#include "core/proxy/tunnel/tunnel_limits.h"
#include "core/proxy/tunnel/tunnel_stream.h"
#include "core/serve/http/protocol.h"
#include "kubeclient/http2/http2_memory.h"
#include "kubeclient/http2/keep_alive.h"

namespace fleetadm::proxy {

struct TunnelSessionOptions {
  api::AgentIdentity identity;
  Instant since;
  TunnelLimits limits;
  /// The agent's certificate has expired: no more requests on it.
  std::function<bool()> expired;
  /// Another tunnel of the cluster, for requests that this one did not send. May be empty, or answer null.
  std::function<std::shared_ptr<Hop>()> elsewhere;
  /// The connection is gone.
  std::function<void(const Tunnel*)> gone;
};

/// I/O thread only, but for info().
class TunnelSession final : public serve::Protocol,
                            public Tunnel,
                            public TunnelBody::Source,
                            public std::enable_shared_from_this<TunnelSession> {
 public:
  using SteadyTime = std::chrono::steady_clock::time_point;

  TunnelSession(serve::ProtocolHost host, TunnelSessionOptions options);
  ~TunnelSession() override;
  TunnelSession(const TunnelSession&) = delete;
  TunnelSession& operator=(const TunnelSession&) = delete;

  // Of Tunnel; drain() is Protocol's, too.
  void send(serve::HttpRequest request, Done done) override;
  TunnelInfo info() const override;
  void drain() override;
  void cut(std::string_view why) override;

  // Of Protocol.
  bool feed(std::string_view bytes) override;
  void output(std::string& into, std::size_t most) override;
  bool finished() const override;
  bool busy() const override { return !streams_.empty(); }
  bool receiving() const override { return false; }
  std::size_t streams() const override { return streams_.size(); }
  bool tick(SteadyTime now) override;
  void gone() override;

  // Of TunnelBody::Source.
  void consumed(std::int32_t stream, std::size_t bytes) override;
  void dropped(std::int32_t stream) override;
  void send(std::int32_t stream, std::string_view bytes) override;
  bool can_send(std::int32_t stream) const override;

 private:
  struct FreeSession {
    void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
  };
  struct Waiting {
    serve::HttpRequest request;
    Done done;
    SteadyTime since;
    std::uint64_t number = 0;
    WhenLeft left;
  };

  bool takes_requests() const;
  bool has_free_stream() const;
  void begin(serve::HttpRequest request, Done done);
  void wait(serve::HttpRequest request, Done done);
  void leave_waiting(std::uint64_t number);
  void leave(std::int32_t id);
  void pump();
  void send_elsewhere(serve::HttpRequest request, Done done, const Error& otherwise);
  void give_away_waiting(const Error& otherwise);
  void check_silence(SteadyTime now);
  void give_up_late_ones(SteadyTime now);
  void refuse(std::int32_t id, TunnelStream& stream, Error why);
  void resume(std::int32_t id);
  void ask_for_life(SteadyTime now);
  void later(std::function<void()> task) { later_.push_back(std::move(task)); }
  void run_later();
  void count();
  Error broken(std::string_view how) const;

  static nghttp2_session_callbacks* callbacks();
  int on_header(const nghttp2_frame* frame, std::string_view name, std::string_view value);
  int on_frame(const nghttp2_frame* frame);
  void on_head(std::int32_t id, TunnelStream& stream);
  int on_data(std::int32_t id, std::string_view data);
  ssize_t on_read(std::int32_t id, std::size_t size, std::uint32_t* flags);
  int on_send(std::int32_t id, const std::uint8_t* head, std::size_t count);
  void on_closed(std::int32_t id, std::uint32_t error);
  bool is_flood(const nghttp2_frame* frame);

  serve::ProtocolHost host_;
  TunnelSessionOptions options_;
  kube::KeepAlive keep_alive_;
  std::map<std::int32_t, TunnelStream> streams_;
  std::list<Waiting> waiting_;   // which takes no memory while it is empty
  std::uint64_t waited_ = 0;     // requests so far
  std::string* into_ = nullptr;  // during output()
  std::size_t most_ = 0;
  kube::Http2Memory memory_;
  std::unique_ptr<nghttp2_session, FreeSession> session_;
  std::vector<std::function<void()>> later_;  // calls to others, once nghttp2 is not at work
  const void* woken_ = nullptr;               // the body that the last of them wakes, if it does
  std::size_t control_frames_ = 0;            // in this period
  SteadyTime period_;
  bool failed_ = false;
  bool gone_ = false;
  std::string why_;  // it ends
  std::atomic<std::size_t> running_{0};
  std::atomic<std::size_t> queued_{0};
  std::atomic<bool> draining_{false};
  std::atomic<bool> silent_{false};
};

}  // namespace fleetadm::proxy
