#include "tests/cel/render.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "core/cel/library/opaque_values.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::testkit {
namespace {

using cel::Kind;
using cel::Value;

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f || c == '"' || c == '\\') {
      std::array<char, 8> hex{};
      std::snprintf(hex.data(), hex.size(), "\\x%02x", static_cast<unsigned>(byte));
      out += hex.data();
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string real(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
  return {buffer.data(), end.ptr};
}

std::string opaque(const Value& value) {
  const std::string text = value.as_opaque()->text();
  if (value.as<cel::QuantityValue>() != nullptr) return "quantity(" + text + ")";
  if (value.as<cel::IpValue>() != nullptr) return "ip(" + text + ")";
  if (value.as<cel::CidrValue>() != nullptr) return "cidr(" + text + ")";
  if (value.as<cel::UrlValue>() != nullptr) return "url(" + text + ")";
  if (value.as<cel::SemverValue>() != nullptr) return "semver(" + text + ")";
  return "format(" + text + ")";
}

}  // namespace

std::string render(const Value& value) {
  std::vector<std::string> parts;
  switch (value.kind()) {
    case Kind::kNull: return "null";
    case Kind::kBool: return value.as_bool() ? "true" : "false";
    case Kind::kInt: return std::to_string(value.as_int());
    case Kind::kUint: return std::to_string(value.as_uint()) + "u";
    case Kind::kDouble: return real(value.as_double());
    case Kind::kString: return quoted(value.text());
    case Kind::kBytes: return "b64(" + base64_encode(value.text()) + ")";
    case Kind::kDuration: return "duration(" + std::to_string(value.duration_nanos()) + ")";
    case Kind::kTimestamp: return "timestamp(" + std::to_string(value.seconds()) + "," + std::to_string(value.nanos()) + ")";
    case Kind::kType: return "type(" + value.as_type().name() + ")";
    case Kind::kOptional: return value.content() ? "optional(" + render(*value.content()) + ")" : "none";
    case Kind::kOpaque: return opaque(value);
    case Kind::kList:
      for (const Value& element : value.elements()) parts.push_back(render(element));
      return "[" + joined(parts) + "]";
    case Kind::kMap:
      value.each_entry([&](const Value& key, const Value& element) {
        parts.push_back(render(key) + ":" + render(element));
        return true;
      });
      std::sort(parts.begin(), parts.end());
      return "{" + joined(parts) + "}";
    case Kind::kError: break;
  }
  return "error";
}

}  // namespace fleetadm::testkit
