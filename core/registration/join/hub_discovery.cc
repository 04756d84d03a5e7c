#include "core/registration/join/hub_discovery.h"

#include <arpa/inet.h>
#include <array>
#include <curl/curl.h>
#include <memory>
#include <netinet/in.h>
#include <sys/socket.h>

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/pki/pki.h"
#include "kubeclient/pki/system_roots.h"

namespace fleetadm::join {
namespace {

constexpr std::size_t kMaxBody = 1U << 20U;

std::size_t take_body(char* data, std::size_t, std::size_t size, void* into) {
  auto* body = static_cast<std::string*>(into);
  if (body->size() + size > kMaxBody) return 0;  // CURLE_WRITE_ERROR
  body->append(data, size);
  return size;
}

std::size_t take_header(char* data, std::size_t, std::size_t size, void* into) {
  std::string_view line(data, size);
  constexpr std::string_view kDate = "date:";
  if (line.size() > kDate.size()) {
    std::string lower(line.substr(0, kDate.size()));
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (lower == kDate) {
      if (const auto at = parse_http_date(std::string(line.substr(kDate.size()))))
        *static_cast<std::optional<Instant>*>(into) = at;
    }
  }
  return size;
}

// The CA bundle inside the answer of GET …/kube-public/configmaps/cluster-info.
std::string cluster_info_ca(const std::string& body) {
  const auto config_map = parse_json(body);
  if (!config_map) return {};
  const auto kubeconfig = parse_yaml(str(*config_map, {"data", "kubeconfig"}));
  if (!kubeconfig) return {};
  for (const Json& cluster : list_at(*kubeconfig, {"clusters"})) {
    if (auto pem = base64_decode(str(cluster, {"cluster", "certificate-authority-data"})); pem && !pem->empty()) return *pem;
  }
  return {};
}

struct Opening {
  const RefuseAddress& refuse;
  std::string refused;
};

curl_socket_t open_socket(void* with, curlsocktype, curl_sockaddr* to) {
  auto& opening = *static_cast<Opening*>(with);
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* address = to->family == AF_INET6
                            ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(&to->addr)->sin6_addr)
                            : static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(&to->addr)->sin_addr);
  if (inet_ntop(to->family, address, text.data(), text.size()) != nullptr && opening.refuse(text.data())) {
    opening.refused = text.data();
    return CURL_SOCKET_BAD;
  }
  return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

void trust_proxies_of(CURL* easy, std::string_view ca) {
  curl_easy_setopt(easy, CURLOPT_PROXY_CAPATH, nullptr);
  if (ca.empty()) {
    if (const std::string roots = pki::system_roots_file(); !roots.empty())
      curl_easy_setopt(easy, CURLOPT_PROXY_CAINFO, roots.c_str());
    return;
  }
  const std::string pem(ca);
  curl_blob blob{const_cast<char*>(pem.data()), pem.size(), CURL_BLOB_COPY};
  curl_easy_setopt(easy, CURLOPT_PROXY_CAINFO, nullptr);
  curl_easy_setopt(easy, CURLOPT_PROXY_CAINFO_BLOB, &blob);
}

}  // namespace

std::optional<Instant> parse_http_date(const std::string& text) {
  const std::time_t at = curl_getdate(text.c_str(), nullptr);
  if (at <= 0) return std::nullopt;
  return Instant(std::chrono::seconds(at));
}

Result<HubLook> look_at_hub(std::string_view server, std::string_view path, std::string_view proxy_url, std::string_view proxy_ca,
                            Duration timeout, const RefuseAddress& refuse) {
  const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), curl_easy_cleanup);
  if (!curl) return fail(Category::kInternal, "cannot start an HTTP request");
  HubLook look;
  const std::string url = std::string(server) + std::string(path);
  const std::string proxy(proxy_url);
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "https");
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT_MS,
                   static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count()));
  // Nothing secret is sent and nothing is believed before pinned_ca() has confirmed it.
  curl_easy_setopt(curl.get(), CURLOPT_SSL_VERIFYPEER, 0L);
  curl_easy_setopt(curl.get(), CURLOPT_SSL_VERIFYHOST, 0L);
  curl_easy_setopt(curl.get(), CURLOPT_CERTINFO, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &look.body);
  curl_easy_setopt(curl.get(), CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(curl.get(), CURLOPT_HEADERDATA, &look.date);
  if (!proxy.empty()) curl_easy_setopt(curl.get(), CURLOPT_PROXY, proxy.c_str());
  trust_proxies_of(curl.get(), proxy_ca);
  Opening opening{refuse, {}};
  if (refuse) {
    curl_easy_setopt(curl.get(), CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(curl.get(), CURLOPT_OPENSOCKETDATA, &opening);
  }
  const CURLcode code = curl_easy_perform(curl.get());
  // Another one that the name leads to may have answered: the next time it may be this one.
  if (!opening.refused.empty()) {
    HubLook refused;
    refused.refused = opening.refused;
    return refused;
  }
  if (code != CURLE_OK) {
    const auto category = code == CURLE_OPERATION_TIMEDOUT ? Category::kTimeout : Category::kUnavailable;
    Error error;
    error.category = category;
    error.message = std::string(server) + ": " + curl_easy_strerror(code);
    // Of a certificate, only the proxy's is judged.
    if (code == CURLE_PEER_FAILED_VERIFICATION) error.message = "the certificate of the proxy is not one that is trusted";
    if (code == CURLE_WRITE_ERROR) {
      error.category = Category::kInvalid;
      error.message = std::string(server) + " answers with more than 1 MiB";
    }
    error.reason = code == CURLE_WRITE_ERROR                                                   ? "AnswerTooLong"
                   : code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY ? "DnsFailure"
                   : code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_PROXY             ? "ProxyFailed"
                   : code == CURLE_COULDNT_CONNECT                                             ? "ConnectionFailed"
                   : code == CURLE_OPERATION_TIMEDOUT                                          ? "ConnectTimeout"
                                                                                               : "TlsFailure";
    return fail(std::move(error));
  }
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  look.status = static_cast<int>(status);
  char* address = nullptr;
  if (curl_easy_getinfo(curl.get(), CURLINFO_PRIMARY_IP, &address) == CURLE_OK && address != nullptr) look.address = address;
  curl_certinfo* info = nullptr;
  if (curl_easy_getinfo(curl.get(), CURLINFO_CERTINFO, &info) == CURLE_OK && info != nullptr) {
    for (int i = 0; i < info->num_of_certs; ++i) {
      for (const curl_slist* line = info->certinfo[i]; line != nullptr; line = line->next) {
        const std::string_view text(line->data);
        if (text.starts_with("Cert:")) look.chain.emplace_back(text.substr(5));
      }
    }
  }
  return look;
}

std::string with_pin(std::string_view pem, std::string_view pin) {
  std::string found;
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  std::size_t at = pem.find("-----BEGIN CERTIFICATE-----");
  while (at != std::string_view::npos) {
    const std::size_t end = pem.find(kEnd, at);
    if (end == std::string_view::npos) break;
    const std::string block(pem.substr(at, end + kEnd.size() - at));
    if (const auto matches = pki::matches_pin(block, pin); matches && *matches) found += block + "\n";
    at = pem.find("-----BEGIN CERTIFICATE-----", end);
  }
  return found;
}

Result<std::string> pinned_ca(const HubLook& look, std::string_view pin) {
  FLEETADM_TRY(const std::string offered, [&]() -> Result<std::string> {
    std::string all;
    for (const std::string& certificate : look.chain) all += certificate + "\n";
    if (look.status == 200) all += cluster_info_ca(look.body);
    if (all.empty()) return fail(Category::kTls, "the hub showed no certificate");
    // A malformed pin is the caller's mistake, not the hub's.
    FLEETADM_TRY([[maybe_unused]] const bool well_formed, pki::matches_pin(all, pin));
    return all;
  }());
  std::string found = with_pin(offered, pin);
  if (!found.empty()) return found;
  return fail(Category::kTls, "no certificate that the hub showed has the CA pin " + std::string(pin),
              "compare the pin with the one that `fleetadm init` or `fleetadm get token` prints on the hub; if the hub does not "
              "publish its CA to anonymous readers, pass it with --ca-file");
}

}  // namespace fleetadm::join
