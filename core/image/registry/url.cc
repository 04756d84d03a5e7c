#include "core/image/registry/url.h"

#include <algorithm>
#include <cctype>
#include <curl/curl.h>
#include <memory>

#include "kubeclient/transport/request_options.h"

namespace fleetadm::image {
namespace {

constexpr std::size_t kMaxUrl = 16384;
// Credentials in a URL would be sent to whoever it names; paths are the registry's and stay as it writes them.
constexpr unsigned kStrictly = CURLU_DISALLOW_USER | CURLU_PATH_AS_IS;

using Handle = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

tl::unexpected<Error> refused(std::string_view text) {
  return fail(Category::kInvalid, "\"" + std::string(text.substr(0, 200)) + "\" is not a URL that can be used");
}

std::string part_of(const Handle& url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, flags) != CURLUE_OK) return {};
  const std::unique_ptr<char, decltype(&curl_free)> owned(text, &curl_free);
  return text;
}

bool is_clean(std::string_view text) {
  return text.size() <= kMaxUrl && std::all_of(text.begin(), text.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte > 0x20 && byte < 0x7f && c != '\\' && c != '"' && c != '<' && c != '>';
         });
}

/// libcurl also takes one slash or three before a host, as browsers do.
bool has_two_slashes(std::string_view text) {
  const std::size_t scheme = text.find(':');
  if (scheme < text.find_first_of("/?#")) {
    text.remove_prefix(scheme + 1);
  } else if (!text.starts_with("//")) {
    return true;  // a path, or less
  }
  return text.starts_with("//") && !text.starts_with("///");
}

/// `base` may be empty; then the text has to be absolute.
Result<Url> parsed(const std::string& base, std::string_view text) {
  const Handle url(curl_url(), &curl_url_cleanup);
  const std::string whole(text);
  if (!url || text.empty() || !is_clean(text) || !has_two_slashes(text)) return refused(text);
  if (!base.empty() && curl_url_set(url.get(), CURLUPART_URL, base.c_str(), kStrictly) != CURLUE_OK) return refused(base);
  if (curl_url_set(url.get(), CURLUPART_URL, whole.c_str(), kStrictly) != CURLUE_OK) return refused(text);
  const std::string scheme = part_of(url, CURLUPART_SCHEME);
  std::string host = part_of(url, CURLUPART_HOST);
  if (host.empty() || (scheme != "https" && scheme != "http")) return refused(text);
  std::transform(host.begin(), host.end(), host.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::string query = part_of(url, CURLUPART_QUERY);
  return Url{scheme + "://" + host + ":" + part_of(url, CURLUPART_PORT, CURLU_DEFAULT_PORT),
             part_of(url, CURLUPART_PATH) + (query.empty() ? "" : "?" + query)};
}

}  // namespace

Result<Url> parse_url(std::string_view text) { return parsed({}, text); }

Result<Url> resolve_url(const Url& base, std::string_view location) { return parsed(base.origin + base.target, location); }

std::string with_parameter(const std::string& target, std::string_view name, std::string_view value) {
  std::string more = kube::encode_query({{std::string(name), std::string(value)}});  // "?name=value"
  if (const auto query = target.find('?'); query != std::string::npos) {
    more.erase(0, 1);
    if (query + 1 != target.size() && !target.ends_with('&')) more.insert(more.begin(), '&');
  }
  return target + more;
}

}  // namespace fleetadm::image
