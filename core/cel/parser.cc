#include "core/cel/parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "core/cel/convert.h"
#include "core/cel/parse_state.h"

namespace fleetadm::cel {

namespace {

constexpr std::array<std::string_view, 17> kReserved = {"as",        "break",  "const",  "continue", "else", "for",
                                                        "function",  "if",     "import", "let",      "loop", "package",
                                                        "namespace", "return", "var",    "void",     "while"};

struct Operator {
  std::string_view text;
  const char* function;
  int precedence;
};
constexpr std::array<Operator, 5> kArithmetic = {
    {{"*", op::kMultiply, 2}, {"/", op::kDivide, 2}, {"%", op::kModulo, 2}, {"+", op::kAdd, 1}, {"-", op::kSubtract, 1}}};
constexpr std::array<Operator, 6> kRelations = {{{"<", op::kLess, 1},
                                                 {"<=", op::kLessEquals, 1},
                                                 {">=", op::kGreaterEquals, 1},
                                                 {">", op::kGreater, 1},
                                                 {"==", op::kEquals, 1},
                                                 {"!=", op::kNotEquals, 1}}};

/// The grammar, a function a rule.
class Parser : private ParseState {
 public:
  using ParseState::ParseState;

  tl::expected<ExprPtr, std::vector<Issue>> run() {
    Parsed root = expression();
    if (root && token().kind != TokenKind::kEnd) unexpected();
    if (!syntax_.empty()) return tl::unexpected(syntax_);
    if (!misuse_.empty()) {
      std::stable_sort(misuse_.begin(), misuse_.end(),
                       [](const Issue& a, const Issue& b) { return std::pair(a.line, a.column) < std::pair(b.line, b.column); });
      return tl::unexpected(misuse_);
    }
    return std::move(root.expr);
  }

 private:
  // expr: or ('?' or ':' expr)?
  Parsed expression() {
    const Depth depth(depth_);
    if (!depth.fine()) return too_deep();
    Parsed condition = logical(false);
    if (!condition || !is("?")) return condition;
    const Position at = token().at;
    ++at_;
    Parsed yes = logical(false);
    if (!yes || !expect(":")) return {};
    Parsed no = expression();
    if (!no) return {};
    std::vector<ExprPtr> args;
    const int height = std::max({condition.height, yes.height, no.height}) + 1;
    args.push_back(std::move(condition.expr));
    args.push_back(std::move(yes.expr));
    args.push_back(std::move(no.expr));
    return call(at, op::kConditional, nullptr, std::move(args), height);
  }

  // or: and ('||' and)*; and: relation ('&&' relation)*. Long chains become balanced trees.
  Parsed logical(bool conjunction) {
    const std::string_view sign = conjunction ? "&&" : "||";
    std::vector<ExprPtr> terms;
    std::vector<Position> signs;
    int height = 0;
    while (true) {
      Parsed term = conjunction ? relation(1) : logical(true);
      if (!term) return {};
      height = std::max(height, term.height);
      terms.push_back(std::move(term.expr));
      if (!is(sign)) break;
      signs.push_back(token().at);
      ++at_;
    }
    if (terms.size() == 1) return {std::move(terms.front()), height};
    return finish(balanced(conjunction ? op::kAnd : op::kOr, terms, signs, 0, signs.size() - 1), height);
  }
  ExprPtr balanced(const char* function, std::vector<ExprPtr>& terms, const std::vector<Position>& signs, std::size_t low,
                   std::size_t high) {
    const std::size_t middle = (low + high + 1) / 2;
    auto expr = make(Expr::Kind::kCall, signs[middle]);
    if (expr == nullptr) return nullptr;
    expr->name = function;
    expr->args.push_back(middle == low ? std::move(terms[middle]) : balanced(function, terms, signs, low, middle - 1));
    expr->args.push_back(middle == high ? std::move(terms[middle + 1]) : balanced(function, terms, signs, middle + 1, high));
    return expr;
  }

  template <std::size_t N>
  const Operator* find_operator(const std::array<Operator, N>& operators, int precedence) const {
    if (token().kind != TokenKind::kOperator) return nullptr;
    for (const Operator& candidate : operators) {
      if (candidate.text == token().text && candidate.precedence >= precedence) return &candidate;
    }
    return nullptr;
  }

  Parsed relation(int precedence) {
    Parsed left = calculation(1);
    while (left && precedence == 1) {
      const Operator* found = find_operator(kRelations, 1);
      const char* function = found != nullptr ? found->function : (token().kind == TokenKind::kIn ? op::kIn : nullptr);
      if (function == nullptr) break;
      const Position at = token().at;
      ++at_;
      left = binary(function, at, std::move(left), relation(2));
    }
    return left;
  }

  Parsed calculation(int precedence) {
    Parsed left = unary();
    while (left) {
      const Operator* found = find_operator(kArithmetic, precedence);
      if (found == nullptr) break;
      const Position at = token().at;
      ++at_;
      left = binary(found->function, at, std::move(left), calculation(found->precedence + 1));
    }
    return left;
  }

  // unary: member | '!'+ member | '-'+ member. One minus before a number belongs to the number.
  Parsed unary() {
    const bool negate = is("-");
    if (!negate && !is("!")) return member();
    const auto is_number = [&](std::size_t ahead) {
      return token(ahead).kind == TokenKind::kInt || token(ahead).kind == TokenKind::kFloat;
    };
    if (negate && is_number(1)) return member();
    const Position at = token().at;
    std::size_t count = 0;
    while (accept(negate ? "-" : "!")) ++count;
    if (negate ? is("!") : (is("-") && !is_number(1))) return unexpected();
    Parsed operand = member();
    if (!operand || count % 2 == 0) return operand;
    std::vector<ExprPtr> args;
    args.push_back(std::move(operand.expr));
    return call(at, negate ? op::kNegate : op::kNot, nullptr, std::move(args), operand.height);
  }

  Parsed member() {
    Parsed operand = primary();
    while (operand && (is(".") || is("["))) {
      operand = is(".") ? select(std::move(operand)) : index(std::move(operand));
    }
    return operand;
  }

  Parsed select(Parsed operand) {
    const Position dot = token().at;
    ++at_;
    const bool optional = accept("?");
    const Token& name = token();
    if (name.kind != TokenKind::kIdent && name.kind != TokenKind::kQuotedIdent) return unexpected("a name");
    ++at_;
    const Position open = token().at;
    if (!optional && name.kind == TokenKind::kIdent && accept("(")) {
      std::vector<ExprPtr> args;
      int height = operand.height;
      if (!arguments(args, height)) return {};
      return call(open, std::string(name.text), std::move(operand.expr), std::move(args), height + 1);
    }
    const int height = operand.height + 1;
    if (!optional) {
      auto expr = make(Expr::Kind::kSelect, dot);
      if (expr == nullptr) return {};
      expr->name = std::string(name.text);
      expr->target = std::move(operand.expr);
      return finish(std::move(expr), height);
    }
    if (!options_.optional_syntax) return misuse(dot, "unsupported syntax '.?'");
    auto field = make(Expr::Kind::kLiteral, name.at);
    if (field == nullptr) return {};
    field->literal = Value::string(std::string(name.text));
    std::vector<ExprPtr> args;
    args.push_back(std::move(operand.expr));
    args.push_back(std::move(field));
    return call(dot, op::kOptionalSelect, nullptr, std::move(args), height);
  }

  Parsed index(Parsed operand) {
    const Position at = token().at;
    ++at_;
    const bool optional = accept("?");
    Parsed key = expression();
    if (!key || !expect("]")) return {};
    if (optional && !options_.optional_syntax) return misuse(at, "unsupported syntax '[?'");
    return binary(optional ? op::kOptionalIndex : op::kIndex, at, std::move(operand), std::move(key));
  }

  /// Expressions up to the closing parenthesis, which is taken.
  bool arguments(std::vector<ExprPtr>& args, int& height) {
    if (accept(")")) return true;
    while (true) {
      Parsed argument = expression();
      if (!argument) return false;
      height = std::max(height, argument.height);
      args.push_back(std::move(argument.expr));
      if (accept(")")) return true;
      if (!accept(",")) {
        unexpected("',' or ')'");
        return false;
      }
    }
  }

  Parsed primary() {
    const Token& first = token();
    switch (first.kind) {
      case TokenKind::kIdent: return name(false);
      case TokenKind::kOperator: break;
      case TokenKind::kEnd:
      case TokenKind::kIn:
      case TokenKind::kQuotedIdent: return unexpected();
      default: return literal(false);
    }
    if (is(".") && token(1).kind == TokenKind::kIdent) {
      ++at_;
      return name(true);
    }
    if (accept("(")) {
      Parsed inner = expression();
      if (!inner || !expect(")")) return {};
      return inner;
    }
    if (is("[")) return list();
    if (is("{")) return map();
    if (is("-")) {
      ++at_;
      return literal(true);
    }
    return unexpected();
  }

  Parsed name(bool rooted) {
    const Token& word = token();
    ++at_;
    if (std::find(kReserved.begin(), kReserved.end(), word.text) != kReserved.end()) {
      return fail(word.at, "reserved identifier: " + std::string(word.text));
    }
    std::string text = (rooted ? "." : "") + std::string(word.text);
    const Position open = token().at;
    if (accept("(")) {
      std::vector<ExprPtr> args;
      int height = 0;
      if (!arguments(args, height)) return {};
      return call(open, std::move(text), nullptr, std::move(args), height);
    }
    if (names_message()) return fail(word.at, "undeclared reference to '" + text + "': there are no message types");
    auto expr = make(Expr::Kind::kIdent, word.at);
    if (expr == nullptr) return {};
    expr->name = std::move(text);
    return finish(std::move(expr), 0);
  }
  /// Whether `.b.c{` follows: the fields of a protocol buffer message.
  bool names_message() const {
    std::size_t ahead = 0;
    while (is(".", ahead) && token(ahead + 1).kind == TokenKind::kIdent) ahead += 2;
    return is("{", ahead);
  }

  Parsed list() {
    auto expr = make(Expr::Kind::kList, token().at);
    if (expr == nullptr) return {};
    ++at_;
    int height = 0;
    bool comma = false;
    while (!is("]")) {
      if (accept(",")) {
        if (!expr->args.empty() || !is("]")) return unexpected();
        break;
      }
      const bool optional = accept("?");
      Parsed element = expression();
      if (!element) return {};
      if (optional && !options_.optional_syntax) return misuse(expr->at, "unsupported syntax '?'");
      height = std::max(height, element.height);
      expr->args.push_back(std::move(element.expr));
      expr->optional.push_back(optional);
      comma = accept(",");
      if (!comma) break;
    }
    if (!expect("]")) return {};
    return finish(std::move(expr), height);
  }

  Parsed map() {
    auto expr = make(Expr::Kind::kMap, token().at);
    if (expr == nullptr) return {};
    ++at_;
    int height = 0;
    while (!is("}")) {
      if (accept(",")) {
        if (!expr->args.empty() || !is("}")) return unexpected();
        break;
      }
      const bool optional = accept("?");
      Parsed key = expression();
      if (!key || !expect(":")) return {};
      Parsed value = expression();
      if (!value) return {};
      if (optional && !options_.optional_syntax) return misuse(expr->at, "unsupported syntax '?'");
      height = std::max({height, key.height, value.height});
      expr->args.push_back(std::move(key.expr));
      expr->args.push_back(std::move(value.expr));
      expr->optional.push_back(optional);
      if (!accept(",")) break;
    }
    if (!expect("}")) return {};
    return finish(std::move(expr), height);
  }

  Parsed literal(bool negative) {
    const Token& word = token();
    auto expr = make(Expr::Kind::kLiteral, negative ? tokens_[at_ - 1].at : word.at);
    if (expr == nullptr) return {};
    ++at_;
    switch (word.kind) {
      case TokenKind::kTrue: expr->literal = Value::boolean(true); break;
      case TokenKind::kFalse: expr->literal = Value::boolean(false); break;
      case TokenKind::kNull: break;
      case TokenKind::kString: expr->literal = Value::string(word.content); break;
      case TokenKind::kBytes: expr->literal = Value::bytes(word.content); break;
      case TokenKind::kInt: {
        const auto value = integer<std::int64_t>(word.text, negative);
        if (!value) return misuse(expr->at, "invalid int literal");
        expr->literal = Value::integer(*value);
        break;
      }
      case TokenKind::kUint: {
        const auto value = integer<std::uint64_t>(word.text, false);
        if (!value) return misuse(expr->at, "invalid uint literal");
        expr->literal = Value::unsigned_integer(*value);
        break;
      }
      case TokenKind::kFloat: {
        const auto value = parse_double(word.text);
        if (!value) return misuse(expr->at, "invalid double literal");
        expr->literal = Value::real(negative ? -*value : *value);
        break;
      }
      default: --at_; return unexpected();
    }
    return finish(std::move(expr), 0);
  }
  template <class Integer>
  static std::optional<Integer> integer(std::string_view text, bool negative) {
    const bool hex = text.starts_with("0x");
    const std::string digits = (negative ? "-" : "") + std::string(hex ? text.substr(2) : text);
    Integer value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
    if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return std::nullopt;
    return value;
  }
};

}  // namespace

tl::expected<ExprPtr, std::vector<Issue>> parse(std::string_view text, const ParserOptions& options) {
  auto tokens = tokenize(text);
  if (!tokens) return tl::unexpected(std::vector<Issue>{tokens.error()});
  return Parser(std::move(*tokens), options).run();
}

}  // namespace fleetadm::cel
