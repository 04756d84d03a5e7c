// One HTTP or HTTPS request with libcurl alone: what the fixtures stand on instead of the transport that they test.
#pragma once

#include <string>
#include <vector>

namespace fleetadm::testkit {

class NetworkNamespace;

struct HttpsRequest {
  std::string url{};
  std::string method = "GET";
  std::string body{};
  std::string content_type = "application/json";
  std::string ca{};           // PEM; the only trusted one
  std::string certificate{};  // PEM; empty: none
  std::string key{};
  std::string token{};
  long timeout_seconds = 10;
  std::vector<std::string> headers{};         // "Name: value"
  const NetworkNamespace* network = nullptr;  // that the server is in; null: this process's
  bool keep = false;                          // keeps the connection for the thread's next request; which may be sent twice
};

struct HttpsAnswer {
  int status = 0;  // 0: no answer (refused, TLS failure, out of time)
  std::string body{};
};

HttpsAnswer https(const HttpsRequest& request);

}  // namespace fleetadm::testkit
