// What an agent holds that ends some day, for its figures.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/agent/bootstrap_source.h"
#include "core/registration/agent/hub_secret.h"
#include "core/registration/expiry/hop.h"

namespace fleetadm::agent {

/// Thread-safe. It keeps dates, not what they are of.
class Certificates {
 public:
  /// As they are from now on.
  void hold(const registration::agent::HubSecret& credential);
  void hold(const std::optional<Bootstrap>& bootstrap, const std::string& cluster);
  std::vector<registration::expiry::Hop> judged(Instant now) const;

 private:
  mutable std::mutex mutex_;
  std::vector<registration::expiry::Hop> credential_;
  std::vector<registration::expiry::Hop> bootstrap_;
};

}  // namespace fleetadm::agent
