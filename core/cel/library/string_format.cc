#include "core/cel/library/string_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "core/cel/convert.h"
#include "core/cel/time.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/base/utf8.h"

namespace fleetadm::cel {
namespace {

constexpr int kMaxPrecision = 100;
constexpr int kMaxNesting = 250;

tl::unexpected<Error> malformed(std::string message) { return fail(Category::kInvalid, std::move(message)); }

tl::unexpected<Error> wrong_type(std::string_view what, const Value& value) {
  return malformed("error during formatting: " + std::string(what) + ", was given " + value.runtime_type().name());
}

std::optional<std::string> no_finite_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return std::nullopt;
}

std::string decimal(double value) {
  if (auto word = no_finite_number(value)) return *word;
  return format_fixed(value);
}

/// `conversion` is "%.*f" or "%.*e".
std::string printed(double value, const char* conversion, int precision) {
  if (auto word = no_finite_number(value)) return *word;
  std::array<char, 512> buffer{};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  const int length = std::snprintf(buffer.data(), buffer.size(), conversion, precision, value);
#pragma GCC diagnostic pop
  return {buffer.data(), static_cast<std::size_t>(std::max(length, 0))};
}

std::string in_base(const Value& value, int base) {
  std::array<char, 72> buffer{};
  const auto end = value.is(Kind::kInt) ? std::to_chars(buffer.data(), buffer.data() + buffer.size(), value.as_int(), base)
                                        : std::to_chars(buffer.data(), buffer.data() + buffer.size(), value.as_uint(), base);
  return {buffer.data(), end.ptr};
}

std::string hex_of_bytes(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

// %s, for values in values too. Appends to one text, so that the bound holds for all of it.
class Writer {
 public:
  explicit Writer(Work& work) : work_(work) {}

  Status write(const Value& value, int depth = 0) {
    if (depth > kMaxNesting || !work_.spend(1) || out_.size() > kMaxStringBytes) return malformed("the text is too long");
    switch (value.kind()) {
      case Kind::kNull: out_ += "null"; return {};
      case Kind::kBool: out_ += value.as_bool() ? "true" : "false"; return {};
      case Kind::kInt:
      case Kind::kUint: out_ += in_base(value, 10); return {};
      case Kind::kDouble: out_ += decimal(value.as_double()); return {};
      case Kind::kString: out_ += value.text(); return {};
      case Kind::kBytes: out_ += valid_utf8(value.text()); return {};
      case Kind::kDuration:
        out_ += decimal(static_cast<double>(value.duration_nanos() / 1'000'000'000) +
                        static_cast<double>(value.duration_nanos() % 1'000'000'000) / 1e9) +
                "s";
        return {};
      case Kind::kTimestamp: out_ += format_timestamp(Value::timestamp(value.seconds(), value.nanos())); return {};
      case Kind::kType: out_ += value.as_type().name(); return {};
      case Kind::kList: return write_list(value, depth);
      case Kind::kMap: return write_map(value, depth);
      default:
        return wrong_type(
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
            "timestamps",
            value);
    }
  }
  std::string take() { return std::move(out_); }

 private:
  Status write_list(const Value& list, int depth) {
    out_ += '[';
    Status status;
    bool first = true;
    list.each([&](const Value& element) {
      if (!first) out_ += ", ";
      first = false;
      status = write(element, depth + 1);
      return status.has_value();
    });
    out_ += ']';
    return status;
  }

  Status write_map(const Value& map, int depth) {
    std::vector<std::pair<std::string, std::string>> entries;
    Status status;
    map.each_entry([&](const Value& key, const Value& value) {
      Writer left(work_);
      Writer right(work_);
      status = left.write(key, depth + 1);
      if (status) status = right.write(value, depth + 1);
      entries.emplace_back(left.take(), right.take());
      return status.has_value();
    });
    std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    out_ += '{';
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out_ += ", ";
      out_ += entries[i].first + ": " + entries[i].second;
    }
    out_ += '}';
    return status;
  }

  Work& work_;
  std::string out_;
};

Result<std::string> formatted(const FormatClause& clause, const Value& value, Work& work) {
  const bool whole = value.is(Kind::kInt) || value.is(Kind::kUint);
  const bool number = whole || value.is(Kind::kDouble);
  const auto as_double = [&] {
    if (value.is(Kind::kInt)) return static_cast<double>(value.as_int());
    return value.is(Kind::kUint) ? static_cast<double>(value.as_uint()) : value.as_double();
  };
  switch (clause.verb) {
    case 'd':
      if (!number) return wrong_type("decimal clause can only be used on ints, uints, and doubles", value);
      return whole ? in_base(value, 10) : decimal(value.as_double());
    case 'f':
      if (!number) return wrong_type("fixed-point clause can only be used on ints, uints, and doubles", value);
      return printed(as_double(), "%.*f", clause.precision);
    case 'e':
      if (!number) return wrong_type("scientific clause can only be used on ints, uints, and doubles", value);
      return printed(as_double(), "%.*e", clause.precision);
    case 'b':
      if (value.is(Kind::kBool)) return std::string(value.as_bool() ? "1" : "0");
      if (!whole) return wrong_type("only ints, uints, and bools can be formatted as binary", value);
      return in_base(value, 2);
    case 'o':
      if (!whole) return wrong_type("octal clause can only be used on ints and uints", value);
      return in_base(value, 8);
    case 'x':
    case 'X': {
      const bool text = value.is(Kind::kString) || value.is(Kind::kBytes);
      if (!whole && !text) return wrong_type("only ints, uints, bytes, and strings can be formatted as hex", value);
      if (text && (!work.spend(value.text().size() / 64) || value.text().size() > kMaxStringBytes / 2))
        return malformed("the text is too long");
      std::string out = text ? hex_of_bytes(value.text()) : in_base(value, 16);
      if (clause.verb == 'X') {
        for (char& c : out) c = c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c;
      }
      return out;
    }
    default: break;
  }
  Writer writer(work);
  FLEETADM_CHECK(writer.write(value));
  return writer.take();
}

// What follows a percent sign: reads it off.
Result<void> read_clause(std::string_view& rest, FormatClause& clause) {
  if (rest.starts_with('.')) {
    std::size_t end = 1;
    while (end < rest.size() && is_digit(rest[end])) ++end;
    if (end == rest.size()) return malformed("could not find end of precision specifier");
    const auto read = std::from_chars(rest.data() + 1, rest.data() + end, clause.precision);
    if (read.ec != std::errc() || clause.precision > kMaxPrecision)
      return malformed("precision " + std::string(rest.substr(1, end - 1)) + " is not within 0 and 100");
    rest.remove_prefix(end);
  }
  clause.verb = rest.front();
  if (std::string_view("sdfebxXo").find(clause.verb) == std::string_view::npos) {
    return malformed("unrecognized formatting clause \"" + std::string(rest.substr(0, 1)) + "\"");
  }
  rest.remove_prefix(1);
  return {};
}

}  // namespace

Result<std::vector<FormatClause>> parse_format(std::string_view format, std::size_t arguments) {
  std::vector<FormatClause> clauses(1);
  while (!format.empty()) {
    const std::size_t percent = format.find('%');
    clauses.back().literal += format.substr(0, percent);
    if (percent == std::string_view::npos) break;
    format.remove_prefix(percent + 1);
    if (format.starts_with('%')) {
      clauses.back().literal += '%';
      format.remove_prefix(1);
      continue;
    }
    if (clauses.size() > arguments) return malformed("index " + std::to_string(clauses.size() - 1) + " out of range");
    if (format.empty()) return malformed("unexpected end of string");
    FLEETADM_CHECK(read_clause(format, clauses.back()));
    clauses.emplace_back();
  }
  return clauses;
}

Value format_string(std::string_view format, const Value& arguments, Work& work) {
  const auto clauses = parse_format(format, arguments.size());
  if (!clauses) return Value::error(clauses.error().message);
  std::string out;
  for (std::size_t i = 0; i < clauses->size(); ++i) {
    const FormatClause& clause = (*clauses)[i];
    out += clause.literal;
    if (clause.verb == 0) break;
    const auto text = formatted(clause, arguments.at(i), work);
    if (!text) return Value::error(text.error().message);
    if (out.size() + text->size() > kMaxStringBytes) return Value::error("the text is too long");
    out += *text;
  }
  return Value::string(std::move(out));
}

}  // namespace fleetadm::cel
