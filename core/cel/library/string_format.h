// The format() of cel-go's strings extension (cel-spec, extensions, strings): clauses, their checks, and their texts.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cel/value.h"

namespace fleetadm::cel {

/// A piece of a format text: literal text, or a clause.
struct FormatClause {
  std::string literal;  // before the clause
  char verb = 0;        // one of sdfebxXo; 0: the text ends
  int precision = 6;
};

/// The clauses of a format text for `arguments` arguments, an entry with verb 0 last. kInvalid: a clause is malformed, or there
/// are more clauses than arguments.
Result<std::vector<FormatClause>> parse_format(std::string_view format, std::size_t arguments);

/// The formatted text, or an error value.
Value format_string(std::string_view format, const Value& arguments, Work& work);

}  // namespace fleetadm::cel
