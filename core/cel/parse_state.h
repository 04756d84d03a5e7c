// What the parser knows while it reads: tokens, nodes with their bounds, and what is wrong. Private to parser.cc.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/cel/lexer.h"
#include "core/cel/parser.h"

namespace fleetadm::cel {

/// How deep expressions are nested in expressions.
class Depth {
 public:
  explicit Depth(int& counter) : counter_(counter) { ++counter_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
  ~Depth() { --counter_; }

  bool fine() const { return counter_ <= kMaxExpressionDepth; }

 private:
  int& counter_;
};

/// A node and how many operations are nested in it at most.
struct Parsed {
  ExprPtr expr;
  int height = 0;

  explicit operator bool() const { return expr != nullptr; }
};

class ParseState {
 public:
  ParseState(std::vector<Token> tokens, const ParserOptions& options) : tokens_(std::move(tokens)), options_(options) {}

 protected:
  const Token& token(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  bool is(std::string_view text, std::size_t ahead = 0) const {
    return token(ahead).kind == TokenKind::kOperator && token(ahead).text == text;
  }
  bool accept(std::string_view text) {
    if (!is(text)) return false;
    ++at_;
    return true;
  }
  bool expect(std::string_view text) {
    if (accept(text)) return true;
    unexpected("'" + std::string(text) + "'");
    return false;
  }

  Parsed unexpected(const std::string& wanted = {}) {
    const Token& found = token();
    std::string message = found.kind == TokenKind::kEnd
                              ? "Syntax error: unexpected end of the expression"
                              : "Syntax error: unexpected '" + std::string(found.text.substr(0, 40)) + "'";
    if (!wanted.empty()) message += ", wanted " + wanted;
    return fail(found.at, std::move(message));
  }
  Parsed fail(Position at, std::string message) {
    if (syntax_.empty()) syntax_.push_back({at.line, at.column, std::move(message)});
    return {};
  }
  Parsed too_deep() { return fail(token().at, "expression recursion limit exceeded: " + std::to_string(kMaxExpressionDepth)); }

  ExprPtr make(Expr::Kind kind, Position at) {
    if (budget_ == 0) {
      fail(at, "expression is too large");
      return nullptr;
    }
    --budget_;
    auto expr = std::make_unique<Expr>();
    expr->kind = kind;
    expr->at = at;
    return expr;
  }
  Parsed finish(ExprPtr expr, int height) {
    if (expr == nullptr || !syntax_.empty()) return {};
    if (height > kMaxExpressionDepth) return too_deep();
    return {std::move(expr), height};
  }
  /// Something that parses but means nothing; a placeholder lets the rest be looked at.
  Parsed misuse(Position at, std::string message) {
    if (misuse_.size() < 100) misuse_.push_back({at.line, at.column, std::move(message)});
    return finish(make(Expr::Kind::kLiteral, at), 0);
  }

  /// A call, or what a macro of that name makes of it.
  Parsed call(Position at, std::string name, ExprPtr target, std::vector<ExprPtr> args, int height) {
    if (const Macro* macro = find_macro(name, target != nullptr, args.size())) {
      MacroContext context(at, budget_);
      auto expanded = macro->expand(context, std::move(target), std::move(args));
      if (expanded == nullptr) return misuse(context.failed_at(), context.failure());
      return finish(std::move(expanded), height);
    }
    auto expr = make(Expr::Kind::kCall, at);
    if (expr == nullptr) return {};
    expr->name = std::move(name);
    expr->member = target != nullptr;
    expr->target = std::move(target);
    expr->args = std::move(args);
    return finish(std::move(expr), height);
  }
  const Macro* find_macro(std::string_view name, bool receiver, std::size_t arguments) const {
    if (options_.macros == nullptr) return nullptr;
    for (const Macro& macro : *options_.macros) {
      if (macro.name == name && macro.receiver == receiver && macro.arguments == arguments) return &macro;
    }
    return nullptr;
  }
  Parsed binary(const char* function, Position at, Parsed left, Parsed right) {
    if (!left || !right) return {};
    const int height = std::max(left.height, right.height) + 1;
    std::vector<ExprPtr> args;
    args.push_back(std::move(left.expr));
    args.push_back(std::move(right.expr));
    return call(at, function, nullptr, std::move(args), height);
  }

  std::vector<Token> tokens_;
  const ParserOptions& options_;
  std::size_t at_ = 0;
  std::size_t budget_ = kMaxNodes;
  int depth_ = 0;
  std::vector<Issue> syntax_;
  std::vector<Issue> misuse_;
};

}  // namespace fleetadm::cel
