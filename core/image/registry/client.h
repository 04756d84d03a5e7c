// One repository of a registry, by the distribution API of the Open Container Initiative. TLS is always verified. Credentials go
// to the registry, and to the service that it names for tokens, and nowhere else: where an upload or a redirect leads to another
// host, that host sees none.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>

#include "core/image/reference.h"
#include "core/image/registry/login.h"
#include "core/image/registry/url.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/config/rest_config.h"
#include "kubeclient/transport/transport.h"

namespace fleetadm::image {

struct RegistryOptions {
  std::string ca_data;      // PEM; alone trusted where given, else the system's
  bool plain_http = false;  // without TLS, which only a registry of this machine may be asked
  Login login;
  Duration answer_timeout = std::chrono::seconds(32);  // of a request without a large body
  int tries = 5;                                       // of what may be repeated
  Duration first_delay = std::chrono::milliseconds(500);
  Duration longest_delay = std::chrono::seconds(10);
  std::stop_token stop = {};
  std::function<void(const Error&, Duration)> on_retry;                              // why, and how long until the next try
  std::function<std::shared_ptr<kube::Transport>(const kube::RestConfig&)> connect;  // empty: kube::make_transport
};

struct RegistryRequest {
  kube::Method method = kube::Method::kGet;
  std::string target;  // below the registry; with `elsewhere` unused
  std::string body = {};
  std::string content_type = "application/octet-stream";
  std::string accept = "*/*";
  const Url* elsewhere = nullptr;  // an address that the registry has given
};

class RegistryClient {
 public:
  /// kUsage, kTls where the registry cannot be asked that way.
  static Result<RegistryClient> make(const Reference& reference, RegistryOptions options);

  /// "/v2/REPOSITORY/" and the rest.
  std::string path(std::string_view rest) const { return "/v2/" + repository_ + "/" + std::string(rest); }
  const std::string& registry() const { return registry_; }
  const Url& base() const { return base_; }

  /// Sends once, after a login where the registry asks for one; follows redirects of reads. A status from 400 is an Error, whose
  /// code it is.
  Result<kube::Response> send(const RegistryRequest& request);
  /// Does it again where the registry, or the way there, may be well again soon: the connection failed or broke, 429 and most
  /// 5xx.
  template <class Attempt>
  auto repeat(const Attempt& attempt) -> decltype(attempt(1)) {
    for (int number = 1;; ++number) {
      auto result = attempt(number);
      if (result) return result;
      if (Status again = wait_before_retry(result.error(), number); !again) return tl::unexpected(std::move(again).error());
    }
  }

 private:
  RegistryClient(const Reference& reference, RegistryOptions options, Url base)
      : registry_(reference.registry), repository_(reference.repository), options_(std::move(options)), base_(std::move(base)) {}

  Result<kube::Response> send_to(const Url& url, const RegistryRequest& request);
  Result<kube::Response> send_following(const Url& url, const RegistryRequest& request);
  Status log_in(const kube::Response& refusal);
  Result<std::string> fetch_token(const std::map<std::string, std::string>& challenge);
  kube::Transport& transport_of(const std::string& origin);
  Status wait_before_retry(const Error& error, int tries);

  std::string registry_;
  std::string repository_;
  RegistryOptions options_;
  Url base_;
  std::string authorization_;
  std::map<std::string, std::shared_ptr<kube::Transport>> transports_;  // by origin
};

}  // namespace fleetadm::image
