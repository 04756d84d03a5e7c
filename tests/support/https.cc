#include "tests/support/https.h"

#include <curl/curl.h>
#include <memory>
#include <sys/socket.h>

#include "tests/support/network_namespace.h"

namespace fleetadm::testkit {
namespace {

std::size_t append(char* data, std::size_t size, std::size_t count, void* to) {
  static_cast<std::string*>(to)->append(data, size * count);
  return size * count;
}

curl_blob blob_of(const std::string& text) {
  return {.data = const_cast<char*>(text.data()), .len = text.size(), .flags = CURL_BLOB_COPY};
}

// A connection that is kept must not get into the programs that a test starts.
curl_socket_t open_outside(void*, curlsocktype, curl_sockaddr* address) {
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

curl_socket_t open_inside(void* network, curlsocktype, curl_sockaddr* address) {
  return static_cast<const NetworkNamespace*>(network)->open_socket(address->family, address->socktype, address->protocol);
}

using Handle = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;

HttpsAnswer perform(CURL* curl, const HttpsRequest& request) {
  HttpsAnswer answer;
  curl_slist* list = curl_slist_append(nullptr, ("Content-Type: " + request.content_type).c_str());
  list = curl_slist_append(list, "Accept: application/json");
  list = curl_slist_append(list, "Expect:");
  if (!request.token.empty()) list = curl_slist_append(list, ("Authorization: Bearer " + request.token).c_str());
  for (const std::string& header : request.headers) list = curl_slist_append(list, header.c_str());
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(list, curl_slist_free_all);
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, request.timeout_seconds);
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer.body);
  curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, request.network != nullptr ? open_inside : open_outside);
  curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, const_cast<NetworkNamespace*>(request.network));
  curl_easy_setopt(curl, CURLOPT_CAPATH, nullptr);
  const curl_blob ca = blob_of(request.ca);
  const curl_blob certificate = blob_of(request.certificate);
  const curl_blob key = blob_of(request.key);
  curl_easy_setopt(curl, CURLOPT_CAINFO_BLOB, &ca);
  if (!request.certificate.empty()) {
    curl_easy_setopt(curl, CURLOPT_SSLCERT_BLOB, &certificate);
    curl_easy_setopt(curl, CURLOPT_SSLKEY_BLOB, &key);
  }
  if (!request.body.empty()) {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.c_str());
  }
  long status = 0;
  if (curl_easy_perform(curl) == CURLE_OK) curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  answer.status = static_cast<int>(status);
  return answer;
}

}  // namespace

HttpsAnswer https(const HttpsRequest& request) {
  if (!request.keep) {
    const Handle handle(curl_easy_init(), curl_easy_cleanup);
    return handle ? perform(handle.get(), request) : HttpsAnswer{};
  }
  // Who waits for something asks twenty times a second: a handshake each time would cost both sides more than the answer.
  static thread_local const Handle kept(curl_easy_init(), curl_easy_cleanup);
  if (!kept) return {};
  curl_easy_reset(kept.get());  // not its connections, each of which serves only requests with the same CA and certificate
  curl_easy_setopt(kept.get(), CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  return perform(kept.get(), request);
}

}  // namespace fleetadm::testkit
