// Discovery (aggregated v2 with the legacy fallback) and the mapping of what people write ("deploy", "deployments.apps",
// "Deployment") and what manifests say (apiVersion, kind) to Resource. See docs/reference/kubernetes-api.md#discovery,
// docs/reference/kubernetes-api.md#resource-names.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/rest/client.h"

namespace fleetadm::kube {

struct DiscoveredResource {
  Resource resource;
  std::string singular;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  std::vector<std::string> verbs;
  std::vector<std::string> subresources;
};

struct Discovery {
  std::vector<DiscoveredResource> resources;  // in the server's preference order
  std::vector<std::string> failed_groups;     // groups whose discovery failed: their types are unknown, not absent
};

Result<Discovery> discover(const Client& client);

/// Maps names to resources with a cache; an unknown kind is looked up again (at most once per 10 s) before it is an error.
/// Thread-safe. A `cache_dir` (0700, files 0600) keeps discovery for 10 minutes across processes.
class Mapper {
 public:
  explicit Mapper(Client client, std::string cache_dir = {});
  /// Category::kNotFound, message `the server doesn't have a resource type "Kind"`.
  Result<DiscoveredResource> by_kind(std::string_view api_version, std::string_view kind);
  /// "deploy", "deployments", "deployment.apps", "deployments.v1.apps".
  Result<DiscoveredResource> by_name(std::string_view word);
  Result<std::vector<DiscoveredResource>> by_category(std::string_view category);
  void invalidate();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// GET /version.
struct ServerVersion {
  std::string git_version;
  std::string major;
  std::string minor;
};
Result<ServerVersion> server_version(const Client& client);

}  // namespace fleetadm::kube
