#include "core/proxy/client/upstream_routes.h"

#include <optional>
#include <utility>

#include "core/api/kinds.h"
#include "core/proxy/konnectivity/connections.h"
#include "core/proxy/konnectivity/front_client.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/host_port.h"

namespace fleetadm::proxy {
namespace {

/// The name that API servers have certificates for, whatever their address is, as pods of their cluster use it.
constexpr const char* kApiServerName = "kubernetes.default.svc";
constexpr const char* kApiServerPort = "443";

/// Where a server of the hub is dialed.
struct Reached {
  std::string host;
  std::string port;
  std::shared_ptr<PodForward> forward;  // by which, where it has no address
};

Result<Reached> reach(const kube::Client& hub, const kube::RestConfig& config, const HubService& service) {
  if (!service.host.empty()) return Reached{service.host, std::to_string(service.port), nullptr};
  auto forward = PodForward::start(hub, config, service.pods);
  if (!forward) return fail(forward.error().wrap("cannot reach " + service.server_name));
  const std::string port = std::to_string((*forward)->port());
  return Reached{"127.0.0.1", port, std::shared_ptr<PodForward>(std::move(*forward))};
}

/// What the hub was told when the cluster was registered. Empty: nothing.
Result<std::string> registered_ca(const kube::Client& hub, const std::string& cluster) {
  FLEETADM_TRY(const Json object, hub.get(api::managed_clusters(), "", cluster));
  std::string all;
  for (const Json& config : list_at(object, {"spec", "managedClusterClientConfigs"})) {
    const auto ca = base64_decode(str(config, {"caBundle"}));
    if (ca && !ca->empty()) all += *ca + (ca->ends_with('\n') ? "" : "\n");
  }
  return all;
}

FindRoute by_user_server(const UpstreamProxy& proxy, const Reached& server, const FindCredential& credential) {
  return [ca = proxy.ca, name = proxy.user_server->server_name, server, credential](const std::string& cluster) {
    return credential(cluster).map([&](MemberCredential found) {
      MemberRoute route;
      route.way = Way::kUserServer;
      route.server = "https://" + join_host_port(server.host, server.port);
      route.ca = ca;
      route.server_name = name;
      route.prefix = "/" + cluster;
      route.token = std::move(found.token);
      return route;
    });
  };
}

/// Which hop of it has failed.
Error dial_error(Error error) {
  error.reason =
      error.reason == konnectivity::kDialRefused || error.category == Category::kTimeout ? kNoTunnel : kFrontEndUnreachable;
  error.code = error.reason == kNoTunnel ? 503 : 502;
  return error;
}

FindRoute by_front_end(const kube::Client& hub, const konnectivity::FrontOptions& front, const Reached& server,
                       const FindCredential& credential) {
  return [hub, front, server, credential](const std::string& cluster) -> Result<MemberRoute> {
    MemberCredential known;
    if (credential) {
      FLEETADM_TRY(known, credential(cluster));
    }
    if (known.ca.empty()) {
      FLEETADM_TRY(known.ca, registered_ca(hub, cluster));
    }
    if (known.ca.empty())
      return fail(Category::kNotFound, "nothing vouches for the API server of cluster " + cluster,
                  "its ManagedCluster has no caBundle; name a managed service account of it with --sa");
    MemberRoute route;
    route.way = Way::kKonnectivity;
    route.server = "https://" + cluster + ":" + kApiServerPort;
    route.ca = std::move(known.ca);
    route.server_name = kApiServerName;
    route.token = std::move(known.token);
    // What it holds of `server` keeps the port-forward.
    route.dial = [front, server, target = join_host_port(cluster, kApiServerPort)](const boost::asio::any_io_executor& executor,
                                                                                   MemberRoute::Dialed done) {
      konnectivity::dial_through_front(executor, front, target,
                                       [done = std::move(done)](Result<boost::asio::ip::tcp::socket> socket) {
                                         if (!socket) return done(fail(dial_error(socket.error())));
                                         done(std::move(socket));
                                       });
    };
    return route;
  };
}

}  // namespace

Result<UpstreamWay> upstream_way(const kube::Client& hub, const kube::RestConfig& config, const UpstreamProxy& proxy,
                                 FindCredential credential) {
  if (proxy.user_server && credential) {
    FLEETADM_TRY(const Reached server, reach(hub, config, *proxy.user_server));
    return UpstreamWay{Way::kUserServer, by_user_server(proxy, server, credential)};
  }
  if (!proxy.front_end)
    return fail(Category::kNotFound, "cluster-proxy is not running on the hub: it has no Service that leads to its servers",
                "see the Deployments in namespace " + proxy.ns);
  konnectivity::FrontOptions front;
  FLEETADM_TRY(front.certificate, front_end_certificate(hub, proxy));
  FLEETADM_TRY(const Reached server, reach(hub, config, *proxy.front_end));
  front.host = server.host;
  front.port = server.port;
  front.server_name = proxy.front_end->server_name;
  front.ca = proxy.ca;
  return UpstreamWay{Way::kKonnectivity, by_front_end(hub, front, server, credential)};
}

}  // namespace fleetadm::proxy
