// How clusters register with the hub, and what the hub does for the identity that they get that way
// (docs/reference/registration.md#other-ways-to-register). A further way is a class of its own.
#pragma once

#include <memory>
#include <stop_token>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::registration::hub {

/// Thread-safe.
class RegistrationDriver {
 public:
  virtual ~RegistrationDriver() = default;
  /// Whether the ManagedCluster registers this way.
  virtual bool handles(const Json& cluster) const = 0;
  /// Whether it may be accepted without a person.
  virtual bool trusts(const Json& cluster) const = 0;
  /// Makes what its identity needs beside the RBAC of its groups, before the cluster counts as accepted. Repeated after a
  /// failure.
  virtual Status grant(const Json& cluster, const std::stop_token& stop) = 0;
  /// Takes that away, before the cluster counts as denied, or is gone. Repeated after a failure.
  virtual Status withdraw(const Json& cluster, const std::stop_token& stop) = 0;
};

/// Those of a hub.
class RegistrationDrivers {
 public:
  void add(std::shared_ptr<RegistrationDriver> driver) { drivers_.push_back(std::move(driver)); }
  /// The first that handles the cluster; nullptr: it registers in a way that this hub does not offer.
  RegistrationDriver* of(const Json& cluster) const {
    for (const auto& driver : drivers_) {
      if (driver->handles(cluster)) return driver.get();
    }
    return nullptr;
  }
  Status grant(const Json& cluster, const std::stop_token& stop) const {
    RegistrationDriver* driver = of(cluster);
    return driver == nullptr ? Status{} : driver->grant(cluster, stop);
  }
  Status withdraw(const Json& cluster, const std::stop_token& stop) const {
    RegistrationDriver* driver = of(cluster);
    return driver == nullptr ? Status{} : driver->withdraw(cluster, stop);
  }

 private:
  std::vector<std::shared_ptr<RegistrationDriver>> drivers_;
};

}  // namespace fleetadm::registration::hub
