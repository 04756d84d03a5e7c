#include "core/image/registry/url.h"

#include <algorithm>
#include <cctype>

namespace fleetadm::image {
namespace {

constexpr std::size_t kMaxUrl = 16384;

bool is_clean(std::string_view text) {
  return text.size() <= kMaxUrl && std::all_of(text.begin(), text.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte > 0x20 && byte < 0x7f && c != '\\' && c != '"' && c != '<' && c != '>';
         });
}

tl::unexpected<Error> refused(std::string_view text) {
  return fail(Category::kInvalid, "\"" + std::string(text.substr(0, 200)) + "\" is not a URL that can be used");
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
  if (!is_clean(text)) return refused(text);
  text = text.substr(0, text.find('#'));
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) return refused(text);
  std::string scheme(text.substr(0, colon));
  std::transform(scheme.begin(), scheme.end(), scheme.begin(), [](unsigned char c) { return std::tolower(c); });
  if (scheme != "https" && scheme != "http") return refused(text);
  const std::string_view rest = text.substr(colon + 3);
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  std::string authority(rest.substr(0, end));
  // Credentials in a URL would be sent to whoever it names.
  if (authority.empty() || authority.find('@') != std::string::npos) return refused(text);
  std::transform(authority.begin(), authority.end(), authority.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::size_t bracket = authority.rfind(']');
  if (authority.find(':', bracket == std::string::npos ? 0 : bracket) == std::string::npos)
    authority += scheme == "https" ? ":443" : ":80";
  Url url{scheme + "://" + authority, std::string(rest.substr(end))};
  if (!url.target.starts_with('/')) url.target.insert(0, "/");
  return url;
}

Result<Url> resolve_url(const Url& base, std::string_view location) {
  if (location.empty() || !is_clean(location)) return refused(location);
  if (location.starts_with("//")) return parse_url(base.origin.substr(0, base.origin.find("//")) + std::string(location));
  const std::size_t scheme = location.find("://");
  if (scheme != std::string_view::npos && scheme < location.find_first_of("/?#")) return parse_url(location);
  location = location.substr(0, location.find('#'));
  if (location.starts_with('/')) return Url{base.origin, std::string(location)};
  const std::string path = base.target.substr(0, base.target.find('?'));
  if (location.starts_with('?')) return Url{base.origin, path + std::string(location)};
  return Url{base.origin, path.substr(0, path.rfind('/') + 1) + std::string(location)};
}

std::string with_parameter(const std::string& target, std::string_view name, std::string_view value) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out = target;
  if (target.find('?') == std::string::npos) {
    out += '?';
  } else if (!target.ends_with('?') && !target.ends_with('&')) {
    out += '&';
  }
  out += name;
  out += '=';
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || std::string_view("-._~").find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4U];
      out += kHex[byte & 15U];
    }
  }
  return out;
}

}  // namespace fleetadm::image
