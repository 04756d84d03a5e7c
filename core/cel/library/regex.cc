// Kubernetes' regex library: RE2 on both sides, so patterns mean the same.
#include <re2/re2.h>

#include "core/cel/library/libraries.h"
#include "core/cel/pattern.h"

namespace fleetadm::cel {
namespace {

using Args = std::span<const Value>;
using Pattern = std::shared_ptr<const re2::RE2>;

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

// The text of the leftmost match from a place, or a null piece.
re2::StringPiece match(const re2::RE2& pattern, std::string_view text, std::size_t from) {
  re2::StringPiece found;
  if (!pattern.Match(piece(text), from, text.size(), re2::RE2::UNANCHORED, &found, 1)) return {};
  return found;
}

std::string_view view(re2::StringPiece found) { return {found.data(), found.size()}; }

Value find_first(const re2::RE2& pattern, Args args) {
  const re2::StringPiece found = match(pattern, args[0].text(), 0);
  return Value::string(found.data() == nullptr ? std::string() : std::string(view(found)));
}

Value find_all(const re2::RE2& pattern, CallContext& context, Args args) {
  const std::string_view text = args[0].text();
  const std::int64_t limit = args.size() > 2 ? args[2].as_int() : -1;
  std::vector<Value> out;
  std::size_t at = 0;
  std::size_t last_end = std::string_view::npos;  // an empty match next to the one before does not count
  while (at <= text.size() && (limit < 0 || static_cast<std::int64_t>(out.size()) < limit)) {
    const re2::StringPiece found = match(pattern, text, at);
    if (found.data() == nullptr) break;
    if (!context.work.spend(1)) return Value::error("the evaluation is too much work");
    const auto start = static_cast<std::size_t>(found.data() - text.data());
    const std::size_t end = start + found.size();
    if (!found.empty() || start != last_end) out.push_back(Value::string(std::string(view(found))));
    last_end = end;
    at = end;
    if (found.empty()) {
      ++at;
      while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
    }
  }
  return Value::list(std::move(out));
}

Value find_any(CallContext& context, Args args) {
  const auto pattern = compile_pattern(args[1].text(), context.work);
  return pattern ? find_first(**pattern, args) : Value::error("Illegal regex: " + pattern.error().message);
}
Value find_all_any(CallContext& context, Args args) {
  const auto pattern = compile_pattern(args[1].text(), context.work);
  return pattern ? find_all(**pattern, context, args) : Value::error("Illegal regex: " + pattern.error().message);
}

// The pattern, compiled once where it is a literal; none: it is not. A bad one is no program.
Result<Pattern> literal_pattern(std::span<const std::optional<Value>> literals) {
  if (literals.size() < 2 || !literals[1] || !literals[1]->is(Kind::kString)) return Pattern();
  return compile_pattern(literals[1]->text());
}

Result<Implementation> find_literal(std::span<const std::optional<Value>> literals) {
  FLEETADM_TRY(const Pattern pattern, literal_pattern(literals));
  if (!pattern) return Implementation();
  return [pattern](CallContext&, Args args) { return find_first(*pattern, args); };
}

Result<Implementation> find_all_literal(std::span<const std::optional<Value>> literals) {
  FLEETADM_TRY(const Pattern pattern, literal_pattern(literals));
  if (!pattern) return Implementation();
  return [pattern](CallContext& context, Args args) { return find_all(*pattern, context, args); };
}

Overload specialised(Overload overload, Specialise specialise) {
  overload.specialise = std::move(specialise);
  overload.in_order_when_specialised = true;
  return overload;
}

}  // namespace

Library regex_library() {
  const Type text = Type::string();
  const Type texts = Type::list(text);
  Library library{.name = "kubernetes.regex"};
  library.functions = {
      {"find", {specialised(member("string_find_string", {text, text}, text, find_any), find_literal)}},
      {"findAll",
       {specialised(member("string_find_all_string", {text, text}, texts, find_all_any), find_all_literal),
        specialised(member("string_find_all_string_int", {text, text, Type::integer()}, texts, find_all_any), find_all_literal)}},
  };
  return library;
}

}  // namespace fleetadm::cel
