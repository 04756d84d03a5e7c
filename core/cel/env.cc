#include "core/cel/env.h"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "core/cel/ast.h"
#include "core/cel/checker.h"
#include "core/cel/cost_estimate.h"
#include "core/cel/declarations.h"
#include "core/cel/parser.h"
#include "core/cel/planner.h"

namespace fleetadm::cel {

const Function* Env::Declarations::function(std::string_view name) const {
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : &found->second;
}

const Constant* Env::Declarations::constant(std::string_view name) const {
  const auto found = constants.find(name);
  return found == constants.end() ? nullptr : &found->second;
}

int Env::Declarations::variable(std::string_view name) const {
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

namespace {

Status add_function(Env::Declarations& declarations, Function function, std::set<std::string, std::less<>>& ids) {
  for (const Overload& overload : function.overloads) {
    if (!ids.insert(overload.id).second)
      return fail(Category::kInternal, "the CEL overload " + overload.id + " is declared twice");
    if (overload.member && overload.params.empty())
      return fail(Category::kInternal, "the CEL member " + overload.id + " has no receiver");
    for (const Macro& macro : declarations.macros) {
      const std::size_t arguments = overload.params.size() - (overload.member ? 1 : 0);
      if (macro.name == function.name && macro.receiver == overload.member && macro.arguments == arguments) {
        return fail(Category::kInternal, "the CEL function " + function.name + " is hidden by a macro");
      }
    }
  }
  Function& known = declarations.functions[function.name];
  known.name = function.name;
  known.singleton = known.singleton || function.singleton;
  for (Overload& overload : function.overloads) known.overloads.push_back(std::move(overload));
  return {};
}

Status add_library(Env::Declarations& declarations, Library library, std::set<std::string, std::less<>>& ids) {
  declarations.optional_syntax = declarations.optional_syntax || library.optional_syntax;
  for (Macro& macro : library.macros) declarations.macros.push_back(std::move(macro));
  for (Validator& validator : library.validators) declarations.validators.push_back(std::move(validator));
  for (Variable& variable : library.variables) {
    const int known = declarations.variable(variable.name);
    if (known < 0) {
      declarations.variables.push_back(std::move(variable));
    } else if (!(declarations.variables[static_cast<std::size_t>(known)].type == variable.type)) {
      return fail(Category::kInternal, "the CEL variable " + variable.name + " is declared with two types");
    }
  }
  for (Constant& constant : library.constants) declarations.constants.insert_or_assign(constant.name, std::move(constant));
  for (Struct& type : library.structs) {
    auto name = type.name;
    if (!declarations.structs.emplace(std::move(name), std::move(type)).second)
      return fail(Category::kInternal, "a CEL type is declared twice");
  }
  for (Function& function : library.functions) FLEETADM_CHECK(add_function(declarations, std::move(function), ids));
  return {};
}

/// What the validators have to say of any node. No recursion: operators in a row make deep trees.
std::vector<Issue> validate(const Expr& root, const std::vector<Validator>& validators) {
  std::vector<Issue> issues;
  std::vector<const Expr*> left{&root};
  while (!validators.empty() && !left.empty()) {
    const Expr& node = *left.back();
    left.pop_back();
    for (const Validator& validator : validators) validator(node, issues);
    const auto visit = [&](const ExprPtr& child) {
      if (child) left.push_back(child.get());
    };
    visit(node.target);
    for (const ExprPtr& child : node.args) visit(child);
    if (!node.fold) continue;
    for (const ExprPtr* child :
         {&node.fold->range, &node.fold->init, &node.fold->condition, &node.fold->step, &node.fold->result})
      visit(*child);
  }
  return issues;
}

CompileFailure failure(CompileFailure::Phase phase, std::vector<Issue> issues, std::string_view text) {
  return {.phase = phase, .issues = std::move(issues), .expression = std::string(text)};
}

/// Line `number` (from 1) of a text.
std::string_view line_of(std::string_view text, int number) {
  for (int line = 1; line < number; ++line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::string CompileFailure::render() const {
  std::string text;
  for (const Issue& issue : issues) {
    if (!text.empty()) text += '\n';
    text += "ERROR: <input>:" + std::to_string(issue.line) + ":" + std::to_string(issue.column) + ": " + issue.message;
    const std::string_view line = line_of(expression, issue.line);
    if (line.empty()) continue;
    std::string shown(line);
    std::replace(shown.begin(), shown.end(), '\t', ' ');
    text += "\n | " + shown + "\n | " + std::string(static_cast<std::size_t>(std::max(0, issue.column - 1)), '.') + "^";
  }
  return text;
}

Result<Env> Env::build(std::vector<Library> libraries) {
  auto declarations = std::make_shared<Declarations>();
  std::set<std::string, std::less<>> ids;
  for (Library& library : libraries) FLEETADM_CHECK(add_library(*declarations, std::move(library), ids));
  return Env(std::move(declarations));
}

namespace {

tl::expected<ExprPtr, CompileFailure> checked_tree(std::string_view text, const Env::Declarations& declarations) {
  using Phase = CompileFailure::Phase;
  auto tree = parse(text, {.macros = &declarations.macros, .optional_syntax = declarations.optional_syntax});
  if (!tree) return tl::unexpected(failure(Phase::kSyntax, std::move(tree).error(), text));
  if (auto issues = check(**tree, declarations); !issues.empty())
    return tl::unexpected(failure(Phase::kCheck, std::move(issues), text));
  if (auto issues = validate(**tree, declarations.validators); !issues.empty())
    return tl::unexpected(failure(Phase::kCheck, std::move(issues), text));
  return std::move(*tree);
}

CompileFailure internal_failure(const std::exception& error, std::string_view text) {
  return failure(CompileFailure::Phase::kPlan, {{1, 1, std::string("internal error: ") + error.what()}}, text);
}

}  // namespace

tl::expected<Program, CompileFailure> Env::compile(std::string_view text) const {
  try {
    auto tree = checked_tree(text, *declarations_);
    if (!tree) return tl::unexpected(std::move(tree).error());
    auto made = plan(**tree, declarations_);
    if (!made) return tl::unexpected(failure(CompileFailure::Phase::kPlan, {made.error()}, text));
    return Program(std::shared_ptr<const Program::Plan>(std::move(*made)));
  } catch (const std::exception& error) {
    return tl::unexpected(internal_failure(error, text));
  }
}

tl::expected<CostRange, CompileFailure> Env::estimate_cost(std::string_view text, const MaxSizes& sizes) const {
  try {
    auto tree = checked_tree(text, *declarations_);
    if (!tree) return tl::unexpected(std::move(tree).error());
    return cel::estimate_cost(**tree, sizes);
  } catch (const std::exception& error) {
    return tl::unexpected(internal_failure(error, text));
  }
}

}  // namespace fleetadm::cel
