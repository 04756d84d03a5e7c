// A transport, its credentials and a TLS server with an authority of the test's own.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "kubeclient/config/rest_config.h"
#include "kubeclient/pki/pki.h"
#include "kubeclient/transport/transport.h"
#include "tests/support/tls_server.h"

namespace fleetadm::kube {

class Source final : public CredentialSource {
 public:
  Result<Credentials> current() override {
    ++asked;
    auto out = credentials;
    if (refreshed > 0) out.token = "fresh";
    return out;
  }
  bool refresh() override {
    ++refreshed;
    return can_refresh;
  }
  bool blocks() const override { return slow; }
  Credentials credentials;
  bool can_refresh = true;
  bool slow = false;
  std::atomic<int> asked{0};
  std::atomic<int> refreshed{0};
};

class Watcher final : public StreamSink {
 public:
  void on_response(int code, const std::map<std::string, std::string>&) override {
    const std::scoped_lock lock(mutex);
    status = code;
    changed.notify_all();
  }
  void on_data(std::string_view chunk) override {
    const std::scoped_lock lock(mutex);
    text += chunk;
    changed.notify_all();
  }
  void on_end(std::optional<Error> failure) override {
    const std::scoped_lock lock(mutex);
    ++ends;
    error = std::move(failure);
    changed.notify_all();
  }
  template <class Done>
  bool wait(const Done& done, Duration timeout = std::chrono::seconds(10)) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, timeout, done);
  }
  std::mutex mutex;
  std::condition_variable changed;
  int status = 0;
  std::string text;
  int ends = 0;
  std::optional<Error> error;
};

struct Authority {
  pki::KeyPair ca;
  pki::KeyPair server;
};

inline pki::LeafOptions server_leaf() {
  pki::LeafOptions leaf;
  leaf.subject.common_name = "server";
  leaf.ip_addresses = {"127.0.0.1"};
  leaf.dns_names = {"api.example.com"};
  leaf.server = true;
  return leaf;
}

inline Authority authority(std::string_view name, pki::LeafOptions leaf = server_leaf()) {
  Authority out;
  out.ca = *pki::make_ca(name, std::chrono::hours(24));
  out.server = *pki::issue(out.ca, leaf);
  return out;
}

class TransportTest : public testing::Test {
 protected:
  /// By which it is found that a server speaks HTTP/1.1 alone.
  static constexpr int kFirst = 1;

  static void SetUpTestSuite() { ours = std::make_unique<Authority>(authority("ours")); }
  static void TearDownTestSuite() { ours.reset(); }

  RestConfig config(const testkit::TlsServer& server) const {
    RestConfig out;
    out.server = server.url();
    out.ca_data = ours->ca.certificate;
    out.credentials = source;
    out.name = "test";
    return out;
  }
  static Request get(std::string path, Duration timeout = std::chrono::seconds(10)) {
    Request request;
    request.path = std::move(path);
    request.timeout = timeout;
    return request;
  }
  static bool echo(const testkit::TlsRequest& request, const testkit::TlsWrite& write) {
    return write(testkit::TlsServer::response(200, request.method + " " + request.target + " " + request.body));
  }

  static inline std::unique_ptr<Authority> ours;
  std::shared_ptr<Source> source = std::make_shared<Source>();
};

}  // namespace fleetadm::kube
