// Splits an expression into tokens (the lexical rules of the CEL specification).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/cel/ast.h"
#include "core/cel/env.h"

namespace fleetadm::cel {

enum class TokenKind : unsigned char {
  kEnd,
  kIdent,
  kQuotedIdent,  // `a-b`; text is without the backticks
  kInt,
  kUint,   // text is without the u
  kFloat,  //
  kString,
  kBytes,
  kTrue,
  kFalse,
  kNull,
  kIn,
  kOperator,  // punctuation: text is it
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  Position at;
  std::string_view text;  // of the source
  std::string content;    // of a string or of bytes: unescaped
};

/// All tokens, kEnd last. Fails with the first thing that is no token. More than kMaxExpressionCodePoints is one.
tl::expected<std::vector<Token>, Issue> tokenize(std::string_view text);

}  // namespace fleetadm::cel
