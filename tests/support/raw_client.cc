#include "tests/support/raw_client.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <curl/curl.h>
#include <poll.h>

namespace fleetadm::testkit {
namespace {

using RawClock = std::chrono::steady_clock;

bool wait_on_socket(CURL* curl, short events, RawClock::time_point until) {
  curl_socket_t socket = CURL_SOCKET_BAD;
  curl_easy_getinfo(curl, CURLINFO_ACTIVESOCKET, &socket);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - RawClock::now()).count();
  if (left <= 0) return false;
  pollfd ready{.fd = socket, .events = events, .revents = 0};
  return ::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left, 1000))) >= 0;
}

}  // namespace

struct RawClient::Handle {
  CURL* curl = curl_easy_init();
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { curl_easy_cleanup(curl); }
};

RawClient::RawClient(int port, const std::string& ca, const pki::KeyPair& who, const std::string& address)
    : handle_(std::make_unique<Handle>()) {
  CURL* curl = handle_->curl;
  const std::string url = "https://" + address + ":" + std::to_string(port);
  const auto blob = [](const std::string& text) {
    return curl_blob{.data = const_cast<char*>(text.data()), .len = text.size(), .flags = CURL_BLOB_COPY};
  };
  const curl_blob trusted = blob(ca);
  const curl_blob certificate = blob(who.certificate);
  const curl_blob key = blob(who.key);
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_CONNECT_ONLY, 1L);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_CAPATH, nullptr);
  curl_easy_setopt(curl, CURLOPT_CAINFO_BLOB, &trusted);
  if (!who.certificate.empty()) {
    curl_easy_setopt(curl, CURLOPT_SSLCERT_BLOB, &certificate);
    curl_easy_setopt(curl, CURLOPT_SSLKEY_BLOB, &key);
  }
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, 10L);
  connected_ = curl_easy_perform(curl) == CURLE_OK;
  closed_ = !connected_;
}

RawClient::~RawClient() = default;

void RawClient::close() {
  handle_ = std::make_unique<Handle>();
  closed_ = true;
}

bool RawClient::send(std::string_view bytes) {
  const auto until = RawClock::now() + std::chrono::seconds(10);
  while (!bytes.empty() && !closed_) {
    std::size_t sent = 0;
    const auto code = curl_easy_send(handle_->curl, bytes.data(), bytes.size(), &sent);
    if (code != CURLE_OK && code != CURLE_AGAIN) return false;
    bytes.remove_prefix(sent);
    if (code == CURLE_AGAIN && !wait_on_socket(handle_->curl, POLLOUT, until)) return false;
  }
  return bytes.empty();
}

bool RawClient::receive(std::string& into, Duration patience) {
  const auto until = RawClock::now() + patience;
  std::array<char, 16 * 1024> buffer{};
  while (!closed_) {
    std::size_t size = 0;
    const auto code = curl_easy_recv(handle_->curl, buffer.data(), buffer.size(), &size);
    if (code == CURLE_OK && size > 0) {
      into.append(buffer.data(), size);
      return true;
    }
    if (code != CURLE_AGAIN) closed_ = true;
    if (code == CURLE_AGAIN && !wait_on_socket(handle_->curl, POLLIN, until)) return false;
  }
  return false;
}

bool RawClient::closed_within(Duration patience) {
  const auto until = RawClock::now() + patience;
  std::string ignored;
  while (!closed_ && RawClock::now() < until) receive(ignored, until - RawClock::now());
  return closed_;
}

int send_upgrade(RawClient& client, const std::string& head, std::string& answer_head, std::string& rest) {
  if (!client.send(head + "\r\n")) return 0;
  std::string text;
  auto end = std::string::npos;
  while ((end = text.find("\r\n\r\n")) == std::string::npos) {
    if (!client.receive(text)) return 0;
  }
  answer_head = text.substr(0, end + 2);
  rest = text.substr(end + 4);
  return text.starts_with("HTTP/1.1 ") ? std::atoi(text.c_str() + 9) : 0;
}

}  // namespace fleetadm::testkit
