// What a client needs to reach one API server, after a kubeconfig or the in-cluster files were resolved.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "kubeclient/base/result.h"

namespace fleetadm::kube {

/// Client certificate and bearer token of one moment; PEM texts.
struct Credentials {
  std::string client_certificate;
  std::string client_key;
  std::string token;
  std::string username;  // basic authentication (old kubeconfigs); empty where none
  std::string password;
};

/// Gives credentials for each new request: static data, files that are read again, exec plugins. Thread-safe.
class CredentialSource {
 public:
  virtual ~CredentialSource() = default;
  virtual Result<Credentials> current() = 0;
  /// current(), which gives up at `deadline` (kTimeout) or when `stop` is requested (kCancelled), of a source that can.
  virtual Result<Credentials> current_within(std::chrono::steady_clock::time_point /*deadline*/,
                                             const std::stop_token& /*stop*/) {
    return current();
  }
  /// The server answered 401: drop what is cached. True: a retry with fresh credentials makes sense.
  virtual bool refresh() = 0;
  /// current() or refresh() may take long (an exec plugin): they are then kept off the I/O thread.
  virtual bool blocks() const { return false; }
};

struct RestConfig {
  std::string server;           // https://host:port[/prefix]
  std::string ca_data;          // PEM; empty: the system's roots
  std::string tls_server_name;  // empty: the server's host
  bool insecure = false;        // insecure-skip-tls-verify of a kubeconfig: refused by the transport unless allow_insecure
  std::string proxy_url;        // http, https, socks5; empty: environment (HTTPS_PROXY, NO_PROXY)
  std::shared_ptr<CredentialSource> credentials;
  std::string impersonate_user;
  std::string impersonate_uid;
  std::vector<std::string> impersonate_groups;
  std::vector<std::pair<std::string, std::vector<std::string>>> impersonate_extra;
  std::string user_agent;            // empty: fleetadm/<version> (<os>/<arch>)
  std::string name;                  // the context's or cluster's name, for error messages
  bool disable_compression = false;  // of a kubeconfig's cluster: do not ask for gzip
  std::string default_namespace;     // the context's namespace, or empty
  /// Of an HTTP/2 connection on which something is awaited: after so much silence the server is asked whether it is there, and
  /// where it does not answer that in time, the connection is broken.
  std::chrono::milliseconds read_idle_timeout{30'000};
  std::chrono::milliseconds ping_timeout{15'000};
};

/// Static credentials (PEM and token in memory).
std::shared_ptr<CredentialSource> static_credentials(Credentials credentials);

}  // namespace fleetadm::kube
