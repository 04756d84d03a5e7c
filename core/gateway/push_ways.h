// The way to the members that the hub dials: from the gateway straight to their API servers, where the hub's own account acts as
// the callers (docs/reference/gateway.md#push-members).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/gateway/push_grants.h"
#include "core/proxy/hop/hop.h"
#include "core/proxy/hop/http1_hop.h"
#include "core/push/credential.h"
#include "core/serve/http/server.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::gateway {

/// I/O thread only, but for the constructor. Ends with close(), before the runtime does.
class PushWays : public std::enable_shared_from_this<PushWays> {
 public:
  PushWays(serve::HttpRuntime& runtime, const kube::Client& hub);

  /// Its requests end with an Error where the hub has no credential for the cluster, or who asks may not act there; failures of
  /// the member are answers that name that hop (core/proxy/hop/error_answer.h).
  std::shared_ptr<proxy::Hop> way_to(std::string_view cluster);
  /// Cuts what runs there, and forgets the credential.
  void cut(const std::string& cluster);
  void close();
  /// For /debug/gateway.
  Json describe() const;

 private:
  using Steady = std::chrono::steady_clock;
  struct Line {
    push::Credential credential;
    std::shared_ptr<join::MemberCredentials> credentials;
    std::shared_ptr<proxy::Http1Hop> api_server;
    std::shared_ptr<proxy::Hop> entry;
  };
  struct Trouble {
    Error error;
    enum Where { kHubsAnswer, kHubsCredential, kMember } where;
  };
  struct Read {
    std::optional<push::Credential> credential;
    std::optional<Trouble> trouble;
  };
  struct Waiting {
    serve::HttpRequest request;
    proxy::Hop::Done done;
  };
  struct Member {
    std::shared_ptr<const Line> line;
    Steady::time_point read{};       // when its Secret was
    bool suspect = false;            // a request failed since
    std::uint64_t reading = 0;       // not 0: its Secret is being read
    std::optional<Trouble> trouble;  // of the last reading
    std::deque<Waiting> waiting;     // for its end
  };
  class Way;

  void send(const std::string& cluster, serve::HttpRequest request, proxy::Hop::Done done);
  void pass(const std::string& cluster, const std::shared_ptr<const Line>& line, Waiting one);
  void begin_reading(const std::string& cluster, Member& member);
  static Read read(serve::HttpRuntime& runtime, const kube::Client& hub, const std::string& cluster,
                   const std::optional<push::Credential>& before, const std::stop_token& stop);
  void was_read(const std::string& cluster, std::uint64_t reading, Read read);
  std::optional<Trouble> take(const std::string& cluster, Member& member, Read read);
  Result<std::shared_ptr<const Line>> make_line(const std::string& cluster, push::Credential credential) const;
  static void fail_with(const Trouble& trouble, const proxy::Hop::Done& done);

  serve::HttpRuntime& runtime_;
  const kube::Client hub_;
  const std::shared_ptr<PushGrants> grants_;
  std::stop_source stop_;
  std::map<std::string, Member, std::less<>> members_;  // of which somebody asked
  std::uint64_t readings_ = 0;
  bool closed_ = false;
};

}  // namespace fleetadm::gateway
