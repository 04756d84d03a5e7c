// Objects of the spoke that may not be served or not be readable: cached where they are, without anything waiting for them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::registration::agent {

class OptionalSource {
 public:
  /// `which` objects, and what is kept of them. `changed` runs on the I/O thread when the projected content of one changed, came
  /// or went.
  OptionalSource(kube::Client spoke, kube::Resource resource, kube::InformerOptions which, std::function<void()> changed);
  ~OptionalSource();
  OptionalSource(const OptionalSource&) = delete;
  OptionalSource& operator=(const OptionalSource&) = delete;

  /// Looks, at most every five minutes, whether the type is served, and starts watching it once it is. One thread at a time.
  void ensure(Instant now);
  /// Whether ensure() would look.
  bool is_due(Instant now) const;
  /// The cached objects; empty where the type is not served; nothing where that is not known (not listed yet, or forbidden):
  /// then whatever was reported before still stands.
  std::optional<std::vector<Json>> objects() const;
  /// Likewise one after the other, of which a cluster may have thousands. False: nothing is known.
  bool for_each(const std::function<void(const Json&)>& look) const;
  /// They are being listed.
  bool is_coming() const { return informer_ != nullptr && !informer_->synced(); }

 private:
  kube::Client spoke_;
  kube::Resource resource_;
  kube::InformerOptions which_;
  std::function<void()> changed_;
  std::shared_ptr<kube::Informer> informer_;
  std::optional<Instant> looked_;
  bool absent_ = false;
};

}  // namespace fleetadm::registration::agent
