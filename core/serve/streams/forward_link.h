// The connections of one port-forward, whichever framing carries them (docs/reference/kubernetes-streams.md#port-forward).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fleetadm::serve {

class ForwardLink {
 public:
  using Id = std::uint32_t;  // of a connection
  using Time = std::chrono::steady_clock::time_point;

  class Sink {
   public:
    virtual void on_open(Id id, int port) = 0;
    virtual void on_data(Id id, std::string_view bytes) = 0;
    virtual void on_end(Id id) = 0;   // the client sends no more
    virtual void on_gone(Id id) = 0;  // and wants no more

   protected:
    ~Sink() = default;
  };

  virtual ~ForwardLink() = default;
  /// Connections that the request itself asks for. Before all else.
  virtual void begin(Sink& sink) = 0;
  /// False: the client is gone, or broke the protocol.
  virtual bool feed(std::string_view bytes, Sink& sink) = 0;
  virtual void send(Id id, std::string_view bytes) = 0;
  /// The pod's end has closed it.
  virtual void end(Id id) = 0;
  /// It could not be made, or broke.
  virtual void fail(Id id, const std::string& why) = 0;
  /// Nothing more can come: only the client's goodbye is waited for.
  virtual bool finished() const = 0;
  /// Gives up what the client has only half opened for long.
  virtual void expire(Time now) = 0;
  virtual void keep_alive() = 0;
  virtual std::string& output() = 0;
};

/// Two streams a connection, "error" and "data", over SPDY/3.1; inside a WebSocket where `tunnelled`.
std::unique_ptr<ForwardLink> make_spdy_forwarding(bool tunnelled);
/// v4.channel.k8s.io: for the i-th port the channels 2i (data) and 2i + 1 (error), one connection each.
std::unique_ptr<ForwardLink> make_channel_forwarding(const std::vector<int>& ports);

inline constexpr std::size_t kMaxForwardedPorts = 64;  // of make_channel_forwarding

}  // namespace fleetadm::serve
