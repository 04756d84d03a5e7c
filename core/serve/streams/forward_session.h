// One port-forward: a client's connections, each to a port of a pod, which is one of 127.0.0.1 here.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/serve/streams/forward_link.h"
#include "core/serve/streams/nonblocking.h"
#include "core/serve/streams/stream_session.h"
#include "kubeclient/base/owned_fd.h"
#include "kubeclient/base/result.h"

namespace fleetadm::serve {

struct ForwardSessionLimits {
  SessionTimes times = {};
  std::size_t tunnels = 128;
  std::size_t waiting = 256 * 1024;  // bytes that the pod has not taken yet; then the client waits, with all its connections
};

class ForwardSession final : public StreamSession, private ForwardLink::Sink {
 public:
  /// The port of 127.0.0.1 behind a port of the pod; an error where the pod has none. I/O thread.
  using FindPort = std::function<Result<int>(int port)>;
  /// `whose` names the pod in errors.
  ForwardSession(std::unique_ptr<ForwardLink> link, FindPort find_port, std::string whose,
                 const ForwardSessionLimits& limits = {});

  void begin(const WatchDescriptor& watch) override;
  bool take(std::string_view bytes) override;
  bool takes() const override;

 private:
  using Id = ForwardLink::Id;
  struct Tunnel {
    OwnedFd socket;
    std::unique_ptr<DescriptorWatch> watch;  // ends before the socket is closed
    int port = 0;
    std::string waiting;  // for the pod
    bool connected = false;
    bool client_ended = false;
    bool shut = false;
  };
  enum class Step { kMoved, kIdle, kDone };

  void on_open(Id id, int port) override;
  void on_data(Id id, std::string_view bytes) override;
  void on_end(Id id) override;
  void on_gone(Id id) override;
  Status connect(Tunnel& tunnel);
  void refuse(Id id, int port, const std::string& why);
  std::vector<Id> in_turn() const;
  Step step(Id id, Tunnel& tunnel, std::size_t most);
  std::optional<Step> finish_connecting(Id id, Tunnel& tunnel);
  bool push(Tunnel& tunnel);
  void advance(std::size_t most, Steady::time_point now) override;
  std::string& output() override { return link_->output(); }
  void keep_alive() override { link_->keep_alive(); }

  std::unique_ptr<ForwardLink> link_;
  const FindPort find_port_;
  const std::string whose_;
  const ForwardSessionLimits limits_;
  WatchDescriptor watch_;
  std::map<Id, Tunnel> tunnels_;
  Id last_ = 0;  // that was served
  std::size_t waiting_ = 0;
  std::string piece_;
};

}  // namespace fleetadm::serve
