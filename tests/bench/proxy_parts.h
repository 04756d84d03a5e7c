// The programs on the way to a member: what runs in `gateway run` for clients and agents, and what runs in `agent run` for the
// gateway, without what each does beside; and a fleet of agents whose members answer by themselves.
#pragma once

#include <memory>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/controller/memory.h"
#include "core/proxy/gateway/audit_log.h"
#include "core/proxy/gateway/front.h"
#include "core/proxy/hop/http1_hop.h"
#include "core/proxy/member/member_hop.h"
#include "core/proxy/member/tunnel_requests.h"
#include "core/proxy/tunnel/registry.h"
#include "core/proxy/tunnel/tunnel_client.h"
#include "core/proxy/tunnel/tunnel_server.h"
#include "kubeclient/config/rest_config.h"
#include "kubeclient/rest/client.h"
#include "tests/bench/proxy_process.h"
#include "tests/bench/work_process.h"

namespace fleetadm::bench {

inline kube::RestConfig api_server_of(const Json& plan) {
  kube::RestConfig config;
  config.name = "bench";
  config.server = str(plan, {"url"});
  config.ca_data = str(plan, {"ca"});
  config.credentials =
      kube::static_credentials({.client_certificate = str(plan, {"certificate"}), .client_key = str(plan, {"key"})});
  return config;
}

inline pki::LeafOptions agent_leaf(const std::string& cluster) {
  const std::string group = "system:open-cluster-management:" + cluster;
  pki::LeafOptions leaf;
  leaf.subject = {group + ":a1", {group, "system:open-cluster-management:managed-clusters"}, {}};
  leaf.client = true;
  return leaf;
}

/// Orders: "count" the tunnels; "trim" what only a burst needed, as the program does from time to time.
inline int run_gateway_part(const Json& plan, const Orders& orders) {
  controller::keep_memory_small();
  auto audit = proxy::AuditLog::open(str(plan, {"audit"}));
  if (!audit) return 1;
  const auto registry = std::make_shared<proxy::TunnelRegistry>();
  serve::HttpRuntime runtime(4);
  proxy::TunnelServerOptions tunnels;
  tunnels.address = str(plan, {"address"});
  tunnels.port = static_cast<int>(num(plan, {"tunnelPort"}));
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
  listen.port = static_cast<int>(num(plan, {"frontPort"}));
  listen.certificate = tunnels.certificate;
  listen.client_ca = tunnels.client_ca;
  listen.streams_body = [](const serve::HttpRequest&) { return true; };
  auto listener = serve::HttpListener::start_direct(runtime, listen, [&](serve::HttpRequest request, serve::Reply reply) {
    front.handle(std::move(request), std::move(reply));
  });
  if (!server || !listener) return 1;
  orders.answer({{"front", (*listener)->port()}, {"tunnel", (*server)->port()}});
  orders.serve([&](const Json& order) -> Json {
    if (str(order, {"do"}) == "trim") controller::give_memory_back();
    return {{"tunnels", registry->size()}};
  });
  listener->reset();
  server->reset();
  runtime.stop();
  return 0;
}

/// It answers once it is connected, and any order with whether it is; and what memory it had before any of this. "trim" as the
/// gateway's.
inline int run_agent_part(const Json& plan, const Orders& orders) {
  controller::keep_memory_small();
  const double base = mebibytes(::getpid(), "RssAnon:");
  serve::HttpRuntime runtime(0);
  auto made = proxy::hop_options(api_server_of(plan));
  if (!made) return 1;
  auto api_server = proxy::Http1Hop::make(runtime.executor(), std::move(*made));
  if (!api_server) return 1;
  proxy::TunnelClientOptions options;
  options.certificate = [&]() -> Result<pki::KeyPair> { return pki::KeyPair{str(plan, {"agent"}), str(plan, {"agentKey"})}; };
  options.handle = proxy::answer_tunnel(std::make_shared<proxy::MemberHop>(std::move(*api_server)));
  {
    proxy::TunnelClients clients(runtime, std::move(options));
    if (!clients.set_gateways({str(plan, {"tunnel"})}, str(plan, {"gatewayCa"}))) return 1;
    const auto connected = [&] {
      const auto states = clients.states();
      return !states.empty() && states.front().connected;
    };
    for (int i = 0; i < 1000 && !connected(); ++i) ::usleep(10'000);
    orders.answer({{"connected", connected()}});
    orders.serve([&](const Json& order) -> Json {
      if (str(order, {"do"}) == "trim") controller::give_memory_back();
      return {{"connected", connected()}, {"baseMib", base}};
    });
  }
  runtime.stop();
  return 0;
}

/// Agents of the clusters m0, m1, …, with certificates of the hub's CA. Each member answers every request with an empty list, but
/// every so many-th takes requests and never answers. Orders: "come", "leave".
inline int run_crowd_part(const Json& plan, const Orders& orders) {
  const pki::KeyPair ca{str(plan, {"ca"}), str(plan, {"caKey"})};
  const auto count = static_cast<std::size_t>(num(plan, {"count"}));
  const auto silent = static_cast<std::size_t>(num(plan, {"silentEvery"}));
  std::vector<pki::KeyPair> certificates;
  for (std::size_t i = 0; i < count; ++i) {
    auto issued = pki::issue(ca, agent_leaf("m" + std::to_string(i)));
    if (!issued) return 1;
    certificates.push_back(std::move(*issued));
  }
  serve::HttpRuntime runtime(0);
  std::vector<serve::Reply> unanswered;  // on the I/O thread
  std::vector<std::unique_ptr<proxy::TunnelClients>> agents;
  orders.answer(Json::object());
  orders.serve([&](const Json& order) -> Json {
    if (str(order, {"do"}) == "leave") agents.clear();
    if (str(order, {"do"}) != "come") return Json::object();
    for (std::size_t i = 0; i < count; ++i) {
      proxy::TunnelClientOptions options;
      options.certificate = [certificate = certificates[i]]() -> Result<pki::KeyPair> { return certificate; };
      options.handle = [&, is_silent = i % silent == silent - 1](serve::HttpRequest, serve::Reply reply) {
        if (is_silent) {
          unanswered.push_back(std::move(reply));
          return;
        }
        serve::HttpResponse answer;
        answer.headers = {{"content-type", "application/json"}};
        answer.body = R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]})";
        reply(std::move(answer));
      };
      agents.push_back(std::make_unique<proxy::TunnelClients>(runtime, std::move(options)));
      if (!agents.back()->set_gateways({str(plan, {"tunnel"})}, str(plan, {"gatewayCa"}))) ::_exit(1);
    }
    return Json::object();
  });
  agents.clear();
  runtime.stop();
  return 0;
}

}  // namespace fleetadm::bench
