#include "kubeclient/transport/endpoint.h"

#include <curl/curl.h>
#include <memory>
#include <string_view>

#include "kubeclient/base/ip_address.h"

namespace fleetadm::kube {

namespace {

struct CurlFree {
  void operator()(char* text) const { curl_free(text); }
};

std::string part_of(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return {};
  const std::unique_ptr<char, CurlFree> owned(text);
  return text;
}

bool is_loopback(std::string_view host) {
  if (host == "localhost" || host.ends_with(".localhost") || host == "[::1]") return true;
  const auto address = IpAddress::parse(host);
  return address && !address->v6 && address->is_loopback();
}

}  // namespace

Result<Endpoint> parse_endpoint(const RestConfig& config) {
  const std::string who = config.name.empty() ? "" : " of \"" + config.name + "\"";
  if (config.insecure) {
    return fail(Category::kTls,
                "insecure-skip-tls-verify" + who + " is not supported: the server's identity would not be checked",
                "put the server's CA into certificate-authority-data and remove insecure-skip-tls-verify");
  }
  Endpoint endpoint;
  if (config.server.starts_with("unix:")) {
    endpoint.scheme = "http";
    endpoint.host = "localhost";
    endpoint.port = "80";
    endpoint.unix_socket = config.server.substr(5);
    endpoint.loopback = true;
    return endpoint;
  }
  if (config.server.empty()) {
    return fail(Category::kUsage, "no server address" + who, "set clusters[].cluster.server in the kubeconfig");
  }
  const std::string text = config.server.find("://") == std::string::npos ? "https://" + config.server : config.server;
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url(curl_url(), &curl_url_cleanup);
  const auto bad = [&] {
    return fail(Category::kUsage, "the server address \"" + config.server + "\"" + who + " is not a URL",
                "it should look like https://host:6443");
  };
  if (!url || curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) return bad();
  endpoint.scheme = part_of(url.get(), CURLUPART_SCHEME);
  endpoint.host = part_of(url.get(), CURLUPART_HOST);
  endpoint.port = part_of(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
  endpoint.prefix = part_of(url.get(), CURLUPART_PATH);
  while (endpoint.prefix.ends_with('/')) endpoint.prefix.pop_back();
  if (endpoint.host.empty()) return bad();
  endpoint.loopback = is_loopback(endpoint.host);
  if (endpoint.scheme == "http" && !endpoint.loopback) {
    return fail(Category::kTls, "plain http to " + endpoint.authority() + who + " is not supported beyond this machine",
                "use the server's https address");
  }
  if (endpoint.scheme != "https" && endpoint.scheme != "http") return bad();
  return endpoint;
}

bool is_loopback_server(const std::string& server) {
  RestConfig config;
  config.server = server;
  const auto endpoint = parse_endpoint(config);
  return endpoint && endpoint->loopback;
}

std::string default_user_agent() {
#if defined(__x86_64__)
  constexpr std::string_view kArch = "amd64";
#elif defined(__aarch64__)
  constexpr std::string_view kArch = "arm64";
#else
  constexpr std::string_view kArch = "unknown";
#endif
  return std::string("fleetadm/") + FLEETADM_VERSION + " (linux/" + std::string(kArch) + ")";
}

}  // namespace fleetadm::kube
