// How functions, variables, constants and macros come into an environment: a Library is data that lists them.
//
//   Library lists() {
//     Library library{.name = "kubernetes.lists"};
//     library.functions.push_back({"isSorted", {member("list_a_is_sorted", {Type::list(Type::param("A"))}, Type::boolean(),
//     is_sorted)}}); return library;
//   }
//
// A function that is declared by several libraries has the overloads of all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/cel/type.h"
#include "core/cel/value.h"
#include "kubeclient/base/result.h"

namespace fleetadm::cel {

class ScoreSource;

/// What the embedder hands to its own functions through Program::evaluate.
class Host {
 public:
  virtual ~Host() = default;
  /// Where `scores` looks; null: nowhere.
  virtual const ScoreSource* score_source() const { return nullptr; }
};

/// What an implementation may use beside its arguments.
struct CallContext {
  /// The interpreter has already spent the shallow sizes of the arguments; implementations that visit more spend that themselves
  /// and return any error when spend() is false.
  Work& work;
  const Host* host = nullptr;
};

/// Computes a call. For members, args[0] is the receiver. Never called with error values, unless the overload is non_strict.
/// Argument kinds: only where the static type is dyn may a value of another kind come, and then the interpreter has checked the
/// outermost kind against `params` (type parameters and dyn accept all): no overload that fits is "no such overload".
using Implementation = std::function<Value(CallContext&, std::span<const Value>)>;

/// The runtime cost of a call, seen after it (cel-go's FunctionTracker); arguments and result may be errors. None: the default
/// cost of the overload, which is 1 where the standard cost table (docs/reference/cel.md#cost) has no other.
using CostFunction = std::function<std::optional<std::uint64_t>(std::span<const Value> args, const Value& result)>;

/// Called once when a program is planned, with the arguments that are literals: may return an implementation made for them (a
/// compiled pattern), an empty one to keep the general one, or an error that makes the compile fail in phase kPlan.
using Specialise = std::function<Result<Implementation>(std::span<const std::optional<Value>> literals)>;

struct Overload {
  std::string id;            // cel-go's overload id: cost trackers and the differential test go by it
  bool member = false;       // receiver.name(args…); the receiver is params[0]
  std::vector<Type> params;  //
  Type result;
  Implementation call;
  CostFunction cost;
  bool non_strict = false;  // sees errors among its arguments
  Specialise specialise;
  /// A specialised call evaluates its arguments only up to the first that fails, and then costs nothing (as upstream's calls with
  /// a compiled pattern do).
  bool in_order_when_specialised = false;
  /// Does not visit the elements of its lists and maps: their sizes are not taken from the Work.
  bool constant_time = false;
  /// Unknown to the checker: only values whose type was dyn come to it.
  bool undeclared = false;
};

/// Short forms: `global("url", {Type::string()}, url_type, parse_url)`.
Overload global(std::string id, std::vector<Type> params, Type result, Implementation call, CostFunction cost = {});
Overload member(std::string id, std::vector<Type> params, Type result, Implementation call, CostFunction cost = {});
Overload constant_time(Overload overload);
/// Of what the planner has nodes of its own for: only its types matter.
Value planned(CallContext& context, std::span<const Value> args);

struct Function {
  std::string name;  // may be qualified: "strings.quote", "ip.isCanonical"
  std::vector<Overload> overloads;
  /// The overloads share one implementation that goes by the values alone (cel-go's singleton bindings): where a static type was
  /// dyn, all of them are tried, not only the ones that fit the types.
  bool singleton = false;
};

struct Variable {
  std::string name;
  Type type;
};

/// A name with a fixed value: `Constant{"kubernetes.Quantity", Type::type(q), Value::type(q)}` makes a type's name known.
struct Constant {
  std::string name;
  Type type;
  Value value;
};

class Expr;
struct Issue;
class MacroContext;
using ExprPtr = std::unique_ptr<Expr>;

/// A type with fields that are known by name, where the checker finds what is misspelt. Its values are maps.
struct Struct {
  std::string name;  // the type is Type::opaque(name)
  std::vector<Variable> fields;
};

/// Rewrites a call while it is parsed; see core/cel/ast.h and macros.h for what an expansion is built from.
struct Macro {
  std::string name;
  bool receiver = true;
  std::size_t arguments = 0;
  std::function<ExprPtr(MacroContext&, ExprPtr target, std::vector<ExprPtr> args)> expand;  // nullptr after MacroContext::fail
};

/// Looks at each node of a checked tree and adds what is wrong with it beyond its types; see core/cel/ast.h.
using Validator = std::function<void(const Expr& node, std::vector<Issue>& issues)>;

struct Library {
  std::string name;
  std::vector<Function> functions;
  std::vector<Variable> variables;
  std::vector<Constant> constants;
  std::vector<Struct> structs;
  std::vector<Macro> macros;
  std::vector<Validator> validators;
  bool optional_syntax = false;  // a.?b, a[?b], [?x], {?k: v}
};

/// cel-go's standard library: operators, conversions, size, contains, matches, time getters, and the macros has, all, exists,
/// exists_one, map, filter.
Library standard_library();
/// cel-go's optional types, version 2: optional.of/none/ofNonZeroValue/unwrap, hasValue, value, or, orValue, first, last,
/// unwrapOpt, optMap, optFlatMap and the optional syntax.
Library optional_library();

}  // namespace fleetadm::cel
