// One cluster's API: every request goes authentication → impersonation → authorization → route
// (docs/reference/kubernetes-access.md#order-of-a-request).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/sandbox/engine/engine.h"
#include "core/sandbox/node/containers.h"
#include "core/sandbox/quota/pending.h"
#include "core/sandbox/store/journal.h"
#include "core/serve/http/message.h"

namespace fleetadm::sandbox {

/// Told of every request that was answered, on the worker that did it (an audit log). Streams have only begun by then.
using AuditHook = std::function<void(const serve::ApiRequest&, const serve::HttpResponse&)>;
/// A fault that is injected into the answer of a request.
struct FaultInjection {
  std::optional<ApiError> refusal;     // instead of an answer
  std::chrono::milliseconds delay{0};  // the answer comes so much later
  /// Wraps a streamed body; may be empty.
  std::function<std::shared_ptr<serve::BodyStream>(std::shared_ptr<serve::BodyStream>)> stream;
};

struct ApiOptions {
  std::unique_ptr<Journal> journal;  // null: in memory
  Store::Limits store;
  std::string ca_pem;     // what clients trust (kube-root-ca.crt)
  std::string token_key;  // signs service-account tokens, PEM
  std::shared_ptr<Clock> clock;
  AuditHook seen;
  /// Asked once a request's user is known; empty: no faults are injected. Any thread.
  std::function<FaultInjection(const serve::ApiRequest&)> disturb;
  std::shared_ptr<const ContainerTable> containers;  // with which logs, exec, … are served; may be null
  /// Runs what waits long for something outside (a webhook), so that other requests are answered meanwhile; may be empty.
  std::function<void(const std::function<void()>&)> wait_outside;
};

class ApiServer {
 public:
  static Result<std::unique_ptr<ApiServer>> open(ApiOptions options);
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  /// Any thread; may block (storage, waiting for a revision).
  serve::HttpResponse handle(const serve::HttpRequest& request) const;
  /// Ends what requests wait for outside of this server (webhooks), before it is torn down. Any thread.
  void end_calls();
  Engine& engine();
  quota::PendingWrites& pending_writes();
  /// Called after every committed write, on the writer's thread.
  void on_write(Observer listener);

 private:
  struct Inner;
  explicit ApiServer(std::unique_ptr<Inner> inner);
  std::unique_ptr<Inner> inner_;
};

}  // namespace fleetadm::sandbox
