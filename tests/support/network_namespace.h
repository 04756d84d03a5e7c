// A network that cannot be reached from outside: it has a loopback device and nothing else. What runs in it reaches the ports of
// this machine that lead_out() names, at their own addresses, and the way there can be cut or made to lose packets.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/sandbox/node/child.h"
#include "kubeclient/base/result.h"

namespace fleetadm::testkit {

class NetworkNamespace {
 public:
  /// kUnavailable where the kernel does not let this process make one.
  static Result<std::shared_ptr<NetworkNamespace>> make();
  ~NetworkNamespace();
  NetworkNamespace(const NetworkNamespace&) = delete;
  NetworkNamespace& operator=(const NetworkNamespace&) = delete;

  /// The file by which programs that this process starts find the network, as they take network namespaces.
  std::string path() const;
  /// The same process inside.
  void move_in(sandbox::ChildSpec& spec) const;
  /// What stands before a command that is to run inside.
  std::vector<std::string> command_words() const;
  /// The calling thread from now on, and the threads and processes that it starts.
  Status enter() const;
  /// Runs on a thread inside, and waits for it. False where no thread gets there.
  bool inside(const std::function<void()>& run) const;
  /// A socket of this process inside, as socket(2) makes them; -1 where it fails.
  int open_socket(int domain, int type, int protocol) const;

  /// A cable to the other network: a pair of virtual Ethernet devices with addresses of the same network of 256. One per network.
  Status join(const NetworkNamespace& other, const std::string& address, const std::vector<std::string>& addresses_there) const;

  /// Who connects to 127.0.0.1:port inside reaches that address outside.
  Status lead_out(int port);
  /// While cut, nothing of any connection passes, not even its end; nobody is told.
  void cut();
  void mend();
  /// The connections that there are pass nothing any more, ever; new ones do.
  void forget();
  /// Every nth segment comes 200 ms late, with all that is behind it, as one that TCP sends again; 0: none.
  void lose_every(int nth);

 private:
  class WayOut;
  explicit NetworkNamespace(int descriptor);
  WayOut& way_out();
  int descriptor_;
  std::unique_ptr<WayOut> way_out_;  // once it is needed
};

}  // namespace fleetadm::testkit
