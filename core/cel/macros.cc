// The macros of the standard library: each becomes a presence test or a fold.
#include "core/cel/macros.h"

#include <utility>

namespace fleetadm::cel {

namespace {

using MacroArgs = std::vector<ExprPtr>;

/// The loop variable of a macro; empty after a failure.
std::string loop_variable(MacroContext& context, const Expr& argument) {
  if (argument.kind != Expr::Kind::kIdent || argument.name.empty() || argument.name.front() == '.') {
    context.fail(argument, "argument must be a simple name");
    return {};
  }
  if (argument.name == kAccumulator || argument.name == "__result__") {
    context.fail(argument, "iteration variable overwrites accumulator variable");
    return {};
  }
  return argument.name;
}

ExprPtr expand_has(MacroContext& context, ExprPtr /*target*/, MacroArgs args) {
  if (args[0]->kind != Expr::Kind::kSelect) return context.fail(*args[0], "invalid argument to has() macro");
  args[0]->test_only = true;
  args[0]->at = context.at();
  return std::move(args[0]);
}

ExprPtr expand_all(MacroContext& context, ExprPtr target, MacroArgs args) {
  std::string variable = loop_variable(context, *args[0]);
  if (variable.empty()) return nullptr;
  return context.fold({.element = std::move(variable),
                       .accumulator = kAccumulator,
                       .range = std::move(target),
                       .init = context.literal(Value::boolean(true)),
                       .condition = context.call(op::kNotStrictlyFalse, context.accumulator()),
                       .step = context.call(op::kAnd, context.accumulator(), std::move(args[1])),
                       .result = context.accumulator()});
}

ExprPtr expand_exists(MacroContext& context, ExprPtr target, MacroArgs args) {
  std::string variable = loop_variable(context, *args[0]);
  if (variable.empty()) return nullptr;
  return context.fold({.element = std::move(variable),
                       .accumulator = kAccumulator,
                       .range = std::move(target),
                       .init = context.literal(Value::boolean(false)),
                       .condition = context.call(op::kNotStrictlyFalse, context.call(op::kNot, context.accumulator())),
                       .step = context.call(op::kOr, context.accumulator(), std::move(args[1])),
                       .result = context.accumulator()});
}

ExprPtr expand_exists_one(MacroContext& context, ExprPtr target, MacroArgs args) {
  std::string variable = loop_variable(context, *args[0]);
  if (variable.empty()) return nullptr;
  auto one_more = context.call(op::kAdd, context.accumulator(), context.literal(Value::integer(1)));
  return context.fold({.element = std::move(variable),
                       .accumulator = kAccumulator,
                       .range = std::move(target),
                       .init = context.literal(Value::integer(0)),
                       .condition = context.literal(Value::boolean(true)),
                       .step = context.call(op::kConditional, std::move(args[1]), std::move(one_more), context.accumulator()),
                       .result = context.call(op::kEquals, context.accumulator(), context.literal(Value::integer(1)))});
}

ExprPtr collect(MacroContext& context, ExprPtr target, std::string variable, ExprPtr filter, ExprPtr element) {
  auto step = context.call(op::kAdd, context.accumulator(), context.list(std::move(element)));
  if (filter != nullptr) step = context.call(op::kConditional, std::move(filter), std::move(step), context.accumulator());
  return context.fold({.element = std::move(variable),
                       .accumulator = kAccumulator,
                       .range = std::move(target),
                       .init = context.list(),
                       .condition = context.literal(Value::boolean(true)),
                       .step = std::move(step),
                       .result = context.accumulator()});
}

/// range.map(x, f) and range.map(x, filter, f).
ExprPtr expand_map(MacroContext& context, ExprPtr target, MacroArgs args) {
  std::string variable = loop_variable(context, *args[0]);
  if (variable.empty()) return nullptr;
  auto filter = args.size() == 3 ? std::move(args[1]) : nullptr;
  return collect(context, std::move(target), std::move(variable), std::move(filter), std::move(args.back()));
}

ExprPtr expand_filter(MacroContext& context, ExprPtr target, MacroArgs args) {
  std::string variable = loop_variable(context, *args[0]);
  if (variable.empty()) return nullptr;
  return collect(context, std::move(target), std::move(variable), std::move(args[1]), std::move(args[0]));
}

/// optional.optMap(x, f): `f` over the content. The content is bound as the accumulator of a fold that never loops.
ExprPtr bind_content(MacroContext& context, ExprPtr& target, MacroArgs& args, const char* name, bool wrap) {
  if (args[0]->kind != Expr::Kind::kIdent)
    return context.fail(*args[0], std::string(name) + "() variable name must be a simple identifier");
  auto content = context.copy(*target);
  if (content == nullptr) return nullptr;
  auto mapped = context.fold({.element = kUnused,
                              .accumulator = args[0]->name,
                              .range = context.list(),
                              .init = context.member_call(std::move(content), "value"),
                              .condition = context.literal(Value::boolean(false)),
                              .step = context.ident(args[0]->name),
                              .result = std::move(args[1])});
  if (wrap) mapped = context.call("optional.of", std::move(mapped));
  return context.call(op::kConditional, context.member_call(std::move(target), "hasValue"), std::move(mapped),
                      context.call("optional.none"));
}

}  // namespace

std::vector<Macro> standard_macros() {
  return {
      {.name = "has", .receiver = false, .arguments = 1, .expand = expand_has},
      {.name = "all", .arguments = 2, .expand = expand_all},
      {.name = "exists", .arguments = 2, .expand = expand_exists},
      {.name = "exists_one", .arguments = 2, .expand = expand_exists_one},
      {.name = "map", .arguments = 2, .expand = expand_map},
      {.name = "map", .arguments = 3, .expand = expand_map},
      {.name = "filter", .arguments = 2, .expand = expand_filter},
  };
}

std::vector<Macro> optional_macros() {
  return {
      {.name = "optMap",
       .arguments = 2,
       .expand = [](MacroContext& context, ExprPtr target,
                    MacroArgs args) { return bind_content(context, target, args, "optMap", true); }},
      {.name = "optFlatMap",
       .arguments = 2,
       .expand = [](MacroContext& context, ExprPtr target,
                    MacroArgs args) { return bind_content(context, target, args, "optFlatMap", false); }},
  };
}

}  // namespace fleetadm::cel
