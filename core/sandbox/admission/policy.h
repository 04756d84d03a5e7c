// One ValidatingAdmissionPolicy, compiled, and what it decides about one request with one parameter object.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/sandbox/admission/expressions.h"
#include "core/sandbox/admission/match.h"

namespace fleetadm::sandbox::admission {

struct Validation {
  Expression expression;
  std::string message;
  std::optional<Expression> message_expression;
  std::string reason;  // "Invalid" where not said
};

struct Named {
  std::string name;
  Expression expression;
};

struct CompiledPolicy {
  std::string name;
  Json spec;
  bool ignores_failures = false;
  Matcher matcher;
  std::vector<Named> conditions;
  std::vector<Composed> variables;
  std::vector<Validation> validations;
  std::vector<Named> annotations;  // auditAnnotations, by key

  /// What does not compile is kept with its error: the rules of policies list it, evaluations fail by it.
  static CompiledPolicy of(const std::string& name, const Json& spec);
};

/// What the expressions of a policy see of a request.
struct Facts {
  Json object;  // null where there is none
  Json old;
  Json request;
  Json name_space;  // null of cluster-scoped objects
  Json params;      // null where there are none
  cel::Value authorizer;
  cel::Value request_resource;
};

struct Verdict {
  std::string message;
  std::string reason;     // empty: the policy failed rather than the object
  bool by_audit = false;  // an audit annotation failed: denied whatever the binding's actions are
};

/// The denials, in order; none where the policy has nothing against it (or does not apply by its matchConditions).
std::vector<Verdict> judge(const CompiledPolicy& policy, const Facts& facts);

}  // namespace fleetadm::sandbox::admission
