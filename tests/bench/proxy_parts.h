// The two programs on the way to a member, each in a process of its own: what runs in `gateway run` for clients and agents, and
// what runs in `agent run` for the gateway, without what each does beside.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "core/proxy/gateway/audit_log.h"
#include "core/proxy/gateway/front.h"
#include "core/proxy/hop/http1_hop.h"
#include "core/proxy/member/member_hop.h"
#include "core/proxy/member/tunnel_requests.h"
#include "core/proxy/tunnel/registry.h"
#include "core/proxy/tunnel/tunnel_client.h"
#include "core/proxy/tunnel/tunnel_server.h"
#include "kubeclient/base/json.h"
#include "kubeclient/config/rest_config.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::bench {

/// A child that gets one line of JSON, answers one, and lives until it is told to end.
class Part {
 public:
  using Body = int (*)(const Json& plan, FILE* answers, FILE* orders);

  /// Before this process has threads.
  explicit Part(Body body) {
    int to_child[2];
    int from_child[2];
    if (::pipe(to_child) != 0 || ::pipe(from_child) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(to_child[1]);
      ::close(from_child[0]);
      FILE* orders = ::fdopen(to_child[0], "r");
      FILE* answers = ::fdopen(from_child[1], "w");
      const auto plan = parse_json(line_of(orders));
      ::_exit(plan ? body(*plan, answers, orders) : 1);
    }
    ::close(to_child[0]);
    ::close(from_child[1]);
    orders_ = ::fdopen(to_child[1], "w");
    answers_ = ::fdopen(from_child[0], "r");
  }
  ~Part() {
    if (orders_ != nullptr) ::fclose(orders_);
    if (answers_ != nullptr) ::fclose(answers_);
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  Result<Json> begin(const Json& plan) {
    std::fputs((dump_json(plan) + "\n").c_str(), orders_);
    std::fflush(orders_);
    const std::string line = line_of(answers_);
    if (line.empty()) return fail(Category::kInternal, "a process of the benchmark did not begin");
    return parse_json(line);
  }
  pid_t pid() const { return pid_; }

  static std::string line_of(FILE* file) {
    std::string out;
    for (int c = std::fgetc(file); c != EOF && c != '\n'; c = std::fgetc(file)) out.push_back(static_cast<char>(c));
    return out;
  }

 private:
  pid_t pid_ = -1;
  FILE* orders_ = nullptr;
  FILE* answers_ = nullptr;
};

inline kube::RestConfig api_server_of(const Json& plan) {
  kube::RestConfig config;
  config.name = "bench";
  config.server = str(plan, {"url"});
  config.ca_data = str(plan, {"ca"});
  config.credentials =
      kube::static_credentials({.client_certificate = str(plan, {"certificate"}), .client_key = str(plan, {"key"})});
  return config;
}

inline int told(FILE* answers, FILE* orders, const Json& answer) {
  std::fputs((dump_json(answer) + "\n").c_str(), answers);
  std::fflush(answers);
  Part::line_of(orders);  // until the parent closes it
  return 0;
}

inline int run_gateway_part(const Json& plan, FILE* answers, FILE* orders) {
  auto audit = proxy::AuditLog::open(str(plan, {"audit"}));
  if (!audit) return 1;
  const auto registry = std::make_shared<proxy::TunnelRegistry>();
  serve::HttpRuntime runtime(4);
  proxy::TunnelServerOptions tunnels;
  tunnels.address = "127.0.0.1";
  tunnels.certificate = {str(plan, {"serving"}), str(plan, {"servingKey"})};
  tunnels.client_ca = str(plan, {"ca"});
  auto server = proxy::TunnelServer::start(runtime, tunnels, registry);
  proxy::FrontOptions options;
  options.limits.rate = 0;
  options.state = [](std::string_view) { return proxy::ClusterState::kAccepted; };
  options.hop = [registry](std::string_view cluster) { return registry->find(cluster); };
  options.audit = [&](const proxy::AuditRecord& record) { (*audit)->write(proxy::audit_line(record)); };
  proxy::Front front(runtime, kube::Client::connect(api_server_of(plan)), options);
  serve::ListenOptions listen;
  listen.certificate = tunnels.certificate;
  listen.client_ca = tunnels.client_ca;
  listen.streams_body = [](const serve::HttpRequest&) { return true; };
  auto listener = serve::HttpListener::start_direct(runtime, listen, [&](serve::HttpRequest request, serve::Reply reply) {
    front.handle(std::move(request), std::move(reply));
  });
  if (!server || !listener) return 1;
  const int code = told(answers, orders, {{"front", (*listener)->port()}, {"tunnel", (*server)->endpoint()}});
  listener->reset();
  server->reset();
  runtime.stop();
  return code;
}

inline int run_agent_part(const Json& plan, FILE* answers, FILE* orders) {
  serve::HttpRuntime runtime(0);
  auto made = proxy::hop_options(api_server_of(plan));
  if (!made) return 1;
  auto api_server = proxy::Http1Hop::make(runtime.executor(), std::move(*made));
  if (!api_server) return 1;
  proxy::TunnelClientOptions options;
  options.certificate = [&]() -> Result<pki::KeyPair> { return pki::KeyPair{str(plan, {"agent"}), str(plan, {"agentKey"})}; };
  options.handle = proxy::answer_tunnel(std::make_shared<proxy::MemberHop>(std::move(*api_server)));
  int code = 0;
  {
    proxy::TunnelClients clients(runtime, std::move(options));
    if (!clients.set_gateways({str(plan, {"tunnel"})}, str(plan, {"gatewayCa"}))) return 1;
    for (int i = 0; i < 1000; ++i) {
      if (const auto states = clients.states(); !states.empty() && states.front().connected) break;
      ::usleep(10'000);
    }
    code = told(answers, orders, {{"connected", true}});
  }
  runtime.stop();
  return code;
}

}  // namespace fleetadm::bench
