#include "kubeclient/pki/der.h"

#include <cstddef>

namespace fleetadm::pki {
namespace {

constexpr int kMaxDerDepth = 32;
constexpr unsigned kConstructed = 0x20;
constexpr unsigned kUniversal = 0x00;
enum UniversalTag : unsigned { kBoolean = 1, kInteger = 2, kEnumerated = 10, kSequence = 16, kSet = 17 };

unsigned byte_at(std::string_view bytes, std::size_t at) { return static_cast<unsigned char>(bytes[at]); }

/// Takes tag and length off the front; false where they are not DER.
bool take_header(std::string_view& rest, unsigned& identifier, std::size_t& length) {
  if (rest.size() < 2) return false;
  identifier = byte_at(rest, 0);
  if ((identifier & 0x1fU) == 0x1fU) return false;  // no type of a request has a long tag
  const unsigned first = byte_at(rest, 1);
  rest.remove_prefix(2);
  length = first;
  if (first >= 0x80) {
    const std::size_t count = first & 0x7fU;
    if (count == 0 || count > 4 || rest.size() < count) return false;  // 0: indefinite
    length = 0;
    for (std::size_t i = 0; i < count; ++i) length = (length << 8U) | byte_at(rest, i);
    if (byte_at(rest, 0) == 0 || length < 0x80) return false;
    rest.remove_prefix(count);
  }
  return length <= rest.size();
}

bool is_value(unsigned identifier, std::string_view content) {
  if ((identifier & 0xc0U) != kUniversal) return true;
  switch (identifier & 0x1fU) {
    case kBoolean: return content.size() == 1 && (byte_at(content, 0) == 0 || byte_at(content, 0) == 0xff);
    case kInteger:
    case kEnumerated: {
      if (content.empty()) return false;
      if (content.size() == 1) return true;
      const bool negative = (byte_at(content, 1) & 0x80U) != 0;
      return !(byte_at(content, 0) == 0 && !negative) && !(byte_at(content, 0) == 0xff && negative);
    }
    default: return true;
  }
}

bool are_values(std::string_view bytes, int depth) {
  if (depth > kMaxDerDepth) return false;
  while (!bytes.empty()) {
    unsigned identifier = 0;
    std::size_t length = 0;
    if (!take_header(bytes, identifier, length)) return false;
    const std::string_view content = bytes.substr(0, length);
    bytes.remove_prefix(length);
    const bool constructed = (identifier & kConstructed) != 0;
    if ((identifier & 0xc0U) == kUniversal) {
      const unsigned tag = identifier & 0x1fU;
      if (tag == 0 || constructed != (tag == kSequence || tag == kSet)) return false;
    }
    if (constructed ? !are_values(content, depth + 1) : !is_value(identifier, content)) return false;
  }
  return true;
}

}  // namespace

bool is_der(std::string_view bytes) {
  std::string_view rest = bytes;
  unsigned identifier = 0;
  std::size_t length = 0;
  return take_header(rest, identifier, length) && rest.size() == length && are_values(bytes, 0);
}

}  // namespace fleetadm::pki
