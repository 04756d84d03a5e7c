// The pods of a cluster, watched for their sums alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "core/registration/agent/figures.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::registration::agent {

class PodWatch {
 public:
  /// `synced` runs on the I/O thread once all pods have been listed; it may be empty.
  explicit PodWatch(kube::Client cluster, std::function<void()> synced = {});
  ~PodWatch();
  PodWatch(const PodWatch&) = delete;
  PodWatch& operator=(const PodWatch&) = delete;

  /// Begins where it has not: a list of all pods is the most that a cluster is asked.
  void begin();
  /// nullopt: not all of them have been listed yet.
  std::optional<PodSums::Sums> sums() const;
  /// The same number for the same sums; nullopt as there.
  std::optional<std::uint64_t> revision() const;

 private:
  kube::Client cluster_;
  std::function<void()> synced_;
  std::shared_ptr<PodSums> sums_;
  const std::shared_ptr<std::atomic<bool>> counted_ = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<kube::Informer> pods_;
};

}  // namespace fleetadm::registration::agent
