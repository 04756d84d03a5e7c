#include "core/proxy/addon/agent_server.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "core/proxy/addon/service_proxy.h"
#include "core/proxy/hop/dial.h"
#include "core/proxy/hop/splice.h"
#include "core/proxy/konnectivity/identifiers.h"
#include "core/proxy/member/member_hop.h"
#include "kubeclient/base/host_port.h"
#include "kubeclient/base/log.h"

namespace fleetadm::proxy {
namespace {

using boost::asio::ip::tcp;

constexpr std::chrono::milliseconds kDialApiServer{5000};
constexpr std::chrono::milliseconds kMomentToEnd{2000};
constexpr std::chrono::milliseconds kLookAgain{20};

}  // namespace

Result<std::unique_ptr<AgentServer>> AgentServer::start(AgentServerOptions options) {
  std::unique_ptr<AgentServer> server(new AgentServer(std::move(options)));
  FLEETADM_CHECK(server->open());
  return server;
}

Status AgentServer::open() {
  FLEETADM_TRY(api_server_, parse_server(options_.member_config.server));
  if (options_.settings.serves_requests) FLEETADM_CHECK(serve_requests());
  konnectivity::AgentTunnelOptions tunnel;
  tunnel.servers = options_.servers;
  tunnel.ca = options_.proxy_ca;
  tunnel.proxy = options_.forward_proxy;
  tunnel.certificate = options_.certificate;
  tunnel.identifiers = options_.settings.identifiers;
  tunnel.accept = [this](const std::string& address, tcp::socket socket) { return accept(address, std::move(socket)); };
  tunnels_ = std::make_shared<konnectivity::AgentTunnels>(runtime_.executor(), std::move(tunnel));
  runtime_.on_io_thread([this] { tunnels_->start(); });
  return {};
}

Status AgentServer::serve_requests() {
  FLEETADM_TRY(auto hop, hop_options(options_.member_config));
  hop.name = "the cluster's API server";
  FLEETADM_TRY(hop_, Http1Hop::make(runtime_.executor(), std::move(hop)));
  std::optional<kube::Client> hub;
  if (options_.settings.takes_hub_tokens && options_.hub) hub = options_.hub->with_stop(ended_.get_token());
  auto judge =
      std::make_shared<TokenJudge>(runtime_, std::move(hub), options_.member.with_stop(ended_.get_token()), options_.clock);
  const auto proxy = std::make_shared<ServiceProxy>(std::move(judge), std::make_shared<MemberHop>(hop_));
  serve::ListenOptions listen;
  listen.listens = false;
  listen.certificate = options_.serving;
  listen.evicts = true;
  listen.streams_body = [](const serve::HttpRequest&) { return true; };
  FLEETADM_TRY(requests_,
               serve::HttpListener::start_direct(runtime_, listen, [proxy](serve::HttpRequest request, serve::Reply reply) {
                 proxy->handle(std::move(request), std::move(reply));
               }));
  return {};
}

AgentServer::~AgentServer() {
  if (tunnels_) {
    runtime_.on_io_thread([this] { tunnels_->drain(); });
    if (requests_) requests_->drain();
    const auto until = std::chrono::steady_clock::now() + kMomentToEnd;
    while (requests_ && requests_->connections() > 0 && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(kLookAgain);
    runtime_.on_io_thread([this] {
      tunnels_->close();
      tunnels_.reset();
    });
  }
  ended_.request_stop();
  requests_.reset();
  runtime_.on_io_thread([this] {
    if (hop_) hop_->close();
    hop_.reset();
  });
  runtime_.stop();
}

Status AgentServer::accept(const std::string& address, tcp::socket socket) {
  const auto target = split_host_port(address);
  const auto port = target ? parse_port(target->port) : std::nullopt;
  if (port && *port == kServiceProxyPort && requests_ && target->host == konnectivity::service_proxy_host(options_.cluster)) {
    requests_->adopt(std::move(socket));
    return {};
  }
  const auto& names = options_.settings.names;
  if (port && *port == kApiServerPort && std::ranges::find(names, target->host) != names.end()) {
    connect_api_server(std::move(socket));
    return {};
  }
  return fail(Category::kNotFound, "the cluster's agent leads nowhere but to its API server and its service proxy");
}

void AgentServer::connect_api_server(tcp::socket socket) {
  const auto kept = std::make_shared<tcp::socket>(std::move(socket));
  dial(runtime_.executor(), api_server_.host, api_server_.port, kDialApiServer, [kept](Result<tcp::socket> connected) {
    if (connected) return splice(std::move(*kept), std::move(*connected));
    log::warn("cluster-proxy", "the cluster's API server: " + connected.error().message);
  });
}

}  // namespace fleetadm::proxy
