// A tunnel: which requests go on the connection of a cluster's agent, which wait for others to end, and which go elsewhere. The
// connection (core/serve/http/connection.h) has the socket, AgentStreams what is on the way.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "core/api/agent_identity.h"
#include "core/proxy/hop/client_left.h"
#include "core/proxy/tunnel/agent_streams.h"
#include "core/proxy/tunnel/registry.h"
#include "core/proxy/tunnel/tunnel_limits.h"
#include "core/serve/http/protocol.h"
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
                            private AgentStreams::Owner,
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
  bool finished() const override { return streams_.finished(); }
  bool busy() const override { return streams_.size() > 0; }
  bool receiving() const override { return false; }
  std::size_t streams() const override { return streams_.size(); }
  bool tick(SteadyTime now) override;
  void gone() override;

 private:
  struct Waiting {
    serve::HttpRequest request;
    Done done;
    SteadyTime since;
    std::uint64_t number = 0;
    WhenLeft left;
  };

  // Of AgentStreams::Owner.
  std::shared_ptr<void> self() override { return shared_from_this(); }
  Error broken(std::string_view how) const override;
  void agent_leaves() override;
  void not_taken(serve::HttpRequest request, Done done) override;
  void stream_over() override;
  void settle() override { run_later(); }

  bool takes_requests() const;
  void begin(serve::HttpRequest request, Done done);
  void wait(serve::HttpRequest request, Done done);
  void leave_waiting(std::uint64_t number);
  void pump();
  void send_elsewhere(serve::HttpRequest request, Done done, const Error& otherwise);
  void give_away_waiting(const Error& otherwise);
  void check_silence(SteadyTime now);
  void give_up_late_ones(SteadyTime now);
  void ask_for_life(SteadyTime now);
  void later(std::function<void()> task) { streams_.later(std::move(task)); }
  void run_later();
  void count();

  const TunnelSessionOptions options_;
  kube::KeepAlive keep_alive_;
  AgentStreams streams_;
  std::list<Waiting> waiting_;  // which takes no memory while it is empty
  std::uint64_t waited_ = 0;    // requests so far
  bool gone_ = false;
  std::atomic<std::size_t> running_{0};
  std::atomic<std::size_t> queued_{0};
  std::atomic<bool> draining_{false};
  std::atomic<bool> silent_{false};
};

}  // namespace fleetadm::proxy
