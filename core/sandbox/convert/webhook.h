// The HTTPS side of a conversion webhook: where it is, whom it is trusted by, and one POST.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "kubeclient/base/json.h"
#include "kubeclient/transport/transport.h"

namespace fleetadm::sandbox::convert {

/// What webhooks need of the cluster that calls them.
struct Place {
  /// Where a service's backend listens ("127.0.0.1:8443"), or why there is none.
  std::function<Result<std::string>(const std::string& ns, const std::string& name, int port)> service;
  std::stop_token stop;  // the cluster ends: calls end with it
  /// Runs what waits long, so that others can go on meanwhile; may be empty.
  std::function<void(const std::function<void()>&)> wait_outside;
};

/// Any thread.
class Webhook {
 public:
  /// `client`: a definition's spec.conversion.webhook.clientConfig, which was validated when it was written.
  Webhook(const Json& client, Place place);

  using Answer = Result<std::string>;
  /// POSTs a JSON text and calls `done` once, on this or any other thread: with the body of a 2xx answer, or with why there is
  /// none, in the words of kube-apiserver. Never blocks; an end within 30 s is certain. The handle may be null (then `done` has
  /// been called); without it nothing more is called. A body longer than `most` is refused. The certificate is always checked,
  /// against the caBundle alone where there is one, else against the system's roots.
  std::unique_ptr<kube::StreamHandle> post(std::string body, std::size_t most, std::function<void(Answer)> done) const;
  /// Runs a function that waits for an answer.
  void wait(const std::function<void()>& until_answered) const;

 private:
  std::shared_ptr<kube::Transport> transport_to(const std::string& server) const;

  Place place_;
  std::string url_;  // as messages name it; of a service with its DNS name
  std::string ca_;
  std::string service_;  // empty: the URL is called
  std::string service_ns_;
  int service_port_ = 443;
  std::string path_;
  // Connections are kept for the next call; a service's backend may move.
  mutable std::mutex mutex_;
  mutable std::string server_;
  mutable std::shared_ptr<kube::Transport> transport_;
};

}  // namespace fleetadm::sandbox::convert
