// Ports of this machine that lead to ports of a pod: connections on one side, streams of one port-forward on the other.
#pragma once

#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "kubeclient/base/owned_fd.h"
#include "kubeclient/base/result.h"
#include "kubeclient/stream/forward_stream.h"

namespace fleetadm::proxy {

struct ForwardedPort {
  int local = 0;  // 0: a free one
  int remote = 0;
};
/// "8080:80", "80" (the same on both sides), ":80" (a free port here).
Result<ForwardedPort> parse_forwarded_port(const std::string& text);

/// One thread. Listens on loopback alone.
class Forwarding {
 public:
  /// kUnavailable: a port is taken. Afterwards `ports` have the local ones that are really used.
  static Result<Forwarding> listen(std::vector<ForwardedPort>& ports);

  /// Until told to stop, or until the port-forward breaks (an Error). Failures of single connections go to `warn`.
  Status run(kube::ForwardStream& stream, const std::stop_token& stop, const std::function<void(const std::string&)>& warn);
  /// Those of a port-forward that is over; the ports go on listening.
  void drop_connections() { links_.clear(); }

 private:
  struct Listener {
    OwnedFd socket;
    int remote = 0;
  };
  struct Link {
    OwnedFd socket;
    std::string up;           // from the socket, not sent yet
    std::string down;         // for the socket, not written yet
    bool up_ended = false;    // the socket sends no more
    bool up_told = false;     // and the pod knows
    bool down_ended = false;  // the pod sends no more
  };
  using Links = std::map<kube::ForwardStream::Id, Link>;

  Status accept_on(const Listener& listener, kube::ForwardStream& stream);
  Status take_events(kube::ForwardStream& stream, const std::function<void(const std::string&)>& warn);
  Status move(kube::ForwardStream& stream);
  /// False where the link is over.
  Result<bool> move_one(kube::ForwardStream& stream, kube::ForwardStream::Id id, Link& link);
  void wait(const kube::ForwardStream& stream) const;
  bool is_full() const;

  std::vector<Listener> listeners_;
  Links links_;
};

}  // namespace fleetadm::proxy
