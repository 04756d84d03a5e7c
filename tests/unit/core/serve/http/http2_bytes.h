// What an HTTP/2 client sends, byte by byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fleetadm::serve {

inline constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

inline std::string h2_number(std::uint32_t value, int bytes = 4) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i) & 0xFFU);
  return out;
}
inline std::string h2_frame(unsigned type, unsigned flags, std::uint32_t stream, std::string_view payload = {}) {
  return h2_number(static_cast<std::uint32_t>(payload.size()), 3) + static_cast<char>(type) + static_cast<char>(flags) +
         h2_number(stream) + std::string(payload);
}
inline std::string h2_field(std::string_view name, std::string_view value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + std::string(name) + static_cast<char>(value.size()) +
         std::string(value);
}
inline std::string h2_head(std::string_view more = {}) {
  return h2_field(":method", "GET") + h2_field(":scheme", "https") + h2_field(":path", "/x") + h2_field(":authority", "a") +
         std::string(more);
}
inline std::string h2_many(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

}  // namespace fleetadm::serve
