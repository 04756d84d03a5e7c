// Role-based access control (docs/reference/kubernetes-access.md#rbac). A role or binding is read again when it changed; bindings
// are found by their subjects, as a hub has some for each of its clusters.
#pragma once

#include <memory>
#include <optional>
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
  explicit Rbac(const Engine& engine);
  ~Rbac();

  Decision authorize(const serve::User& user, const serve::Attributes& what) const;
  /// Every rule that holds for a user in a namespace ("": cluster-wide only).
  std::vector<PolicyRule> rules_of(const serve::User& user, const std::string& ns) const;
  /// What of `wanted` the user does not hold there; empty: nothing is missing.
  std::vector<PolicyRule> missing(const serve::User& user, const std::string& ns, const std::vector<PolicyRule>& wanted) const;
  /// The rules of a role that a binding names; null where there is none.
  std::shared_ptr<const std::vector<PolicyRule>> role(const std::string& kind, const std::string& ns,
                                                      const std::string& name) const;
  /// A role or binding (by plural name of its kind) was written or removed.
  void changed(const std::string& plural, const std::string& ns, const std::string& name);

 private:
  struct Index;
  template <class Visit>
  void visit(const serve::User& user, const std::string& ns, Visit&& each) const;

  std::unique_ptr<Index> index_;
};

/// Checks and defaults of roles and bindings: shape, immutable roleRef, no escalation.
Strategy role_strategy(const Rbac& rbac);
Strategy binding_strategy(const Rbac& rbac);
/// The sentence of a 403.
std::string denial(const serve::User& user, const serve::Attributes& what, const std::string& reason);

}  // namespace fleetadm::sandbox
