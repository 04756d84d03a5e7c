// Discovery kept on disk between processes. A cache that cannot be trusted (foreign owner, open modes, too old, malformed) is
// as if it were not there; a cache that cannot be written is no error.
#pragma once

#include <optional>
#include <string>

#include "kubeclient/discovery/mapper.h"

namespace fleetadm::kube {

class DiscoveryCacheFile {
 public:
  /// `server` is what tells clusters apart; empty `folder`: no cache.
  DiscoveryCacheFile(std::string folder, std::string_view server);
  std::optional<Discovery> read() const;
  void write(const Discovery& discovery) const;
  void remove() const;

 private:
  std::string folder_;
  std::string file_;
};

}  // namespace fleetadm::kube
