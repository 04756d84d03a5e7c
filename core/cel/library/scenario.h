// One expression to answer as JSON, in and out: the batch form of the evaluator. The format is documented in
// fleetadm-scenarios(7); a change here is a change of that contract.
#pragma once

#include "core/cel/env.h"
#include "kubeclient/base/json.h"

namespace fleetadm::cel {

/// Said for an empty text, which upstream's condition rules do not say.
inline constexpr std::string_view kEmptyText = "(empty)";

/// Answers cases {"expression": text, "object": any} in the environment of a condition rule's message (`result` is true), where
/// values are texts: {"value": text}, or {"phase": "compile"|"evaluate", "error": text}. Thread-safe.
class ScenarioAnswerer {
 public:
  static Result<ScenarioAnswerer> make();
  /// kInvalid: the line has no expression.
  Result<Json> answer(const Json& line) const;

 private:
  explicit ScenarioAnswerer(Env env) : env_(std::move(env)) {}
  Env env_;
};

}  // namespace fleetadm::cel
