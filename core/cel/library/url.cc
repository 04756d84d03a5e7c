#include "core/cel/library/url.h"

#include <algorithm>
#include <cstdio>

#include "kubeclient/base/ascii.h"
#include "kubeclient/base/ip_address.h"

namespace fleetadm::cel {
namespace {

// The part of a URL that a text is for: each allows other characters unescaped.
enum class Part { kPath, kHost, kZone, kUser, kQuery, kFragment };

tl::unexpected<Error> malformed_url(std::string message) { return fail(Category::kInvalid, std::move(message)); }

std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }

bool allowed(char c, Part part) {
  if (is_alnum(c)) return true;
  const auto one_of = [c](std::string_view set) { return set.find(c) != std::string_view::npos; };
  if (one_of("-_.~")) return true;
  switch (part) {
    case Part::kHost:
    case Part::kZone: return one_of("!$&'()*+,;=:[]<>\"");
    case Part::kPath: return one_of("$&+,/:;=@");
    case Part::kUser: return one_of("$&+,;=");
    case Part::kQuery: return false;
    case Part::kFragment: return one_of("$&+,/:;=?@!()*");
  }
  return false;
}

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<std::string> unescape(std::string_view text, Part part) {
  std::string out;
  const bool host = part == Part::kHost || part == Part::kZone;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '+' && part == Part::kQuery) {
      out += ' ';
      continue;
    }
    if (c != '%') {
      if (host && static_cast<unsigned char>(c) < 0x80 && !allowed(c, part)) {
        return malformed_url("invalid character " + in_quotes(text.substr(i, 1)) + " in host name");
      }
      out += c;
      continue;
    }
    const std::string_view sequence = text.substr(i, 3);
    const int high = sequence.size() == 3 ? hex(sequence[1]) : -1;
    const int low = sequence.size() == 3 ? hex(sequence[2]) : -1;
    if (high < 0 || low < 0) return malformed_url("invalid URL escape " + in_quotes(sequence));
    const char byte = static_cast<char>(high << 4 | low);
    // Hosts may escape what is not ASCII, and the percent sign of a zone.
    if (part == Part::kHost && high < 8 && sequence != "%25") return malformed_url("invalid URL escape " + in_quotes(sequence));
    if (part == Part::kZone && sequence != "%25" && byte != ' ' && !allowed(byte, Part::kHost)) {
      return malformed_url("invalid URL escape " + in_quotes(sequence));
    }
    out += byte;
    i += 2;
  }
  return out;
}

std::string escape(std::string_view text, Part part) {
  std::string out;
  for (const char c : text) {
    if (allowed(c, part)) {
      out += c;
    } else {
      char sequence[4];
      std::snprintf(sequence, sizeof sequence, "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += sequence;
    }
  }
  return out;
}

// Whether an encoding that the writer chose may stay.
bool is_encoding(std::string_view text, Part part) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return std::string_view("!$&'()*+,;=:@[]%").find(c) != std::string_view::npos || allowed(c, part);
  });
}

std::string escaped_as_written(const std::string& value, const std::string& written, Part part) {
  if (!written.empty() && is_encoding(written, part)) {
    const auto again = unescape(written, part);
    if (again && *again == value) return written;
  }
  return escape(value, part);
}

// Scheme and what follows its colon; no scheme: all of it.
Result<std::pair<std::string, std::string_view>> split_scheme(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ':') {
      if (i == 0) return malformed_url("missing protocol scheme");
      std::string scheme(text.substr(0, i));
      for (char& letter : scheme) letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
      return std::pair(std::move(scheme), text.substr(i + 1));
    }
    const bool letter = is_alnum(c) && (c < '0' || c > '9');
    const bool inner = is_alnum(c) || c == '+' || c == '-' || c == '.';
    if (!letter && (!inner || i == 0)) break;
  }
  return std::pair(std::string(), text);
}

bool is_port(std::string_view text) {
  if (text.empty()) return true;
  return text.front() == ':' && std::all_of(text.begin() + 1, text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Result<std::string> read_bracketed(std::string_view host) {
  const std::size_t close = host.rfind(']');
  if (close == std::string_view::npos) return malformed_url("missing ']' in host");
  const std::string_view port = host.substr(close + 1);
  if (!is_port(port)) return malformed_url("invalid port " + in_quotes(port) + " after host");
  const std::string_view name = host.substr(1, close - 1);
  const std::size_t zone = name.find("%25");
  FLEETADM_TRY(std::string address, unescape(name.substr(0, zone), Part::kHost));
  if (zone != std::string_view::npos) {
    FLEETADM_TRY(const std::string zone_text, unescape(name.substr(zone), Part::kZone));
    address += zone_text;
  }
  const auto parsed = IpAddress::parse(address);
  if (!parsed) return malformed_url("invalid host: " + parsed.error().message);
  if (!parsed->v6) return malformed_url("invalid IP-literal");
  return "[" + address + "]" + std::string(port);
}

Result<std::string> read_host(const std::string& scheme, std::string_view host) {
  const std::size_t open = host.rfind('[');
  if (open != std::string_view::npos && open > 0) return malformed_url("invalid IP-literal");
  if (open == 0) return read_bracketed(host);
  // One colon, before the port; databases have several hosts with one each.
  const bool web = scheme == "http" || scheme == "https";
  const std::size_t colon = web ? host.find(':') : host.rfind(':');
  if (colon != std::string_view::npos && !is_port(host.substr(colon)))
    return malformed_url("invalid port " + in_quotes(host.substr(colon)) + " after host");
  return unescape(host, Part::kHost);
}

bool is_user_info(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_alnum(c) || std::string_view("-._:~!$&'()*+,;=%@").find(c) != std::string_view::npos;
  });
}

}  // namespace

Status Url::read_authority(std::string_view authority) {
  const std::size_t at = authority.rfind('@');
  FLEETADM_TRY(host_, read_host(scheme_, at == std::string_view::npos ? authority : authority.substr(at + 1)));
  if (at == std::string_view::npos) return {};
  const std::string_view info = authority.substr(0, at);
  if (!is_user_info(info)) return malformed_url("net/url: invalid userinfo");
  const std::size_t colon = info.find(':');
  FLEETADM_TRY(const std::string name, unescape(info.substr(0, colon), Part::kUser));
  has_user_ = true;
  user_ = escape(name, Part::kUser);
  if (colon == std::string_view::npos) return {};
  FLEETADM_TRY(const std::string password, unescape(info.substr(colon + 1), Part::kUser));
  user_ += ":" + escape(password, Part::kUser);
  return {};
}

Status Url::read_path(std::string_view path) {
  FLEETADM_TRY(path_, unescape(path, Part::kPath));
  if (escape(path_, Part::kPath) != path) raw_path_ = path;
  return {};
}

Result<Url> Url::parse(std::string_view text, bool request) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::any_of(text.begin(), text.end(), control)) return malformed_url("net/url: invalid control character in URL");
  if (text.empty() && request) return malformed_url("empty url");
  Url url;
  if (text == "*") {
    url.path_ = "*";
    return url;
  }
  FLEETADM_TRY(auto split, split_scheme(text));
  url.scheme_ = std::move(split.first);
  std::string_view rest = split.second;
  if (rest.ends_with('?') && rest.find('?') == rest.size() - 1) {
    url.ends_in_question_mark_ = true;
    rest.remove_suffix(1);
  } else if (const std::size_t mark = rest.find('?'); mark != std::string_view::npos) {
    url.query_ = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  }
  if (!rest.starts_with('/')) {
    if (!url.scheme_.empty()) {
      url.opaque_ = rest;
      return url;
    }
    if (request) return malformed_url("invalid URI for request");
    if (rest.substr(0, rest.find('/')).find(':') != std::string_view::npos)
      return malformed_url("first path segment in URL cannot contain colon");
  }
  const bool may_have_authority = !url.scheme_.empty() || (!request && !rest.starts_with("///"));
  if (may_have_authority && rest.starts_with("//")) {
    rest.remove_prefix(2);
    const std::size_t slash = rest.find('/');
    FLEETADM_CHECK(url.read_authority(rest.substr(0, slash)));
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash);
  } else if (!url.scheme_.empty() && rest.starts_with('/')) {
    url.no_authority_ = true;
  }
  FLEETADM_CHECK(url.read_path(rest));
  return url;
}

Status Url::check_request(std::string_view text) {
  if (auto url = parse(text, true); !url) return malformed_url("parse " + in_quotes(text) + ": " + url.error().message);
  return {};
}

Result<Url> Url::parse_request(std::string_view text) {
  FLEETADM_CHECK(check_request(text));
  const std::size_t hash = text.find('#');
  auto url = parse(text.substr(0, hash), false);
  if (!url) return malformed_url("parse " + in_quotes(text.substr(0, hash)) + ": " + url.error().message);
  if (hash != std::string_view::npos) {
    url->raw_fragment_ = text.substr(hash + 1);
    auto fragment = unescape(url->raw_fragment_, Part::kFragment);
    if (!fragment) return malformed_url("parse " + in_quotes(text) + ": " + fragment.error().message);
    url->fragment_ = std::move(*fragment);
  }
  return url;
}

std::string Url::hostname() const {
  std::string_view host = host_;
  const std::size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && is_port(host.substr(colon))) host = host.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return std::string(host);
}

std::string Url::port() const {
  const std::size_t colon = host_.rfind(':');
  return colon != std::string::npos && is_port(std::string_view(host_).substr(colon)) ? host_.substr(colon + 1) : std::string();
}

std::string Url::escaped_path() const {
  if (path_ == "*") return path_;
  return escaped_as_written(path_, raw_path_, Part::kPath);
}

std::map<std::string, std::vector<std::string>> Url::query() const {
  static constexpr auto kMaxParameters = 10'000;
  std::map<std::string, std::vector<std::string>> out;
  if (std::count(query_.begin(), query_.end(), '&') + 1 > kMaxParameters) return out;
  std::string_view rest = query_;
  while (!rest.empty()) {
    const std::size_t end = rest.find('&');
    const std::string_view pair = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (pair.empty() || pair.find(';') != std::string_view::npos) continue;
    const std::size_t equals = pair.find('=');
    auto key = unescape(pair.substr(0, equals), Part::kQuery);
    auto value = unescape(equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1), Part::kQuery);
    if (key && value) out[std::move(*key)].push_back(std::move(*value));
  }
  return out;
}

std::string Url::to_string() const {
  std::string out;
  if (!scheme_.empty()) out = scheme_ + ":";
  if (!opaque_.empty()) {
    out += opaque_;
  } else {
    const bool authority = !host_.empty() || has_user_;
    if (authority || (!scheme_.empty() && !no_authority_ && !path_.empty())) out += "//";
    if (has_user_) out += user_ + "@";
    out += escape(host_, Part::kHost);
    const std::string path = escaped_path();
    if (!path.empty() && path.front() != '/' && !host_.empty()) out += '/';
    if (out.empty() && path.substr(0, path.find('/')).find(':') != std::string::npos) out += "./";
    out += path;
  }
  if (ends_in_question_mark_ || !query_.empty()) out += "?" + query_;
  if (!fragment_.empty()) out += "#" + escaped_as_written(fragment_, raw_fragment_, Part::kFragment);
  return out;
}

}  // namespace fleetadm::cel
