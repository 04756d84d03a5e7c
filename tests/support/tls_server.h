// A small HTTPS server in the test's own process: OpenSSL, HTTP/1.1, a thread a connection. What it answers is the test's code.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/pki/pki.h"

namespace fleetadm::testkit {

struct TlsRequest {
  std::string method;
  std::string target;                          // path and query
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::string client_name;  // CN of the client certificate; empty where none
};

/// Writes the answer's bytes; false once the client is gone.
using TlsWrite = std::function<bool(std::string_view bytes)>;
/// Answers one request. True: the connection may be used again; false: it is cut right there.
using TlsHandler = std::function<bool(const TlsRequest& request, const TlsWrite& write)>;

class TlsServer {
 public:
  /// On a free loopback port. `tls` false: plain HTTP.
  TlsServer(const pki::KeyPair& certificate, TlsHandler handler, bool tls = true);
  ~TlsServer();
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  int port() const;
  std::string url() const;  // https://127.0.0.1:<port>
  int connections() const;  // accepted so far

  /// "HTTP/1.1 <status> …" with a length.
  static std::string response(int status, std::string_view body, std::string_view more_headers = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace fleetadm::testkit
