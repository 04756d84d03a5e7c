// Role-based access control (docs/reference/kubernetes-access.md#rbac). Roles and bindings are read again when they changed.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/sandbox/engine/engine.h"

namespace fleetadm::sandbox {

struct PolicyRule {
  std::vector<std::string> verbs;
  std::vector<std::string> groups;
  std::vector<std::string> resources;
  std::vector<std::string> names;
  std::vector<std::string> urls;

  static PolicyRule of(const Json& rule);
  Json json() const;
  bool allows(const serve::Attributes& what) const;
};

struct Decision {
  bool allowed = false;
  std::string reason;
};

class Rbac {
 public:
  explicit Rbac(const Engine& engine) : engine_(engine) {}

  Decision authorize(const serve::User& user, const serve::Attributes& what) const;
  /// Every rule that holds for a user in a namespace ("": cluster-wide only).
  std::vector<PolicyRule> rules_of(const serve::User& user, const std::string& ns) const;
  /// What of `wanted` the user does not hold there; empty: nothing is missing.
  std::vector<PolicyRule> missing(const serve::User& user, const std::string& ns, const std::vector<PolicyRule>& wanted) const;
  /// The rules of a role that a binding names; nullopt where there is none.
  std::optional<std::vector<PolicyRule>> role(const std::string& kind, const std::string& ns, const std::string& name) const;
  /// A role or binding was written.
  void changed() { ++wanted_; }

 private:
  struct Snapshot;
  std::shared_ptr<const Snapshot> snapshot() const;
  template <class Visit>
  void visit(const serve::User& user, const std::string& ns, Visit&& each) const;

  const Engine& engine_;
  std::atomic<std::uint64_t> wanted_{1};
  mutable std::mutex mutex_;
  mutable std::uint64_t built_ = 0;
  mutable std::shared_ptr<const Snapshot> snapshot_;
};

/// Checks and defaults of roles and bindings: shape, immutable roleRef, no escalation.
Strategy role_strategy(const Rbac& rbac);
Strategy binding_strategy(const Rbac& rbac);
/// The sentence of a 403.
std::string denial(const serve::User& user, const serve::Attributes& what, const std::string& reason);

}  // namespace fleetadm::sandbox
