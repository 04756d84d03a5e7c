// The CEL of ValidatingAdmissionPolicies: which names expressions see, compiled once, evaluated for a request (Kubernetes 1.35).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/cel/env.h"

namespace fleetadm::sandbox::admission {

/// What an expression may yield; another static type does not compile (dyn neither, but for kAny).
enum class Yields { kAny, kBool, kString, kStringOrNull };

/// An expression that is compiled, or why it is not.
struct Expression {
  std::string text;
  std::optional<cel::Program> program;
  std::string error;               // "compilation failed: …", "must evaluate to bool but got string"
  std::vector<std::string> needs;  // the composed variables that its text names
};

/// Types of what a request brings along, for a static check; where they are not known, all of it is dyn.
struct KnownTypes {
  cel::Type object;
  std::optional<cel::Type> params;  // nullopt: there are none
  std::vector<cel::Struct> structs;
};

/// Compiles the expressions of one policy. Variables are added in their order: each sees those before it.
class Compiler {
 public:
  explicit Compiler(bool has_params) : has_params_(has_params) {}
  explicit Compiler(KnownTypes known) : has_params_(known.params.has_value()), known_(std::move(known)) {}

  /// `variables` (if any were added) are fields of `variables`.
  Expression compile(const std::string& text, Yields yields, bool with_authorizer, bool with_variables = true);
  /// What keeps the text from compiling, whatever it yields; nullopt: nothing.
  std::optional<std::string> check(const std::string& text);
  /// Compiles a variable and makes it known to what is compiled later.
  Expression add_variable(const std::string& name, const std::string& text);

 private:
  const Result<cel::Env>& environment(bool with_authorizer, bool with_variables);

  bool has_params_;
  KnownTypes known_;
  bool composed_ = false;
  std::vector<cel::Variable> variables_;
  std::map<std::pair<bool, bool>, Result<cel::Env>> environments_;  // of the variables known now
};

struct Composed {
  std::string name;
  Expression expression;
};

/// Evaluates expressions for one request; composed variables are computed when the first expression names them, once.
class Evaluation {
 public:
  /// `bindings` are all but `variables`; they, what they borrow from, and `variables` must outlive this.
  Evaluation(const std::vector<Composed>& variables, std::vector<cel::Binding> bindings, std::uint64_t budget)
      : composed_(variables), bindings_(std::move(bindings)), budget_(budget) {}

  struct Outcome {
    cel::Value value;
    std::string error;           // empty where there is a value
    bool out_of_budget = false;  // nothing more is to be evaluated; `error` says so
  };
  Outcome evaluate(const Expression& expression);

 private:
  void compute(const std::vector<std::string>& names);
  cel::Outcome run(const cel::Program& program);

  const std::vector<Composed>& composed_;
  std::vector<cel::Binding> bindings_;
  std::uint64_t budget_;
  bool exhausted_ = false;
  std::map<std::string, cel::Value, std::less<>> values_;
};

}  // namespace fleetadm::sandbox::admission
