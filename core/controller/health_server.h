// Probes, metrics and pages over plain HTTP: GET and HEAD only, one thread, bounded in every way.
// Where all connections are taken, the one whose last request is the longest ago makes room: nobody holds off the probes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/controller/controller.h"
#include "core/serve/http/server.h"

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
  /// "127.0.0.1:43121": where it really listens.
  std::string endpoint() const { return listener_->endpoint(); }

 private:
  HealthServer() = default;

  serve::HttpRuntime runtime_{0};
  std::unique_ptr<serve::HttpListener> listener_;
};

}  // namespace fleetadm::controller
