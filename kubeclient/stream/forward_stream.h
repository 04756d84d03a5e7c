// A client's end of port-forward: connections to ports of a pod, all on one connection to the API server.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kubeclient/stream/framing.h"
#include "kubeclient/stream/open.h"
#include "kubeclient/stream/spdy.h"

namespace fleetadm::kube {

/// One thread at a time. Nothing is read ahead of next() by more than one read (64 KiB); connections share that one window, for
/// the protocol has none of each stream: who does not take what one of them brings holds up all. The destructor closes the
/// connection.
class ForwardStream final : private SpdyConnection::Sink {
 public:
  using Id = SpdyStreamId;
  struct Event {
    /// kEnd: the pod sends no more. kFailed: why, in bytes; the connection is over. It may follow kEnd.
    enum class Kind { kData, kEnd, kFailed };
    Kind kind = Kind::kData;
    Id id = 0;
    std::string bytes;
  };

  /// `request` names the path (".../pods/p/portforward"). Through a WebSocket; by SPDY/3.1 itself where the server refuses that.
  static Result<std::unique_ptr<ForwardStream>> open(const RestConfig& config, const Request& request);

  /// Begins a connection to a port of the pod. kUnavailable where 256 are open, or the server is gone.
  Result<Id> connect(int port);
  /// How much of it was taken within `patience` (zero: what goes at once). kUnavailable where that connection
  /// is over.
  Result<std::size_t> send(Id id, std::string_view bytes, Duration patience);
  /// No more will be sent on it.
  Status end(Id id);
  /// Gives it up, both ways.
  Status abandon(Id id);
  /// What comes next, of any of them; nothing where nothing came within `patience`. kUnavailable when the server is gone.
  Result<std::optional<Event>> next(Duration patience);
  /// For poll(2), after next() without patience gave nothing.
  int descriptor() const { return connection_->descriptor(); }

 private:
  struct Pair {
    SpdyStreamId errors = 0;
    std::string why;  // what came on it
    bool errors_ended = false;
    bool data_ended = false;
    bool ended_here = false;
  };

  ForwardStream(OpenedStream stream, bool tunnelled, std::string cluster);
  Status push(Duration patience);
  Status pull(Duration patience);
  void forget_if_over(std::map<Id, Pair>::iterator at);
  std::map<Id, Pair>::iterator of_errors(SpdyStreamId stream);
  void on_data(SpdyStreamId stream, std::string_view bytes) override;
  void on_end(SpdyStreamId stream) override;
  void on_reset(SpdyStreamId stream) override;

  const std::unique_ptr<UpgradedConnection> connection_;
  const std::unique_ptr<Framing> wire_;
  const std::string cluster_;
  SpdyConnection spdy_{StreamRole::kClient};
  std::string input_;
  std::map<Id, Pair> pairs_;  // by their data streams
  std::deque<Event> events_;
  unsigned requests_ = 0;
  bool gone_ = false;
};

}  // namespace fleetadm::kube
