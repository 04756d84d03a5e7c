#include "kubeclient/transport/request_options.h"

#include <algorithm>
#include <cctype>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "kubeclient/base/log.h"
#include "kubeclient/pki/system_roots.h"
#include "kubeclient/transport/curl_errors.h"

namespace fleetadm::kube {

namespace {

bool clean_header(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return (static_cast<unsigned char>(c) < 32 && c != '\t') || c == 127; });
}

curl_blob blob_of(const std::string& text) {
  curl_blob blob{};
  // libcurl's struct is not const-correct; with CURL_BLOB_COPY it only reads.
  blob.data = const_cast<char*>(text.data());
  blob.len = text.size();
  blob.flags = CURL_BLOB_COPY;
  return blob;
}

CURLcode trust(CURL*, void* tls, void* store) {
  SSL_CTX_set1_cert_store(static_cast<SSL_CTX*>(tls), static_cast<X509_STORE*>(store));
  return CURLE_OK;
}

/// Of the server, and of a proxy that speaks TLS. False where this libcurl has no such thing.
bool trust_store_alone(CURL* easy, X509_STORE* store) {
  if (store == nullptr || curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, &trust) != CURLE_OK) return false;
  curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, store);
  curl_easy_setopt(easy, CURLOPT_CAINFO, nullptr);
  curl_easy_setopt(easy, CURLOPT_PROXY_CAINFO, nullptr);
  return true;
}

void set_tls(CURL* easy, const RestConfig& config, const Credentials& credentials, X509_STORE* trusted) {
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  // Debian's libcurl trusts /etc/ssl/certs beside the CA it was given, unless told not to: the kubeconfig's CA alone counts.
  curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
  curl_easy_setopt(easy, CURLOPT_PROXY_CAPATH, nullptr);
  if (const std::string roots = config.ca_data.empty() ? pki::system_roots_file() : ""; !roots.empty()) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, roots.c_str());
    curl_easy_setopt(easy, CURLOPT_PROXY_CAINFO, roots.c_str());
  }
  if (!config.ca_data.empty() && !trust_store_alone(easy, trusted)) {
    auto blob = blob_of(config.ca_data);
    curl_easy_setopt(easy, CURLOPT_CAINFO, nullptr);
    curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob);
    curl_easy_setopt(easy, CURLOPT_PROXY_CAINFO, nullptr);
    curl_easy_setopt(easy, CURLOPT_PROXY_CAINFO_BLOB, &blob);
  }
  if (!credentials.client_certificate.empty()) {
    auto certificate = blob_of(credentials.client_certificate);
    auto key = blob_of(credentials.client_key);
    curl_easy_setopt(easy, CURLOPT_SSLCERTTYPE, "PEM");
    curl_easy_setopt(easy, CURLOPT_SSLKEYTYPE, "PEM");
    curl_easy_setopt(easy, CURLOPT_SSLCERT_BLOB, &certificate);
    curl_easy_setopt(easy, CURLOPT_SSLKEY_BLOB, &key);
  }
}

}  // namespace

int harden_socket(void*, curl_socket_t fd, curlsocktype) {
  const auto set = [fd](int level, int name, int value) { ::setsockopt(fd, level, name, &value, sizeof value); };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 45'000);
  return CURL_SOCKOPT_OK;
}

std::string encode_query(const Query& query) {
  std::string out;
  for (const auto& [key, value] : query) {
    out += out.empty() ? '?' : '&';
    for (const auto* text : {&key, &value}) {
      if (text == &value) out += '=';
      for (const char c : *text) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_' || c == '~') {
          out += c;
        } else {
          static constexpr std::string_view kHex = "0123456789ABCDEF";
          out += '%';
          out += kHex[byte >> 4U];
          out += kHex[byte & 15U];
        }
      }
    }
  }
  return out;
}

void log_header(std::string_view arrow, std::string_view line) {
  if (!log::enabled(7)) return;
  std::string name(line.substr(0, line.find(':')));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const bool secret = name == "authorization" || name == "proxy-authorization" || name == "cookie" || name == "set-cookie" ||
                      name == "x-amz-security-token";
  log::info(7, "http", std::string(arrow) + (secret ? name + ": <redacted>" : std::string(line)));
}

std::string server_url(const RestConfig& config, const Endpoint& endpoint) {
  const std::string& host = config.tls_server_name.empty() ? endpoint.host : config.tls_server_name;
  return endpoint.scheme + "://" + host + ":" + endpoint.port;
}

Result<std::vector<std::pair<std::string, std::string>>> request_headers(const RestConfig& config, const Endpoint& endpoint,
                                                                         const Request& request) {
  std::vector<std::pair<std::string, std::string>> headers;
  const auto add = [&](const std::string& name, const std::string& value) { headers.emplace_back(name, value); };
  add("Accept", request.accept);
  if (!request.body.empty() || request.method == Method::kPost || request.method == Method::kPut ||
      request.method == Method::kPatch) {
    add("Content-Type", request.content_type);
  }
  for (const auto& [name, value] : request.headers) add(name, value);
  if (!config.tls_server_name.empty()) add("Host", endpoint.authority());
  if (!config.impersonate_user.empty()) add("Impersonate-User", config.impersonate_user);
  if (!config.impersonate_uid.empty()) add("Impersonate-Uid", config.impersonate_uid);
  for (const auto& group : config.impersonate_groups) add("Impersonate-Group", group);
  for (const auto& [key, values] : config.impersonate_extra) {
    std::string encoded;
    for (const char c : key) {
      const auto byte = static_cast<unsigned char>(c);
      if (std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_') {
        encoded += c;
      } else {
        static constexpr std::string_view kHex = "0123456789abcdef";
        encoded += '%';
        encoded += kHex[byte >> 4U];
        encoded += kHex[byte & 15U];
      }
    }
    for (const auto& value : values) add("Impersonate-Extra-" + encoded, value);
  }
  for (const auto& [name, value] : headers) {
    if (clean_header(name) && clean_header(value)) continue;
    return fail(Category::kUsage, "the value of the request header " + log::escape_terminal(name) + " holds control characters");
  }
  return headers;
}

Result<std::string> bearer(const Credentials& credentials) {
  if (!clean_header(credentials.token))
    return fail(Category::kUsage, "the value of the request header Authorization holds control characters");
  return "Bearer " + credentials.token;
}

void set_connection_options(CURL* easy, const RestConfig& config, const Endpoint& endpoint, const Credentials& credentials,
                            X509_STORE* trusted, CurlList& connect_to) {
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, endpoint.scheme.c_str());
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);  // a hanging resolver must not hold the thread
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
  curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, &harden_socket);
  curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  if (!endpoint.unix_socket.empty()) curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, endpoint.unix_socket.c_str());
  if (!config.tls_server_name.empty()) {
    // libcurl checks the certificate against the URL's host, so the URL names what is expected and the connection goes elsewhere.
    const std::string target = config.tls_server_name + ":" + endpoint.port + ":" + endpoint.host + ":" + endpoint.port;
    connect_to.reset(curl_slist_append(nullptr, target.c_str()));
    curl_easy_setopt(easy, CURLOPT_CONNECT_TO, connect_to.get());
  }
  if (!config.proxy_url.empty()) {
    curl_easy_setopt(easy, CURLOPT_PROXY, config.proxy_url.c_str());
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
  } else if (endpoint.loopback) {
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
  }
  set_tls(easy, config, credentials, trusted);
}

CurlFailure failure_of(CURL* easy, CURLcode code, const char* detail) {
  CurlFailure failure;
  failure.code = code;
  failure.detail = detail;
  curl_off_t connected_at = 0;
  curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &failure.verify_result);
  curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &failure.os_error);
  curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &connected_at);
  failure.connected = connected_at > 0;
  return failure;
}

Error connection_error(CurlFailure failure, const RestConfig& config, const Endpoint& endpoint) {
  failure.server = endpoint.authority();
  failure.expected_name = config.tls_server_name.empty() ? endpoint.host : config.tls_server_name;
  // A proxy's URL may hold a password: its host alone is told.
  const auto& proxy = config.proxy_url;
  if (const auto at = proxy.rfind('@'); at != std::string::npos) {
    failure.proxy = proxy.substr(at + 1);
  } else if (const auto slashes = proxy.find("://"); slashes != std::string::npos) {
    failure.proxy = proxy.substr(slashes + 3);
  } else {
    failure.proxy = proxy;
  }
  Error error = error_of_curl(failure);
  error.cluster = config.name;
  return error;
}

}  // namespace fleetadm::kube
