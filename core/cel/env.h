// The way in: an Env of libraries compiles texts to Programs, and a Program answers for bindings. Both are immutable and may be
// used by many threads at once. Evaluation is pure: no clock, no I/O, no state that outlives it; it always ends (cost, work and
// depth limits).
//
//   auto env = Env::build({standard_library(), optional_library(), strings_library(), {.variables = {{"object", Type::dyn()}}}});
//   auto program = env->compile("object.spec.replicas > 3");
//   if (!program) show(program.error().render());
//   Outcome outcome = program->evaluate({{"object", Value::view(json)}});
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cel/library.h"
#include "core/cel/type.h"
#include "core/cel/value.h"
#include "kubeclient/base/result.h"

namespace fleetadm::cel {

/// Expressions longer than this (code points) do not compile.
inline constexpr std::size_t kMaxExpressionCodePoints = 100'000;
/// How deep each rule of the grammar may nest.
inline constexpr int kMaxExpressionDepth = 250;
/// Kubernetes' limits: of one evaluation, and of all evaluations for one object.
inline constexpr std::uint64_t kPerCallCostLimit = 1'000'000;
inline constexpr std::uint64_t kObjectCostBudget = 10'000'000;

/// Both ends are reached; the greatest value means that there is no bound.
struct CostRange {
  std::uint64_t min = 0;
  std::uint64_t max = 0;
};

/// How many elements, or bytes of a text, the value at a path may have; nullopt: not known. A path begins with a variable's name
/// and goes on with fields, "@items" of a list, "@keys" and "@values" of a map.
using MaxSizes = std::function<std::optional<std::uint64_t>(std::span<const std::string> path)>;

struct Issue {
  int line = 1;    // from 1
  int column = 1;  // from 1, in code points
  std::string message;
};

/// Why a text is no program.
struct CompileFailure {
  enum class Phase { kSyntax, kCheck, kPlan };
  Phase phase = Phase::kSyntax;
  std::vector<Issue> issues;  // by position
  std::string expression;

  /// One paragraph an issue: "ERROR: <input>:1:5: …", the line, and a caret below the column.
  std::string render() const;
};

/// A variable's value for one evaluation.
struct Binding {
  std::string_view name;
  Value value;
};

struct Limits {
  std::uint64_t cost = kPerCallCostLimit;  // an evaluation ends as soon as its cost is above
  std::uint64_t work = 50'000'000;         // see Work
};

struct Outcome {
  Value value;                 // an error value where the evaluation failed
  std::uint64_t cost = 0;      // what was spent, also of a failed evaluation
  bool limit_reached = false;  // it failed because of Limits

  bool ok() const { return !value.is_error(); }
};

class Program {
 public:
  /// Bindings of names the Env does not declare are ignored; a declared variable without binding is an error when it is read.
  Outcome evaluate(std::span<const Binding> bindings, const Limits& limits = {}, const Host* host = nullptr) const;
  Outcome evaluate(std::initializer_list<Binding> bindings, const Limits& limits = {}, const Host* host = nullptr) const {
    return evaluate(std::span(bindings.begin(), bindings.size()), limits, host);
  }
  /// The checked type of the result: callers that need a bool refuse a program whose type is neither bool nor dyn.
  const Type& result_type() const;

  struct Plan;  // of the implementation

 private:
  friend class Env;
  explicit Program(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}
  std::shared_ptr<const Plan> plan_;
};

class Env {
 public:
  /// Fails (Category::kInternal) where the libraries contradict each other: a variable twice with different types, an overload id
  /// twice, two overloads of one function that no call could tell apart.
  static Result<Env> build(std::vector<Library> libraries);

  tl::expected<Program, CompileFailure> compile(std::string_view text) const;
  /// What the expression costs at least and at most; the failures are those of compile().
  tl::expected<CostRange, CompileFailure> estimate_cost(std::string_view text, const MaxSizes& sizes) const;

  struct Declarations;  // of the implementation

 private:
  explicit Env(std::shared_ptr<const Declarations> declarations) : declarations_(std::move(declarations)) {}
  std::shared_ptr<const Declarations> declarations_;
};

}  // namespace fleetadm::cel
