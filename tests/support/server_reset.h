// Puts a real API server back to how it was at its start, in a fraction of what another start takes: etcd holds all that it
// knows, so what was written since is taken out of etcd, behind its back. The server sees that by its watches, as it sees the
// writes of another replica.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kubeclient/base/result.h"

namespace fleetadm::testkit {

class KubeServer;

class ServerReset {
 public:
  /// Of a server that is ready and that nobody has used yet. Keys of `made_by_controllers` are gone after a reset: the next
  /// controller manager makes these objects again.
  static Result<ServerReset> prepare(const KubeServer& server, const std::vector<std::string>& made_by_controllers);
  /// kTimeout where the server does not come to rest. Whoever wrote to it must have ended, the controller manager, too.
  Status perform(const KubeServer& server);

 private:
  using Keys = std::map<std::string, std::string>;  // a key, and its value as etcd's JSON gateway has it
  struct Change;

  static Result<Keys> read(const KubeServer& server);
  Status write(const KubeServer& server, const std::vector<Change>& changes) const;
  std::vector<Change> changes_since(const Keys& now) const;

  Keys keys_;
  std::string groups_;  // the answer of /apis
};

}  // namespace fleetadm::testkit
