#include <algorithm>

#include "kubeclient/base/log.h"
#include "kubeclient/discovery/mapper.h"
#include "kubeclient/discovery/parse.h"

namespace fleetadm::kube {

namespace {

constexpr std::string_view kAggregated =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

Result<Json> fetch(const Client& client, std::string path, std::string_view accept, bool* aggregated = nullptr) {
  Request request;
  request.path = std::move(path);
  request.accept = accept;
  FLEETADM_TRY(const auto response, client.raw(request));
  auto body = parse_json(response.body);
  if (!body) return fail(body.error().wrap("the server's discovery document " + request.path + " cannot be read"));
  if (aggregated != nullptr) {
    // Only the answer's own type tells; a server that does not know the form sends the legacy list.
    const auto type = response.headers.find("content-type");
    *aggregated = type != response.headers.end() && type->second.find("as=APIGroupDiscoveryList") != std::string::npos;
  }
  return body;
}

/// One group version; what fails is remembered as unknown, unless everything is out of reach.
Status add_group_version(const Client& client, const std::string& path, const std::string& group_version, Discovery& out) {
  auto list = fetch(client, path, "application/json");
  if (list) {
    add_legacy(*list, group_version, out);
    return {};
  }
  const auto& error = list.error();
  if (error.category == Category::kCancelled || error.category == Category::kTls || error.code == 401 || error.code == 0) {
    return fail(error);
  }
  log::info(2, "discovery", group_version + ": " + error.message);
  out.failed_groups.push_back(group_version);
  return {};
}

}  // namespace

Result<Discovery> discover(const Client& client) {
  Discovery out;
  bool aggregated = false;
  FLEETADM_TRY(const Json core, fetch(client, "/api", kAggregated, &aggregated));
  if (aggregated) {
    add_aggregated(core, out);
  } else {
    for (const auto& version : string_list_at(core, {"versions"})) {
      FLEETADM_CHECK(add_group_version(client, "/api/" + version, version, out));
    }
  }
  FLEETADM_TRY(const Json groups, fetch(client, "/apis", kAggregated, &aggregated));
  if (aggregated) {
    add_aggregated(groups, out);
  } else {
    for (const auto& group : list_at(groups, {"groups"})) {
      // The preferred version of a group counts first, whatever its place in the list.
      std::vector<std::string> versions;
      for (const auto& version : list_at(group, {"versions"})) versions.push_back(str(version, {"groupVersion"}));
      const std::string preferred = str(group, {"preferredVersion", "groupVersion"});
      std::stable_partition(versions.begin(), versions.end(), [&](const std::string& version) { return version == preferred; });
      for (const auto& version : versions) {
        if (!version.empty()) FLEETADM_CHECK(add_group_version(client, "/apis/" + version, version, out));
      }
    }
  }
  if (out.resources.empty() && out.failed_groups.empty()) {
    return fail(Category::kInvalid, "the server names no resource types", "is the address that of a Kubernetes API server?");
  }
  return out;
}

Result<ServerVersion> server_version(const Client& client) {
  FLEETADM_TRY(const Json version, fetch(client, "/version", "application/json"));
  ServerVersion out{str(version, {"gitVersion"}), str(version, {"major"}), str(version, {"minor"})};
  if (out.git_version.empty()) {
    return fail(Category::kInvalid, "the server's answer to /version is not Kubernetes'",
                "is the address that of a Kubernetes API server?");
  }
  return out;
}

}  // namespace fleetadm::kube
