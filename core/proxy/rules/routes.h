// Which cluster a request is for, and what it asks there (docs/reference/gateway.md#paths). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kubeclient/base/result.h"

namespace fleetadm::proxy {

/// Before a path of the gateway's own form: also where the hub knows that the cluster is down.
inline constexpr std::string_view kAnywayPrefix = "/anyway";

enum class PathForm {
  kClusters,        // /clusters/{name}/proxy/…
  kClusterGateway,  // /apis/cluster.core.oam.dev/v1alpha1/clustergateways/{name}/proxy/…
  kKarmada,         // /apis/cluster.karmada.io/v1alpha1/clusters/{name}/proxy/…
  kUserServer,      // /{name}/…
};

/// Of the service form: …/api/v1/namespaces/{ns}/services/[protocol:]name:port/proxy-service/…
struct ServiceTarget {
  std::string ns;
  std::string name;
  std::string protocol;  // http or https
  std::string port;      // a number or a name

  bool operator==(const ServiceTarget&) const = default;
};

struct Route {
  std::string cluster;
  std::string path;  // at the member: what stands behind the prefix byte for byte, or the proxy subresource of the service
  PathForm form = PathForm::kClusters;
  bool anyway = false;                   // also where the hub knows that the cluster is down: /anyway/clusters/{name}/proxy/…
  std::optional<ServiceTarget> service;  // then the allow-list decides, too
};

/// Of a request target as sent. 400 where servers could read it in different ways: no leading slash, "." or ".." segments
/// (escaped ones, too), broken escapes, spaces, control characters, an empty segment before the member's path or at its
/// beginning. 400 for a name that no cluster has; 404 where the path has none of the forms.
Result<Route> parse_route(std::string_view path, std::string_view query);

}  // namespace fleetadm::proxy
