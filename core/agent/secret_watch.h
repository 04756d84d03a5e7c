// Told of changes of Secrets by their names, through one watch for all Secrets of a namespace: what agents share that keep their
// Secrets in the same one.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "kubeclient/watch/informer.h"

namespace fleetadm::agent {

/// Thread-safe.
class SecretWatch {
 public:
  /// What is told; it runs on the I/O thread, or on that of on(). Keep it short, and call nothing of the watch in it.
  struct Told {
    std::function<void()> changed;  // the Secret came, changed or went; of one that is there already nothing is told
    std::function<void()> watched;  // from now on, and again after each new list
  };
  /// Ends with the object; nothing is told when its destructor has returned.
  class Subscription {
   public:
    Subscription() = default;
    Subscription(Subscription&&) = default;
    Subscription& operator=(Subscription&&) = default;

   private:
    friend class SecretWatch;
    explicit Subscription(std::shared_ptr<void> end) : end_(std::move(end)) {}
    std::shared_ptr<void> end_;
  };

  /// `secrets`: all those of a namespace, not started yet.
  explicit SecretWatch(const std::shared_ptr<kube::Informer>& secrets);
  [[nodiscard]] Subscription on(const std::string& name, Told told);
  /// Whether changes are told now, and not only when the server answers again.
  bool tells() const;

 private:
  struct Listeners;
  std::weak_ptr<kube::Informer> secrets_;
  std::shared_ptr<Listeners> listeners_;
};

}  // namespace fleetadm::agent
