#include "tests/unit/core/cel/typed.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "core/cel/convert.h"
#include "core/cel/library/environments.h"
#include "core/cel/time.h"
#include "tests/support/vectors.h"

namespace fleetadm::cel::test {

namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string from_base64(const std::string& text) {
  std::string bytes;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) continue;
    bits = (bits << 6U) | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(static_cast<unsigned char>((bits >> count) & 0xFFU));
  }
  return bytes;
}

Json one(const char* kind, Json value) {
  Json result = Json::object();
  result.emplace(kind, std::move(value));
  return result;
}

Json typed_map(const Value& value) {
  std::vector<Json> entries;
  value.each_entry([&](const Value& key, const Value& content) {
    entries.push_back(Json::array({typed(key), typed(content)}));
    return true;
  });
  std::sort(entries.begin(), entries.end(), [](const Json& a, const Json& b) { return dump_json(a) < dump_json(b); });
  Json list = Json::array();
  for (Json& entry : entries) list.push_back(std::move(entry));
  return one("map", std::move(list));
}

}  // namespace

Json typed(const Value& value) {
  switch (value.kind()) {
    case Kind::kNull: return one("null", true);
    case Kind::kBool: return one("bool", value.as_bool());
    case Kind::kInt: return one("int", std::to_string(value.as_int()));
    case Kind::kUint: return one("uint", std::to_string(value.as_uint()));
    case Kind::kDouble: return one("double", format_double(value.as_double()));
    case Kind::kString: return one("string", std::string(value.text()));
    case Kind::kBytes: return one("bytes", *to_json(value));
    case Kind::kTimestamp: return one("timestamp", format_timestamp(value));
    case Kind::kDuration: return one("duration", std::to_string(value.duration_nanos()));
    case Kind::kType: return one("type", value.as_type().name());
    case Kind::kOpaque: return one("opaque", value.as_opaque()->type().name());
    case Kind::kError: return one("error", std::string(value.text()));
    case Kind::kMap: return typed_map(value);
    case Kind::kOptional: return one("optional", value.content() ? typed(*value.content()) : Json());
    case Kind::kList: break;
  }
  Json list = Json::array();
  value.each([&](const Value& element) {
    list.push_back(typed(element));
    return true;
  });
  return one("list", std::move(list));
}

Value from_typed(const Json& json) {
  const auto member = json.begin();
  const std::string kind = member.key();
  const Json& value = member.value();
  const std::string text = value.is_string() ? value.get<std::string>() : std::string();
  if (kind == "null") return Value::null();
  if (kind == "bool") return Value::boolean(value.get<bool>());
  if (kind == "int") return Value::integer(*parse_int(text));
  if (kind == "uint") return Value::unsigned_integer(*parse_uint(text));
  if (kind == "double") return Value::real(*parse_double(text));
  if (kind == "string") return Value::string(text);
  if (kind == "bytes") return Value::bytes(from_base64(text));
  if (kind == "type") return Value::type(text == "int" ? Type::integer() : Type::opaque(text));
  if (kind == "timestamp") return Value::timestamp(value[0].get<std::int64_t>(), value[1].get<std::int32_t>());
  if (kind == "duration") return Value::duration(value[0].get<std::int64_t>() * 1'000'000'000 + value[1].get<std::int64_t>());
  if (kind == "list") {
    std::vector<Value> elements;
    for (const Json& element : value) elements.push_back(from_typed(element));
    return Value::list(std::move(elements));
  }
  std::vector<Value::Entry> entries;
  for (const Json& entry : value) entries.emplace_back(from_typed(entry[0]), from_typed(entry[1]));
  return Value::map(std::move(entries));
}

std::vector<Json> read_cases(const std::string& file) {
  std::vector<Json> cases;
  const Status read = fleetadm::test::for_each_vector(file, [&](const Json& line) { cases.push_back(line); });
  EXPECT_TRUE(read) << read.error().message;
  return cases;
}

const Env& environment() {
  static const Result<Env> env = condition_environment(false);
  EXPECT_TRUE(env) << (env ? "" : env.error().message);
  return *env;
}

}  // namespace fleetadm::cel::test
