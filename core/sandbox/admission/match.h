// Which requests a policy or a binding is about: resource rules, selectors, match policy (Kubernetes 1.35).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/sandbox/engine/engine.h"
#include "kubeclient/base/query_selectors.h"

namespace fleetadm::sandbox::admission {

/// A request as policies are matched with it.
struct Asked {
  const Admission& write;
  std::string ns;    // of a Namespace its own name
  std::string name;  // empty where the server makes it up
  std::string subresource;
};

/// The row a policy is shown the object as: the request's, or an equivalent one of another version.
struct Match {
  KindPtr other;  // null: the request's own
};

class Matcher {
 public:
  /// Of matchConstraints or matchResources; null matches everything.
  static Matcher of(const Json* resources);

  /// nullopt: it is about other requests. Failure: why it cannot be told (a namespace that is gone).
  ApiResult<std::optional<Match>> match(const Engine& engine, const Asked& asked) const;

 private:
  struct Rule {
    std::vector<std::string> names, operations, groups, versions, resources;
    std::string scope;
    bool matches(const Asked& asked, const Kind& as) const;
  };
  static std::vector<Rule> rules_of(const Json& list);
  std::optional<Match> by_rules(const std::vector<Rule>& rules, const Engine& engine, const Asked& asked) const;

  std::vector<Rule> rules_, excluded_;
  bool equivalent_ = false;
  LabelSelector namespaces_, objects_;
};

}  // namespace fleetadm::sandbox::admission
