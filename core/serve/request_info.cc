#include "core/serve/request_info.h"

#include <algorithm>
#include <charconv>

#include "kubeclient/base/ascii.h"
#include "kubeclient/base/query_selectors.h"

namespace fleetadm::serve {
namespace {

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Of the decoded path, as API servers do it: "pods%2Fp%2Fexec" must not be authorized as anything but what they will do.
std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> out;
  while (!path.empty()) {
    const auto slash = path.find('/');
    if (const auto piece = path.substr(0, slash); !piece.empty()) out.emplace_back(piece);
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return out;
}

std::string verb_of(std::string_view method, bool named, const Query& query) {
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return named ? "delete" : "deletecollection";
  if (method != "GET" && method != "HEAD") return lower_case(method);
  if (named) return "get";
  const auto watch = query.get("watch");
  return query.has("watch") && watch != "false" && watch != "0" ? "watch" : "list";
}

}  // namespace

std::string percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2])));
      i += 2;
    } else {
      out.push_back(plus_is_space && text[i] == '+' ? ' ' : text[i]);
    }
  }
  return out;
}

Query Query::parse(std::string_view text) {
  Query out;
  while (!text.empty()) {
    const auto end = text.find('&');
    const auto piece = text.substr(0, end);
    if (!piece.empty()) {
      const auto equal = piece.find('=');
      auto value = equal == std::string_view::npos ? std::string() : percent_decode(piece.substr(equal + 1), true);
      out.values_.emplace(percent_decode(piece.substr(0, equal), true), std::move(value));
    }
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return out;
}

std::string Query::get(std::string_view name) const {
  const auto at = values_.lower_bound(name);
  return at == values_.end() || at->first != name ? std::string() : at->second;
}

std::vector<std::string> Query::all(std::string_view name) const {
  std::vector<std::string> out;
  const auto [begin, end] = values_.equal_range(name);
  for (auto at = begin; at != end; ++at) out.push_back(at->second);
  return out;
}

bool Query::flag(std::string_view name) const {
  if (!has(name)) return false;
  const auto value = get(name);
  return value != "false" && value != "0";
}

Result<std::int64_t> Query::integer(std::string_view name) const {
  const auto text = get(name);
  if (text.empty()) return 0;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return fail({.code = 400,
                 .category = Category::kInvalid,
                 .message = "strconv.ParseInt: parsing " + dump_json(Json(text)) + ": invalid syntax",
                 .reason = "BadRequest"});
  }
  return value;
}

bool User::in(std::string_view group) const { return std::find(groups.begin(), groups.end(), group) != groups.end(); }

ApiRequest read_request(const HttpRequest& http) {
  ApiRequest out;
  out.http = &http;
  out.path = percent_decode(http.path, false);
  out.query = Query::parse(http.query);
  Attributes& what = out.what;
  what.path = out.path;
  const auto parts = segments_of(out.path);
  const bool core = !parts.empty() && parts[0] == "api";
  const bool named_group = !parts.empty() && parts[0] == "apis";
  if ((!core && !named_group) || parts.size() < (core ? 3U : 4U)) {
    what.verb = lower_case(http.method);
    return out;
  }
  what.resource_request = true;
  std::size_t at = 1;
  if (named_group) what.group = parts[at++];
  what.version = parts[at++];
  bool old_watch = false;
  if (parts[at] == "watch") {
    old_watch = true;
    ++at;
  }
  const auto left = [&] { return parts.size() - std::min(at, parts.size()); };
  if (left() > 0 && parts[at] == "namespaces" && left() >= 2) {
    what.ns = parts[at + 1];
    // namespaces/<n>/status and /finalize belong to the namespace itself; anything else is a resource inside.
    if (left() >= 3 && parts[at + 2] != "status" && parts[at + 2] != "finalize") at += 2;
  }
  if (left() > 0) what.resource = parts[at];
  if (left() > 1) what.name = parts[at + 1];
  for (std::size_t i = at + 2; i < parts.size(); ++i) what.subresource += (what.subresource.empty() ? "" : "/") + parts[i];
  what.verb = old_watch ? "watch" : verb_of(http.method, !what.name.empty(), out.query);
  if (what.name.empty() && (what.verb == "list" || what.verb == "watch")) {
    const auto selector = FieldSelector::parse(out.query.get("fieldSelector"));
    if (selector) what.name = selector->exact("metadata.name");
  }
  return out;
}

}  // namespace fleetadm::serve
