// A small plain-HTTP server for probes, metrics and pages: GET and HEAD only, one thread, bounded in every way.
// Where all connections are taken, the one that has waited longest for a request makes room: nobody holds off the probes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/controller/controller.h"

namespace fleetadm::controller {

class HealthServer {
 public:
  struct Request {
    std::string_view path;  // without the query
    bool local = false;     // of a process of this host (or pod): its address is a loopback one
  };
  /// Answers one request. Called on the server's thread.
  using Handler = std::function<Manager::Page(const Request& request)>;

  /// Listens on "host:port", "[::1]:port" or ":port" (all addresses). kUsage for a malformed address, kUnavailable where it
  /// cannot be bound.
  static Result<std::unique_ptr<HealthServer>> start(const std::string& address, Handler handler);
  virtual ~HealthServer() = default;  // stops
  /// "127.0.0.1:43121": where it really listens.
  virtual std::string endpoint() const = 0;
};

}  // namespace fleetadm::controller
