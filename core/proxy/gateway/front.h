// The gateway towards its clients: who asks is known on the hub, may do it there, and gets to the member under a name that the
// member's own rules judge (docs/reference/gateway.md).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/proxy/gateway/audit_record.h"
#include "core/proxy/gateway/request_limits.h"
#include "core/proxy/hop/hop.h"
#include "core/proxy/rules/exposed_services.h"
#include "core/serve/http/server.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::proxy {

/// What the hub knows of a cluster.
enum class ClusterState {
  kUnread,   // its clusters could not be read yet
  kAbsent,   // no ManagedCluster of that name
  kDenied,   // hubAcceptsClient is not true
  kAccepted  //
};

struct FrontOptions {
  RequestLimitOptions limits;
  std::shared_ptr<Clock> clock = Clock::system();
  /// All on the I/O thread; they must not block.
  std::function<ClusterState(std::string_view cluster)> state;
  std::function<std::shared_ptr<Hop>(std::string_view cluster)> hop;                    // null: there is no way to it now
  std::function<bool(std::string_view cluster, const ServiceTarget& service)> exposes;  // empty: nothing
  std::function<std::optional<Error>(std::string_view cluster)> down;  // what the hub knows of it then; empty: nothing
  /// Which hop it was (hop_names) where the way to a cluster ends with an Error; empty: the tunnel.
  std::function<std::string_view(std::string_view cluster)> first_hop;
  std::function<void(const AuditRecord&)> audit;
};

class Front {
 public:
  /// `hub`: whom it asks about callers. The runtime has workers, and ends first.
  Front(serve::HttpRuntime& runtime, kube::Client hub, FrontOptions options);

  /// For HttpListener::start_direct, with streams_body for all. I/O thread only.
  void handle(serve::HttpRequest request, serve::Reply reply);

  /// No more requests from now on: 503 with retry-after. Any thread.
  void drain();
  /// Requests and streams that are being answered. Any thread.
  std::size_t running() const;

 private:
  struct Inner;
  std::shared_ptr<Inner> inner_;
};

}  // namespace fleetadm::proxy
