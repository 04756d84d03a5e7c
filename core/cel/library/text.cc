#include "core/cel/library/text.h"

#include <algorithm>
#include <array>

#include "kubeclient/base/utf8.h"

namespace fleetadm::cel {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

bool is_space(unsigned code) {
  static constexpr std::array<unsigned, 9> kSpaces = {0x20, 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000};
  return (code >= 0x09 && code <= 0x0D) || (code >= 0x2000 && code <= 0x200A) ||
         std::find(kSpaces.begin(), kSpaces.end(), code) != kSpaces.end();
}

}  // namespace

std::size_t length_at(std::string_view text, std::size_t byte) {
  std::size_t end = byte + 1;
  while (end < text.size() && continues(text[end])) ++end;
  return end - byte;
}

std::size_t byte_of(std::string_view text, std::size_t code_point) {
  std::size_t at = 0;
  for (; code_point > 0 && at < text.size(); --code_point) at += length_at(text, at);
  return at;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty()) {
    const Rune first = rune_at(text, 0);
    if (first.length == 0 || !is_space(first.code)) break;
    text.remove_prefix(first.length);
  }
  while (!text.empty()) {
    std::size_t start = text.size() - 1;
    while (start > 0 && continues(text[start])) --start;
    const Rune last = rune_at(text, start);
    if (last.length == 0 || !is_space(last.code)) break;
    text = text.substr(0, start);
  }
  return text;
}

std::string reversed(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t end = text.size(); end > 0;) {
    std::size_t start = end - 1;
    while (start > 0 && continues(text[start])) --start;
    out += text.substr(start, end - start);
    end = start;
  }
  return out;
}

std::string quoted(std::string_view text) {
  static constexpr std::string_view kSpecial = "\a\b\f\n\r\t\v\\\"";
  static constexpr std::string_view kLetters = "abfnrtv\\\"";
  std::string out = "\"";
  for (const char c : text) {
    const std::size_t at = kSpecial.find(c);
    if (at == std::string_view::npos) {
      out += c;
    } else {
      out += '\\';
      out += kLetters[at];
    }
  }
  return out + "\"";
}

bool replaced(std::string_view text, std::string_view from, std::string_view to, std::size_t limit, std::size_t max_bytes,
              std::string& out) {
  out.clear();
  const auto put = [&](std::string_view piece) {
    if (out.size() + piece.size() > max_bytes) return false;
    out += piece;
    return true;
  };
  std::size_t at = 0;
  if (from.empty()) {
    for (; limit > 0 && at <= text.size(); --limit) {
      const std::size_t length = at < text.size() ? length_at(text, at) : 0;
      if (!put(to) || !put(text.substr(at, length))) return false;
      at += std::max<std::size_t>(length, 1);
    }
    return at >= text.size() || put(text.substr(at));
  }
  for (; limit > 0; --limit) {
    const std::size_t found = text.find(from, at);
    if (found == std::string_view::npos) break;
    if (!put(text.substr(at, found - at)) || !put(to)) return false;
    at = found + from.size();
  }
  return put(text.substr(at));
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator, std::size_t limit) {
  std::vector<std::string_view> out;
  if (limit == 0 || (separator.empty() && text.empty())) return out;
  std::size_t at = 0;
  while (out.size() + 1 < limit) {
    const std::size_t end = separator.empty() ? at + length_at(text, at) : text.find(separator, at);
    if (end == std::string_view::npos || (separator.empty() && end == text.size())) break;
    out.push_back(text.substr(at, end - at));
    at = end + separator.size();
  }
  out.push_back(text.substr(at));
  return out;
}

}  // namespace fleetadm::cel
