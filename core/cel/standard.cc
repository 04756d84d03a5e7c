// The functions of the standard library beside its operators: conversions, sizes, texts and times.
#include <cmath>
#include <limits>
#include <utility>

#include "core/cel/convert.h"
#include "core/cel/library.h"
#include "core/cel/macros.h"
#include "core/cel/operators.h"
#include "core/cel/pattern.h"
#include "core/cel/time.h"
#include "kubeclient/base/civil_time.h"

namespace fleetadm::cel {

namespace {

using Args = std::span<const Value>;

Value identity(CallContext&, Args args) { return args[0]; }

Value no_conversion(const Value& from, const char* to) {
  return Value::error("type conversion error from '" + from.runtime_type().name() + "' to '" + to + "'");
}

Value integer_overflow() { return Value::error("integer overflow"); }
Value unsigned_overflow() { return Value::error("unsigned integer overflow"); }

Value to_int(CallContext&, Args args) {
  const Value& from = args[0];
  switch (from.kind()) {
    case Kind::kDouble:
      // The ends of the range are left out: as doubles they may stand for numbers beyond.
      if (!(from.as_double() > -0x1p63 && from.as_double() < 0x1p63)) return integer_overflow();
      return Value::integer(static_cast<std::int64_t>(from.as_double()));
    case Kind::kUint:
      if (from.as_uint() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return integer_overflow();
      return Value::integer(static_cast<std::int64_t>(from.as_uint()));
    case Kind::kString: {
      const auto value = parse_int(from.text());
      return value ? Value::integer(*value) : no_conversion(from, "int");
    }
    case Kind::kTimestamp: return Value::integer(from.seconds());
    case Kind::kDuration: return Value::integer(from.duration_nanos());
    default: return from;
  }
}

Value to_uint(CallContext&, Args args) {
  const Value& from = args[0];
  switch (from.kind()) {
    case Kind::kDouble:
      if (!(from.as_double() >= 0 && from.as_double() < 0x1p64)) return unsigned_overflow();
      return Value::unsigned_integer(static_cast<std::uint64_t>(from.as_double()));
    case Kind::kInt:
      if (from.as_int() < 0) return unsigned_overflow();
      return Value::unsigned_integer(static_cast<std::uint64_t>(from.as_int()));
    case Kind::kString: {
      const auto value = parse_uint(from.text());
      return value ? Value::unsigned_integer(*value) : no_conversion(from, "uint");
    }
    default: return from;
  }
}

Value to_double(CallContext&, Args args) {
  const Value& from = args[0];
  switch (from.kind()) {
    case Kind::kInt: return Value::real(static_cast<double>(from.as_int()));
    case Kind::kUint: return Value::real(static_cast<double>(from.as_uint()));
    case Kind::kString: {
      const auto value = parse_double(from.text());
      return value ? Value::real(*value) : no_conversion(from, "double");
    }
    default: return from;
  }
}

Value to_bool(CallContext&, Args args) {
  const auto value = parse_bool(args[0].text());
  return value ? Value::boolean(*value) : no_conversion(args[0], "bool");
}

Value to_bytes(CallContext&, Args args) { return Value::bytes(std::string(args[0].text())); }

Value to_text(CallContext&, Args args) {
  const Value& from = args[0];
  switch (from.kind()) {
    case Kind::kBool: return Value::borrowed(from.as_bool() ? "true" : "false");
    case Kind::kInt: return Value::string(std::to_string(from.as_int()));
    case Kind::kUint: return Value::string(std::to_string(from.as_uint()));
    case Kind::kDouble: return Value::string(format_double(from.as_double()));
    case Kind::kBytes:
      if (!is_valid_utf8(from.text())) return Value::error("invalid UTF-8 in bytes, cannot convert to string");
      return Value::string(std::string(from.text()));
    case Kind::kTimestamp: return Value::string(format_timestamp(from));
    case Kind::kDuration: return Value::string(format_duration(from.duration_nanos()));
    default: return from;
  }
}

Value to_timestamp(CallContext&, Args args) {
  const Value& from = args[0];
  const auto in_range = [](std::int64_t seconds) { return seconds >= kMinTimestamp && seconds <= kMaxTimestamp; };
  if (from.is(Kind::kInt))
    return in_range(from.as_int()) ? Value::timestamp(from.as_int(), 0) : Value::error("timestamp overflow");
  const auto value = parse_timestamp(from.text());
  if (!value) return no_conversion(from, "google.protobuf.Timestamp");
  return in_range(value->seconds()) ? *value : Value::error("timestamp overflow");
}

Value to_duration(CallContext&, Args args) {
  const auto value = parse_duration(args[0].text());
  return value ? Value::duration(*value) : no_conversion(args[0], "google.protobuf.Duration");
}

Value to_type(CallContext&, Args args) { return Value::type(args[0].runtime_type()); }

std::vector<Function> conversions() {
  const Type a = Type::param("A");
  const Type integer = Type::integer();
  const Type natural = Type::unsigned_integer();
  const Type real = Type::real();
  const Type text = Type::string();
  const Type bytes = Type::bytes();
  const Type boolean = Type::boolean();
  const Type timestamp = Type::timestamp();
  const Type duration = Type::duration();
  return {
      {.name = "type", .overloads = {constant_time(global("type", {a}, Type::type(a), to_type))}, .singleton = true},
      {.name = "dyn", .overloads = {constant_time(global("to_dyn", {a}, Type::dyn(), identity))}, .singleton = true},
      {.name = "bool",
       .overloads = {global("bool_to_bool", {boolean}, boolean, identity), global("string_to_bool", {text}, boolean, to_bool)}},
      {.name = "bytes",
       .overloads = {global("bytes_to_bytes", {bytes}, bytes, identity), global("string_to_bytes", {text}, bytes, to_bytes)}},
      {.name = "double",
       .overloads = {global("double_to_double", {real}, real, identity), global("int64_to_double", {integer}, real, to_double),
                     global("string_to_double", {text}, real, to_double),
                     global("uint64_to_double", {natural}, real, to_double)}},
      {.name = "duration",
       .overloads = {global("duration_to_duration", {duration}, duration, identity),
                     global("string_to_duration", {text}, duration, to_duration)}},
      {.name = "int",
       .overloads = {global("int64_to_int64", {integer}, integer, identity), global("double_to_int64", {real}, integer, to_int),
                     global("duration_to_int64", {duration}, integer, to_int), global("string_to_int64", {text}, integer, to_int),
                     global("timestamp_to_int64", {timestamp}, integer, to_int),
                     global("uint64_to_int64", {natural}, integer, to_int)}},
      {.name = "string",
       .overloads = {global("string_to_string", {text}, text, identity), global("bool_to_string", {boolean}, text, to_text),
                     global("bytes_to_string", {bytes}, text, to_text), global("double_to_string", {real}, text, to_text),
                     global("duration_to_string", {duration}, text, to_text), global("int64_to_string", {integer}, text, to_text),
                     global("timestamp_to_string", {timestamp}, text, to_text),
                     global("uint64_to_string", {natural}, text, to_text)}},
      {.name = "timestamp",
       .overloads = {global("timestamp_to_timestamp", {timestamp}, timestamp, identity),
                     global("int64_to_timestamp", {integer}, timestamp, to_timestamp),
                     global("string_to_timestamp", {text}, timestamp, to_timestamp)}},
      {.name = "uint",
       .overloads = {global("uint64_to_uint64", {natural}, natural, identity),
                     global("double_to_uint64", {real}, natural, to_uint), global("int64_to_uint64", {integer}, natural, to_uint),
                     global("string_to_uint64", {text}, natural, to_uint)}},
  };
}

Value size_of(CallContext&, Args args) {
  const Value& value = args[0];
  if (value.is(Kind::kString)) return Value::integer(static_cast<std::int64_t>(code_points(value.text())));
  return Value::integer(static_cast<std::int64_t>(value.is(Kind::kBytes) ? value.text().size() : value.size()));
}

Value contains(CallContext&, Args args) { return Value::boolean(args[0].text().find(args[1].text()) != std::string_view::npos); }
Value starts_with(CallContext&, Args args) { return Value::boolean(args[0].text().starts_with(args[1].text())); }
Value ends_with(CallContext&, Args args) { return Value::boolean(args[0].text().ends_with(args[1].text())); }

Value matches_pattern(CallContext& context, Args args) {
  const auto pattern = compile_pattern(args[1].text(), context.work);
  return pattern ? Value::boolean(matches(**pattern, args[0].text())) : Value::error(pattern.error().message);
}

/// A literal pattern is compiled once; one that is none fails only where it is used.
Result<Implementation> with_literal_pattern(std::span<const std::optional<Value>> literals) {
  if (!literals[1] || !literals[1]->is(Kind::kString)) return Implementation();
  auto pattern = compile_pattern(literals[1]->text());
  if (!pattern) return Implementation();
  return Implementation(
      [compiled = std::move(*pattern)](CallContext&, Args args) { return Value::boolean(matches(*compiled, args[0].text())); });
}

std::vector<Function> texts() {
  const Type text = Type::string();
  const Type boolean = Type::boolean();
  const Type integer = Type::integer();
  const Type list = Type::list(Type::param("A"));
  const Type map = Type::map(Type::param("A"), Type::param("B"));
  Overload matches_global = global("matches", {text, text}, boolean, matches_pattern);
  Overload matches_member = member("matches_string", {text, text}, boolean, matches_pattern);
  matches_global.specialise = matches_member.specialise = with_literal_pattern;
  return {
      {.name = "size",
       .overloads = {constant_time(global("size_bytes", {Type::bytes()}, integer, size_of)),
                     constant_time(member("bytes_size", {Type::bytes()}, integer, size_of)),
                     constant_time(global("size_list", {list}, integer, size_of)),
                     constant_time(member("list_size", {list}, integer, size_of)),
                     constant_time(global("size_map", {map}, integer, size_of)),
                     constant_time(member("map_size", {map}, integer, size_of)),
                     constant_time(global("size_string", {text}, integer, size_of)),
                     constant_time(member("string_size", {text}, integer, size_of))},
       .singleton = true},
      {.name = "contains", .overloads = {member("contains_string", {text, text}, boolean, contains)}},
      {.name = "endsWith", .overloads = {member("ends_with_string", {text, text}, boolean, ends_with)}},
      {.name = "startsWith", .overloads = {member("starts_with_string", {text, text}, boolean, starts_with)}},
      {.name = "matches", .overloads = {std::move(matches_global), std::move(matches_member)}, .singleton = true},
  };
}

using Field = std::int64_t (*)(const CivilTime&, std::int32_t nanos);

Value field_in(const Value& timestamp, const TimeZone& zone, Field field) {
  return Value::integer(field(civil_time(timestamp.seconds(), zone.offset_at(timestamp.seconds())), timestamp.nanos()));
}

Value unknown_zone(const Value& name) { return Value::error("unknown time zone " + display(name, 100)); }

/// A getter of timestamps: in UTC, and in a zone given by name or offset.
Function getter(const char* name, const std::string& id, const std::string& zoned_id, Field field) {
  Overload plain = member(id, {Type::timestamp()}, Type::integer(),
                          [field](CallContext&, Args args) { return field_in(args[0], TimeZone::utc(), field); });
  Overload zoned =
      member(zoned_id, {Type::timestamp(), Type::string()}, Type::integer(), [field](CallContext& context, Args args) {
        // Reading a zone's file is dear.
        if (!context.work.spend(5000)) return Value::error("work limit exceeded");
        const auto zone = zone_of(args[1].text());
        return zone ? field_in(args[0], *zone, field) : unknown_zone(args[1]);
      });
  zoned.specialise = [field](std::span<const std::optional<Value>> literals) -> Result<Implementation> {
    if (!literals[1] || !literals[1]->is(Kind::kString)) return Implementation();
    auto zone = zone_of(literals[1]->text());
    if (!zone) return Implementation();
    return Implementation([field, zone = std::move(*zone)](CallContext&, Args args) { return field_in(args[0], zone, field); });
  };
  return {.name = name, .overloads = {std::move(plain), std::move(zoned)}};
}

/// A duration in units, with the roundings of upstream's doubles.
Implementation in_units(std::int64_t unit) {
  return [unit](CallContext&, Args args) {
    const std::int64_t nanos = args[0].duration_nanos();
    const double whole = static_cast<double>(nanos / unit);
    return Value::integer(static_cast<std::int64_t>(whole + static_cast<double>(nanos % unit) / static_cast<double>(unit)));
  };
}

std::vector<Function> times() {
  std::vector<Function> functions = {
      getter("getFullYear", "timestamp_to_year", "timestamp_to_year_with_tz",
             [](const CivilTime& time, std::int32_t) { return time.year; }),
      getter("getMonth", "timestamp_to_month", "timestamp_to_month_with_tz",
             [](const CivilTime& time, std::int32_t) { return std::int64_t{time.month} - 1; }),
      getter("getDayOfYear", "timestamp_to_day_of_year", "timestamp_to_day_of_year_with_tz",
             [](const CivilTime& time, std::int32_t) { return std::int64_t{time.day_of_year}; }),
      getter("getDayOfMonth", "timestamp_to_day_of_month", "timestamp_to_day_of_month_with_tz",
             [](const CivilTime& time, std::int32_t) { return std::int64_t{time.day} - 1; }),
      getter("getDate", "timestamp_to_day_of_month_1_based", "timestamp_to_day_of_month_1_based_with_tz",
             [](const CivilTime& time, std::int32_t) { return std::int64_t{time.day}; }),
      getter("getDayOfWeek", "timestamp_to_day_of_week", "timestamp_to_day_of_week_with_tz",
             [](const CivilTime& time, std::int32_t) { return std::int64_t{time.day_of_week}; }),
      getter("getHours", "timestamp_to_hours", "timestamp_to_hours_with_tz",
             [](const CivilTime& time, std::int32_t) { return std::int64_t{time.hour}; }),
      getter("getMinutes", "timestamp_to_minutes", "timestamp_to_minutes_with_tz",
             [](const CivilTime& time, std::int32_t) { return std::int64_t{time.minute}; }),
      getter("getSeconds", "timestamp_to_seconds", "timestamp_to_seconds_tz",
             [](const CivilTime& time, std::int32_t) { return std::int64_t{time.second}; }),
      getter("getMilliseconds", "timestamp_to_milliseconds", "timestamp_to_milliseconds_with_tz",
             [](const CivilTime&, std::int32_t nanos) { return std::int64_t{nanos} / 1'000'000; }),
  };
  const std::pair<const char*, Overload> durations[] = {
      {"getHours", member("duration_to_hours", {Type::duration()}, Type::integer(), in_units(3600 * kNanos))},
      {"getMinutes", member("duration_to_minutes", {Type::duration()}, Type::integer(), in_units(60 * kNanos))},
      {"getSeconds", member("duration_to_seconds", {Type::duration()}, Type::integer(), in_units(kNanos))},
      {"getMilliseconds", member("duration_to_milliseconds", {Type::duration()}, Type::integer(),
                                 [](CallContext&, Args args) { return Value::integer(args[0].duration_nanos() / 1'000'000); })},
  };
  for (const auto& [name, overload] : durations) {
    for (Function& function : functions) {
      if (function.name == name) function.overloads.push_back(overload);
    }
  }
  return functions;
}

}  // namespace

Library standard_library() {
  Library library{.name = "standard", .macros = standard_macros()};
  for (auto part : {operator_functions(), conversions(), texts(), times()}) {
    for (Function& function : part) library.functions.push_back(std::move(function));
  }
  const Type list = Type::list(Type::param("A"));
  const Type map = Type::map(Type::param("A"), Type::param("B"));
  for (const Type& type : {Type::boolean(), Type::bytes(), Type::real(), Type::duration(), Type::integer(), list, map,
                           Type::null(), Type::string(), Type::timestamp(), Type::type(), Type::unsigned_integer()}) {
    library.constants.push_back({.name = type.name(), .type = Type::type(type), .value = Value::type(type)});
  }
  return library;
}

}  // namespace fleetadm::cel
