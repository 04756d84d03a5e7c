// The server's side of konnectivity's clients, as upstream's user server and its libraries are: takes their streams, and dials
// for them.
#pragma once

#include <functional>

#include "core/proxy/konnectivity/front_line.h"
#include "core/serve/http/message.h"

namespace fleetadm::konnectivity {

struct FrontPortOptions {
  /// Whether the request's client may dial. An Error refuses the stream; its message is for the log.
  std::function<Status(const serve::HttpRequest& request)> admits;
  DialTarget dial;
};

/// A request of the listener, which streams all bodies and lets them be idle for long (HttpLimits::idle). I/O thread only.
void handle_front_request(const FrontPortOptions& options, serve::HttpRequest request, const serve::Reply& reply);

}  // namespace fleetadm::konnectivity
