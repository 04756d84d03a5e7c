// cel-go's strings extension, with the cost trackers of its version 5.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/cel/library/format_check.h"
#include "core/cel/library/libraries.h"
#include "core/cel/library/string_format.h"
#include "core/cel/library/text.h"

namespace fleetadm::cel {
namespace {

using Args = std::span<const Value>;
using Cost = std::optional<std::uint64_t>;

constexpr double kTraversal = 0.1;
constexpr std::uint64_t kListOfStringsCost = 10;
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

std::uint64_t traversal(std::uint64_t size) {
  return static_cast<std::uint64_t>(std::ceil(static_cast<double>(size) * kTraversal));
}

// --- costs -----------------------------------------------------------------------------------------------------------------

Cost character_cost(Args args, const Value&) { return 2 + traversal(cost_size(args[0])); }
Cost transform_cost(Args args, const Value& result) { return 1 + traversal(cost_size(args[0])) + cost_size(result); }
Cost search_cost(Args args, const Value&) { return 1 + traversal(cost_size(args[0]) * cost_size(args[1])); }
Cost replace_cost(Args args, const Value& result) {
  const std::uint64_t target = std::max<std::uint64_t>(cost_size(args[0]), 1);
  const std::uint64_t needle = std::max<std::uint64_t>(cost_size(args[1]), 1);
  return 1 + traversal(target * needle) + cost_size(result);
}
Cost split_cost(Args args, const Value& result) {
  return 1 + traversal(cost_size(args[0]) + 1) + cost_size(result) + kListOfStringsCost;
}
Cost join_cost(Args args, const Value& result) { return 1 + traversal(cost_size(args[0]) + 1) + cost_size(result); }
Cost traversal_cost(Args args, const Value&) { return traversal(cost_size(args[0])); }

// --- functions -------------------------------------------------------------------------------------------------------------

Value out_of_range(std::int64_t index) { return Value::error("index out of range: " + std::to_string(index)); }

bool is_text(const Value& value) { return value.is(Kind::kString); }

Value char_at(CallContext&, Args args) {
  const std::string_view text = args[0].text();
  const std::int64_t index = args[1].as_int();
  const auto size = static_cast<std::int64_t>(code_points(text));
  if (index < 0 || index > size) return out_of_range(index);
  if (index == size) return Value::string("");
  const std::size_t at = byte_of(text, static_cast<std::size_t>(index));
  return Value::string(std::string(text.substr(at, length_at(text, at))));
}

Value index_of(CallContext&, Args args) {
  const std::string_view text = args[0].text();
  const std::string_view needle = args[1].text();
  const std::int64_t from = args.size() > 2 ? args[2].as_int() : 0;
  if (from < 0) return out_of_range(from);
  const auto size = static_cast<std::int64_t>(code_points(text));
  if (needle.empty()) return Value::integer(std::min(from, size));
  if (from >= size) return Value::integer(-1);
  const std::size_t found = text.find(needle, byte_of(text, static_cast<std::size_t>(from)));
  if (found == std::string_view::npos) return Value::integer(-1);
  return Value::integer(static_cast<std::int64_t>(code_points(text.substr(0, found))));
}

Value last_index_of(CallContext&, Args args) {
  const std::string_view text = args[0].text();
  const std::string_view needle = args[1].text();
  const auto size = static_cast<std::int64_t>(code_points(text));
  const std::int64_t from = args.size() > 2 ? args[2].as_int() : size;
  if (from < 0) return out_of_range(from);
  if (needle.empty()) return Value::integer(std::min(from, size));
  if (args.size() > 2 && from >= size) return Value::integer(-1);
  const std::size_t found = text.rfind(needle, byte_of(text, static_cast<std::size_t>(from)));
  if (found == std::string_view::npos) return Value::integer(-1);
  return Value::integer(static_cast<std::int64_t>(code_points(text.substr(0, found))));
}

template <char first, char last, int shift>
Value change_case(CallContext&, Args args) {
  std::string text(args[0].text());
  for (char& c : text) c = c >= first && c <= last ? static_cast<char>(c + shift) : c;
  return Value::string(std::move(text));
}

std::size_t limit_of(Args args, std::size_t index) {
  if (args.size() <= index || args[index].as_int() < 0) return kNoLimit;
  return static_cast<std::size_t>(args[index].as_int());
}

Value replace(CallContext&, Args args) {
  std::string out;
  if (!replaced(args[0].text(), args[1].text(), args[2].text(), limit_of(args, 3), kMaxStringBytes, out))
    return Value::error("the text is too long");
  return Value::string(std::move(out));
}

Value split_text(CallContext& context, Args args) {
  const auto pieces = split(args[0].text(), args[1].text(), limit_of(args, 2));
  if (!context.work.spend(pieces.size())) return Value::error("the evaluation is too much work");
  std::vector<Value> out;
  out.reserve(pieces.size());
  for (const std::string_view piece : pieces) out.push_back(Value::string(std::string(piece)));
  return Value::list(std::move(out));
}

Value substring(CallContext&, Args args) {
  const std::string_view text = args[0].text();
  const auto size = static_cast<std::int64_t>(code_points(text));
  const std::int64_t start = args[1].as_int();
  const std::int64_t end = args.size() > 2 ? args[2].as_int() : size;
  if (args.size() > 2 && start > end) {
    return Value::error("invalid substring range. start: " + std::to_string(start) + ", end: " + std::to_string(end));
  }
  if (start < 0 || start > size) return out_of_range(start);
  if (end < 0 || end > size) return out_of_range(end);
  const std::size_t from = byte_of(text, static_cast<std::size_t>(start));
  const std::size_t to = byte_of(text, static_cast<std::size_t>(end));
  return Value::string(std::string(text.substr(from, to - from)));
}

Value trim(CallContext&, Args args) { return Value::string(std::string(trimmed(args[0].text()))); }
Value reverse(CallContext&, Args args) { return Value::string(reversed(args[0].text())); }
Value quote(CallContext&, Args args) { return Value::string(quoted(args[0].text())); }

Value join(CallContext& context, Args args) {
  const std::string_view separator = args.size() > 1 ? args[1].text() : std::string_view();
  if (!context.work.spend(args[0].size())) return Value::error("the evaluation is too much work");
  std::string out;
  Value failure;
  bool first = true;
  args[0].each([&](const Value& element) {
    if (!is_text(element)) {
      failure = Value::error("join: invalid input: " + display(element));
    } else if (out.size() + separator.size() + element.text().size() > kMaxStringBytes) {
      failure = Value::error("the text is too long");
    } else {
      if (!first) out += separator;
      first = false;
      out += element.text();
    }
    return !failure.is_error();
  });
  return failure.is_error() ? failure : Value::string(std::move(out));
}

Value format(CallContext& context, Args args) { return format_string(args[0].text(), args[1], context.work); }

// Upstream binds it as a call of any number of arguments, and those are evaluated only up to the first that fails.
Overload in_order(Overload overload, Implementation call) {
  overload.specialise = [call = std::move(call)](std::span<const std::optional<Value>>) -> Result<Implementation> {
    return call;
  };
  overload.in_order_when_specialised = true;
  return overload;
}

}  // namespace

Library strings_library() {
  const Type text = Type::string();
  const Type integer = Type::integer();
  const Type texts = Type::list(text);
  Library library{.name = "cel.lib.ext.strings"};
  library.functions = {
      {"charAt", {member("string_char_at_int", {text, integer}, text, char_at, character_cost)}},
      {"indexOf",
       {member("string_index_of_string", {text, text}, integer, index_of, search_cost),
        member("string_index_of_string_int", {text, text, integer}, integer, index_of, search_cost)}},
      {"lastIndexOf",
       {member("string_last_index_of_string", {text, text}, integer, last_index_of, search_cost),
        member("string_last_index_of_string_int", {text, text, integer}, integer, last_index_of, search_cost)}},
      {"lowerAscii", {member("string_lower_ascii", {text}, text, change_case<'A', 'Z', 'a' - 'A'>, transform_cost)}},
      {"upperAscii", {member("string_upper_ascii", {text}, text, change_case<'a', 'z', 'A' - 'a'>, transform_cost)}},
      {"replace",
       {member("string_replace_string_string", {text, text, text}, text, replace, replace_cost),
        member("string_replace_string_string_int", {text, text, text, integer}, text, replace, replace_cost)}},
      {"split",
       {member("string_split_string", {text, text}, texts, split_text, split_cost),
        member("string_split_string_int", {text, text, integer}, texts, split_text, split_cost)}},
      {"substring",
       {member("string_substring_int", {text, integer}, text, substring, transform_cost),
        member("string_substring_int_int", {text, integer, integer}, text, substring, transform_cost)}},
      {"trim", {member("string_trim", {text}, text, trim, transform_cost)}},
      {"reverse", {member("string_reverse", {text}, text, reverse, transform_cost)}},
      {"join",
       {member("list_join", {texts}, text, join, join_cost), member("list_join_string", {texts, text}, text, join, join_cost)}},
      {"format", {in_order(member("string_format", {text, Type::list(Type::dyn())}, text, format, traversal_cost), format)}},
      {"strings.quote", {global("strings_quote", {text}, text, quote, traversal_cost)}},
  };
  library.validators = {check_format};
  return library;
}

}  // namespace fleetadm::cel
