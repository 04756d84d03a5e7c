#include "kubeclient/config/forward_proxy.h"

#include <curl/curl.h>
#include <memory>

#include "kubeclient/base/ascii.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/host_port.h"
#include "kubeclient/base/ip_address.h"

namespace fleetadm::kube {
namespace {

using Handle = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

std::optional<std::string> part(const Handle& url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url.get(), which, &text, flags) != CURLUE_OK) return std::nullopt;
  const std::unique_ptr<char, decltype(&curl_free)> owned(text, &curl_free);
  return std::string(text);
}

std::string first_of(const std::function<std::string(const char*)>& variable, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (std::string value = variable(name); !value.empty()) return value;
  }
  return {};
}

Result<ForwardProxy> parse(const std::string& text, const std::string& where) {
  const auto bad = [&] { return fail(Category::kUsage, where + " is no URL of a proxy", "for example: http://proxy:3128"); };
  const Handle url(curl_url(), &curl_url_cleanup);
  const std::string whole = text.find("://") == std::string::npos ? "http://" + text : text;
  if (!url || curl_url_set(url.get(), CURLUPART_URL, whole.c_str(), CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK) return bad();
  const std::string scheme = part(url, CURLUPART_SCHEME).value_or("");
  if (scheme.starts_with("socks")) {
    return fail(Category::kUnsupported, where + " is a SOCKS proxy, by which no tunnel can go",
                "use an http or https proxy, or none, for the gateway");
  }
  if (scheme != "http" && scheme != "https") return bad();
  ForwardProxy proxy;
  proxy.tls = scheme == "https";
  proxy.host = part(url, CURLUPART_HOST).value_or("");
  if (proxy.host.starts_with('[') && proxy.host.ends_with(']')) proxy.host = proxy.host.substr(1, proxy.host.size() - 2);
  proxy.port = part(url, CURLUPART_PORT).value_or(proxy.tls ? "443" : "1080");
  if (proxy.host.empty()) return bad();
  if (const auto user = part(url, CURLUPART_USER, CURLU_URLDECODE)) {
    proxy.authorization = "Basic " + base64_encode(*user + ":" + part(url, CURLUPART_PASSWORD, CURLU_URLDECODE).value_or(""));
  }
  return proxy;
}

bool names(std::string_view entry, std::string_view host, const Result<IpAddress>& address) {
  if (entry == "*") return true;
  if (address) {
    if (const auto prefix = IpPrefix::parse(entry)) return prefix->contains(*address);
    if (entry.starts_with('[') && entry.ends_with(']')) entry = entry.substr(1, entry.size() - 2);
    const auto one = IpAddress::parse(entry);
    return one && *one == *address;
  }
  while (entry.starts_with('.')) entry.remove_prefix(1);
  if (entry.ends_with('.')) entry.remove_suffix(1);
  if (entry.empty() || host.size() < entry.size()) return false;
  const std::size_t before = host.size() - entry.size();
  return lower_case(host.substr(before)) == lower_case(entry) && (before == 0 || host[before - 1] == '.');
}

}  // namespace

std::string ForwardProxy::authority() const { return join_host_port(host, port); }

bool bypasses_proxy(std::string_view no_proxy, std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  const auto address = IpAddress::parse(host);
  while (!no_proxy.empty()) {
    const std::size_t end = no_proxy.find_first_of(", \t");
    const std::string_view entry = no_proxy.substr(0, end);
    if (!entry.empty() && names(entry, host, address)) return true;
    no_proxy = end == std::string_view::npos ? std::string_view() : no_proxy.substr(end + 1);
  }
  return false;
}

Result<std::optional<ForwardProxy>> forward_proxy(const RestConfig& config, std::string_view host,
                                                  const std::function<std::string(const char*)>& variable) {
  std::string url = config.proxy_url;
  std::string where = "proxy-url";
  if (url.empty()) {
    url = first_of(variable, {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"});
    where = "the proxy that the environment names";
    if (url.empty() || bypasses_proxy(first_of(variable, {"no_proxy", "NO_PROXY"}), host)) return std::nullopt;
  }
  FLEETADM_TRY(ForwardProxy proxy, parse(url, where));
  proxy.ca = config.ca_data;
  return proxy;
}

}  // namespace fleetadm::kube
