// The conversion webhook beside the hub's controllers, on a thread of its own.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/addon/webhook/keeper.h"

namespace fleetadm::addon {

/// Serves from its construction on; a failure is told in the log and tried again. Any thread.
class WebhookServer {
 public:
  WebhookServer(const kube::Client& client, const WebhookOptions& options);
  ~WebhookServer();
  WebhookServer(const WebhookServer&) = delete;
  WebhookServer& operator=(const WebhookServer&) = delete;

  /// Whether this replica leads the others: the definitions name the leader's webhook.
  void lead(bool leads);

 private:
  void run(const std::stop_token& stop);

  std::stop_source stop_;  // of its requests
  WebhookKeeper keeper_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool leads_ = false;
  bool hurry_ = false;
  std::jthread thread_;  // last: it ends first
};

}  // namespace fleetadm::addon
