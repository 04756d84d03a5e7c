#include "core/cel/lexer.h"

#include <array>
#include <cstdint>
#include <optional>

#include "core/cel/convert.h"
#include "core/cel/value.h"
#include "kubeclient/base/ascii.h"

namespace fleetadm::cel {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
std::uint32_t hex_value(char c) {
  if (is_digit(c)) return static_cast<std::uint32_t>(c - '0');
  return static_cast<std::uint32_t>((c | 0x20) - 'a') + 10U;
}

void append_utf8(std::string& text, std::uint32_t point) {
  const auto add = [&](std::uint32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (point < 0x80) {
    add(point);
  } else if (point < 0x800) {
    add(0xC0U | (point >> 6U));
    add(0x80U | (point & 0x3FU));
  } else if (point < 0x10000) {
    add(0xE0U | (point >> 12U));
    add(0x80U | ((point >> 6U) & 0x3FU));
    add(0x80U | (point & 0x3FU));
  } else {
    add(0xF0U | (point >> 18U));
    add(0x80U | ((point >> 12U) & 0x3FU));
    add(0x80U | ((point >> 6U) & 0x3FU));
    add(0x80U | (point & 0x3FU));
  }
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  tl::expected<std::vector<Token>, Issue> run() {
    std::vector<Token> tokens;
    while (true) {
      skip_blank();
      Token token;
      token.at = here_;
      if (at_ == text_.size()) {
        tokens.push_back(std::move(token));
        return tokens;
      }
      start_ = at_;
      if (!read(token)) return tl::unexpected(Issue{here_.line, here_.column, failure_});
      token.text = token.text.data() == nullptr ? text_.substr(start_, at_ - start_) : token.text;
      tokens.push_back(std::move(token));
    }
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void advance(std::size_t bytes = 1) {
    for (std::size_t i = 0; i < bytes && at_ < text_.size(); ++i, ++at_) {
      if (text_[at_] == '\n') {
        ++here_.line;
        here_.column = 1;
      } else if ((static_cast<unsigned char>(text_[at_]) & 0xC0U) != 0x80U) {
        ++here_.column;
      }
    }
  }

  bool fail(std::string message) {
    failure_ = std::move(message);
    return false;
  }

  void skip_blank() {
    while (at_ < text_.size()) {
      const char c = peek();
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f') {
        advance();
      } else if (c == '/' && peek(1) == '/') {
        while (at_ < text_.size() && peek() != '\n') advance();
      } else {
        return;
      }
    }
  }

  bool read(Token& token) {
    const char c = peek();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return read_number(token);
    if (c == '"' || c == '\'') return read_string(token, false, false);
    if (is_letter(c)) return read_word(token);
    if (c == '`') return read_quoted_name(token);
    static constexpr std::array<std::string_view, 6> kTwo = {"==", "!=", "<=", ">=", "&&", "||"};
    for (const auto pair : kTwo) {
      if (text_.substr(at_).starts_with(pair)) return take_operator(token, 2);
    }
    if (std::string_view("<>[]{}().,-!?:+*/%").find(c) != std::string_view::npos) return take_operator(token, 1);
    return fail("Syntax error: unexpected character");
  }

  bool take_operator(Token& token, std::size_t length) {
    token.kind = TokenKind::kOperator;
    advance(length);
    return true;
  }

  bool read_word(Token& token) {
    // b"…", r"…", br"…" in either case are strings, whatever else begins with the letters is a name.
    const char first = static_cast<char>(peek() | 0x20);
    const auto quote = [&](std::size_t ahead) { return peek(ahead) == '"' || peek(ahead) == '\''; };
    if (first == 'r' && quote(1)) {
      advance();
      return read_string(token, true, false);
    }
    if (first == 'b' && quote(1)) {
      advance();
      return read_string(token, false, true);
    }
    if (first == 'b' && (peek(1) == 'r' || peek(1) == 'R') && quote(2)) {
      advance(2);
      return read_string(token, true, true);
    }
    while (is_letter(peek()) || is_digit(peek())) advance();
    const std::string_view word = text_.substr(start_, at_ - start_);
    token.kind = word == "true"    ? TokenKind::kTrue
                 : word == "false" ? TokenKind::kFalse
                 : word == "null"  ? TokenKind::kNull
                 : word == "in"    ? TokenKind::kIn
                                   : TokenKind::kIdent;
    return true;
  }

  bool read_quoted_name(Token& token) {
    advance();
    const std::size_t begin = at_;
    while (is_letter(peek()) || is_digit(peek()) || peek() == '.' || peek() == '-' || peek() == '/' || peek() == ' ') advance();
    if (peek() != '`' || at_ == begin) return fail("Syntax error: unterminated or invalid quoted name");
    token.kind = TokenKind::kQuotedIdent;
    token.text = text_.substr(begin, at_ - begin);
    advance();
    return true;
  }

  bool read_number(Token& token) {
    token.kind = TokenKind::kInt;
    if (peek() == '0' && peek(1) == 'x' && is_hex(peek(2))) {
      advance(2);
      while (is_hex(peek())) advance();
    } else {
      while (is_digit(peek())) advance();
      if (peek() == '.' && is_digit(peek(1))) {
        token.kind = TokenKind::kFloat;
        advance();
        while (is_digit(peek())) advance();
      }
      if (peek() == 'e' || peek() == 'E') {
        const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
        if (is_digit(peek(1 + sign))) {
          token.kind = TokenKind::kFloat;
          advance(1 + sign);
          while (is_digit(peek())) advance();
        }
      }
    }
    if (token.kind == TokenKind::kInt && (peek() == 'u' || peek() == 'U')) {
      token.kind = TokenKind::kUint;
      token.text = text_.substr(start_, at_ - start_);
      advance();
    }
    return true;
  }

  bool read_string(Token& token, bool raw, bool bytes) {
    token.kind = bytes ? TokenKind::kBytes : TokenKind::kString;
    const char quote = peek();
    const bool triple = peek(1) == quote && peek(2) == quote;
    advance(triple ? 3 : 1);
    while (true) {
      if (at_ == text_.size()) return fail("Syntax error: unterminated string");
      const char c = peek();
      if (triple ? (c == quote && peek(1) == quote && peek(2) == quote) : c == quote) {
        advance(triple ? 3 : 1);
        return true;
      }
      if (!triple && (c == '\n' || c == '\r')) return fail("Syntax error: unterminated string");
      if (c == '\r') {
        // Newlines are \n whatever the text was written with.
        token.content += '\n';
        advance(peek(1) == '\n' ? 2 : 1);
        continue;
      }
      if (c != '\\' || raw) {
        token.content += c;
        advance();
        continue;
      }
      if (!read_escape(token.content, bytes)) return false;
    }
  }

  /// An escape sequence; of bytes, \x and octal stand for single bytes.
  bool read_escape(std::string& content, bool bytes) {
    constexpr std::string_view kLetters = "abfnrtv\\'\"`?";
    constexpr std::string_view kMeaning = "\a\b\f\n\r\t\v\\'\"`?";
    const char c = peek(1);
    if (c != '\0' && kLetters.find(c) != std::string_view::npos) {
      content += kMeaning[kLetters.find(c)];
      advance(2);
      return true;
    }
    const std::size_t digits = c == 'x' || c == 'X' ? 2 : (c == 'u' ? 4 : (c == 'U' ? 8 : 0));
    std::uint32_t value = 0;
    if (digits != 0) {
      if (bytes && digits != 2) return fail("Syntax error: invalid escape sequence in bytes");
      for (std::size_t i = 0; i < digits; ++i) {
        if (!is_hex(peek(2 + i))) return fail("Syntax error: invalid escape sequence");
        value = (value << 4U) | hex_value(peek(2 + i));
      }
      advance(2 + digits);
    } else if (c >= '0' && c <= '3' && peek(2) >= '0' && peek(2) <= '7' && peek(3) >= '0' && peek(3) <= '7') {
      value = static_cast<std::uint32_t>(c - '0') * 64U + static_cast<std::uint32_t>(peek(2) - '0') * 8U +
              static_cast<std::uint32_t>(peek(3) - '0');
      advance(4);
    } else {
      return fail("Syntax error: invalid escape sequence");
    }
    if (bytes) {
      content += static_cast<char>(static_cast<unsigned char>(value));
      return true;
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return fail("invalid unicode code point");
    append_utf8(content, value);
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t start_ = 0;
  Position here_;
  std::string failure_;
};

}  // namespace

tl::expected<std::vector<Token>, Issue> tokenize(std::string_view text) {
  if (text.size() > kMaxExpressionCodePoints && code_points(text) > kMaxExpressionCodePoints) {
    return tl::unexpected(Issue{1, 1, "expression code point size exceeds limit: " + std::to_string(kMaxExpressionCodePoints)});
  }
  if (!is_valid_utf8(text)) return tl::unexpected(Issue{1, 1, "expression is not valid UTF-8"});
  return Lexer(text).run();
}

}  // namespace fleetadm::cel
