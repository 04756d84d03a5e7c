// The credentials of the hub for a thread that must not wait: what was read last.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "kubeclient/config/rest_config.h"

namespace fleetadm::proxy {

class HubCredentials final : public kube::CredentialSource {
 public:
  explicit HubCredentials(std::shared_ptr<kube::CredentialSource> source) : source_(std::move(source)) {}

  /// Reads them; may block.
  Status read();
  /// Reads them again every minute, and when they were refused, on a thread of its own that ends with this.
  void keep_reading();

  Result<kube::Credentials> current() override;
  bool refresh() override;

 private:
  /// They were refused: the source is to get new ones.
  bool take_stale();

  const std::shared_ptr<kube::CredentialSource> source_;
  std::mutex mutex_;
  kube::Credentials credentials_;
  std::atomic<bool> stale_{false};
  std::jthread reader_;
};

}  // namespace fleetadm::proxy
