// OpenAPI documents, generated from the facts and from CRDs (docs/reference/kubernetes-api.md#discovery): what kubectl needs to
// validate, to merge and to explain. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/json.h"

namespace fleetadm::apimachinery {

/// One resource of a group version, as discovery lists it.
struct OpenApiResource {
  std::string plural;  // "deployments"
  std::string kind;    // "Deployment"
  bool namespaced = true;
  std::vector<std::string> verbs;         // "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"
  std::vector<std::string> subresources;  // "status", "scale"
  /// Of a custom resource: its openAPIV3Schema (null: none), and its list's kind. nullptr: a built-in kind.
  const Json* custom_schema = nullptr;
  std::string list_kind;  // empty: kind + "List"
};

/// The document of /openapi/v3/<apis/group/version>. `info_version` is the server's ("v1.35.4").
Json openapi_v3(std::string_view group, std::string_view version, const std::vector<OpenApiResource>& resources,
                std::string_view info_version);

struct OpenApiGroup {
  std::string group, version;
  std::vector<OpenApiResource> resources;
};
/// The document of /openapi/v2 (JSON) over all group versions.
Json openapi_v2(const std::vector<OpenApiGroup>& groups, std::string_view info_version);

/// "io.k8s.api.apps.v1.Deployment"; of custom resources "com.example.v1.Widget".
std::string schema_name(std::string_view group, std::string_view version, std::string_view kind, bool custom);

}  // namespace fleetadm::apimachinery
