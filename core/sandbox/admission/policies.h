// The ValidatingAdmissionPolicies of a cluster, enforced on every write (docs/reference/kubernetes-access.md#admission). A
// policy is compiled when a request first meets it and again only after it has changed. Any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/sandbox/admission/policy.h"
#include "core/sandbox/auth/rbac.h"

namespace fleetadm::sandbox::admission {

class Policies {
 public:
  Policies(const Engine& engine, const Rbac& rbac);

  /// The denial of a write, in the server's words; warnings are added either way.
  ApiStatus admit(const Admission& write, std::vector<std::string>& warnings) const;
  /// A policy or binding was written.
  void changed() { ++wanted_; }

 private:
  struct Bound;
  class Review;
  using Snapshot = std::vector<Bound>;
  std::shared_ptr<const Snapshot> snapshot() const;

  const Engine& engine_;
  std::shared_ptr<const std::function<Decision(const serve::User&, const serve::Attributes&)>> ask_;
  std::atomic<std::uint64_t> wanted_{1};
  mutable std::mutex mutex_;
  mutable std::uint64_t built_ = 0;
  mutable std::shared_ptr<const Snapshot> snapshot_;
};

/// Checks of the two kinds: shape, expressions that compile, the right to read the parameters.
Strategy policy_strategy(const Rbac& rbac);
Strategy policy_binding_strategy(const Rbac& rbac);

}  // namespace fleetadm::sandbox::admission
