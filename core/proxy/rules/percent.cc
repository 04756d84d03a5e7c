#include "core/proxy/rules/percent.h"

#include <algorithm>

#include "core/serve/request_info.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/base/utf8.h"

namespace fleetadm::proxy {

std::string percent_encoded(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (is_lower_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~') {
      out.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out.push_back('%');
    out.push_back(kDigits[byte >> 4U]);
    out.push_back(kDigits[byte & 0xFU]);
  }
  return out;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && (i + 2 >= text.size() || !is_hex(text[i + 1]) || !is_hex(text[i + 2]))) return std::nullopt;
  }
  return serve::percent_decode(text, false);
}

bool is_plain_text(std::string_view text) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  return std::ranges::none_of(text, control) && valid_utf8(text) == text;
}

}  // namespace fleetadm::proxy
