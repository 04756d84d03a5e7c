// Parsed expressions. The parser makes them, macros rewrite them, the checker annotates them, the planner turns them into a
// program.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/cel/library.h"
#include "core/cel/type.h"
#include "core/cel/value.h"

namespace fleetadm::cel {

/// Where a node comes from, both from 1; columns count code points.
struct Position {
  int line = 1;
  int column = 1;
};

/// range.all(x, …) and its kin: a fold over the elements of a list or the keys of a map.
struct Comprehension {
  std::string element;      // the variable of the loop
  std::string accumulator;  // visible in condition, step and result
  ExprPtr range;
  ExprPtr init;       // evaluated when the accumulator is first read
  ExprPtr condition;  // the loop goes on while this is true
  ExprPtr step;       // the accumulator's next value
  ExprPtr result;
};

class Expr {
 public:
  enum class Kind : unsigned char { kLiteral, kIdent, kSelect, kCall, kList, kMap, kComprehension };

  Kind kind = Kind::kLiteral;
  bool test_only = false;  // has(target.name)
  bool member = false;     // a call written target.name(…)
  Position at;
  std::string name;            // of an identifier (may begin with "."), a field or a function
  Value literal;               //
  ExprPtr target;              // what a field is selected from; the receiver of a member call
  std::vector<ExprPtr> args;   // of a call, elements of a list, keys and values of a map by turns
  std::vector<bool> optional;  // per element or entry: written with a question mark
  std::unique_ptr<Comprehension> fold;

  // What the checker found out.
  Type type;
  std::vector<const Overload*> overloads;  // a call's candidates; one where the types decide
  const Function* function = nullptr;
  const Constant* constant = nullptr;  // a name with a fixed value
  bool global = false;                 // a name outside of every comprehension
};

/// Names of operators in calls, as everywhere in CEL.
namespace op {
inline constexpr const char* kConditional = "_?_:_";
inline constexpr const char* kAnd = "_&&_";
inline constexpr const char* kOr = "_||_";
inline constexpr const char* kNot = "!_";
inline constexpr const char* kEquals = "_==_";
inline constexpr const char* kNotEquals = "_!=_";
inline constexpr const char* kLess = "_<_";
inline constexpr const char* kLessEquals = "_<=_";
inline constexpr const char* kGreater = "_>_";
inline constexpr const char* kGreaterEquals = "_>=_";
inline constexpr const char* kAdd = "_+_";
inline constexpr const char* kSubtract = "_-_";
inline constexpr const char* kMultiply = "_*_";
inline constexpr const char* kDivide = "_/_";
inline constexpr const char* kModulo = "_%_";
inline constexpr const char* kNegate = "-_";
inline constexpr const char* kIndex = "_[_]";
inline constexpr const char* kOptionalIndex = "_[?_]";
inline constexpr const char* kOptionalSelect = "_?._";
inline constexpr const char* kIn = "@in";
inline constexpr const char* kNotStrictlyFalse = "@not_strictly_false";
}  // namespace op

/// The accumulator of the standard macros: no name that can be written.
inline constexpr const char* kAccumulator = "@result";
/// The loop variable of macros that do not loop.
inline constexpr const char* kUnused = "#unused";

/// What macro expansions build their result from. Nodes that are made here are at the position of the macro's call.
class MacroContext {
 public:
  /// `budget`: how many more nodes an expression may have; copy() takes from it.
  MacroContext(Position at, std::size_t& budget) : at_(at), budget_(budget) {}

  ExprPtr literal(Value value) const;
  ExprPtr ident(std::string name) const;
  ExprPtr accumulator() const { return ident(kAccumulator); }
  ExprPtr call(std::string function, ExprPtr a = nullptr, ExprPtr b = nullptr, ExprPtr c = nullptr) const;
  ExprPtr member_call(ExprPtr target, std::string function) const;
  ExprPtr list(ExprPtr element = nullptr) const;
  ExprPtr fold(Comprehension parts) const;
  /// A deep copy; nullptr (and a failure) where the expression would grow beyond its limit.
  ExprPtr copy(const Expr& expr);
  /// Notes why the arguments do not fit; return it.
  ExprPtr fail(const Expr& where, std::string message);

  const std::string& failure() const { return failure_; }
  /// Of the macro's call.
  Position at() const { return at_; }
  Position failed_at() const { return failed_at_; }

 private:
  ExprPtr make(Expr::Kind kind) const;

  Position at_;
  std::size_t& budget_;
  std::string failure_;
  Position failed_at_;
};

}  // namespace fleetadm::cel
