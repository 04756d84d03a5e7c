// What all requests to one server have in common, however they are sent: their headers, and how the connection is made.
#pragma once

#include <curl/curl.h>
#include <memory>
#include <openssl/x509_vfy.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kubeclient/config/rest_config.h"
#include "kubeclient/transport/curl_errors.h"
#include "kubeclient/transport/endpoint.h"
#include "kubeclient/transport/transport.h"

namespace fleetadm::kube {

using CurlList = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

/// "https://host:port": the host is the one that the certificate is checked against.
std::string server_url(const RestConfig& config, const Endpoint& endpoint);
/// "?a=b&c=d"; empty where there is none.
std::string encode_query(const Query& query);

/// All but Authorization, Host among them where it is not the URL's. kUsage where a name or a value holds control characters.
Result<std::vector<std::pair<std::string, std::string>>> request_headers(const RestConfig& config, const Endpoint& endpoint,
                                                                         const Request& request);
/// The value of Authorization for a token. kUsage where it holds control characters.
Result<std::string> bearer(const Credentials& credentials);
/// One header for -v 7, without what lets someone in.
void log_header(std::string_view arrow, std::string_view line);

/// How the connection is made: TLS and its verification, the client's certificate, proxy, time limit, keepalive. `trusted` is
/// trust_store() of the configuration's CA; it and `connect_to` must live as long as the handle.
void set_connection_options(CURL* easy, const RestConfig& config, const Endpoint& endpoint, const Credentials& credentials,
                            X509_STORE* trusted, CurlList& connect_to);
/// What libcurl says of a transfer that failed. `detail` is its error buffer.
CurlFailure failure_of(CURL* easy, CURLcode code, const char* detail);
/// Why nothing could be sent, or there was no answer.
Error connection_error(CurlFailure failure, const RestConfig& config, const Endpoint& endpoint);

/// For CURLOPT_SOCKOPTFUNCTION. A dead peer must be noticed where nothing asks it: three keepalive probes, and no data
/// unacknowledged for long.
int harden_socket(void* unused, curl_socket_t fd, curlsocktype purpose);
inline constexpr long kConnectTimeoutMs = 15'000;

}  // namespace fleetadm::kube
