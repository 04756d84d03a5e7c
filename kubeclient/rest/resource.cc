#include "kubeclient/rest/resource.h"

#include "kubeclient/base/ascii.h"

namespace fleetadm::kube {

namespace {

bool is_path_char(char c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
  return std::string_view("-._~:@!$&'()*+,;=").find(c) != std::string_view::npos;
}

void append_segment(std::string& out, std::string_view segment) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  out += '/';
  for (const char c : segment) {
    if (is_path_char(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4U];
    out += kHex[byte & 15U];
  }
}

}  // namespace

std::string Resource::api_version() const { return group.empty() ? version : group + "/" + version; }

std::string Resource::qualified() const { return group.empty() ? plural : plural + "." + group; }

std::string Resource::path(std::string_view ns, std::string_view name, std::string_view subresource) const {
  std::string out = group.empty() ? "/api" : "/apis";
  if (!group.empty()) append_segment(out, group);
  append_segment(out, version);
  if (namespaced && !ns.empty()) {
    out += "/namespaces";
    append_segment(out, ns);
  }
  append_segment(out, plural);
  if (name.empty()) return out;
  append_segment(out, name);
  // A subresource may have several steps ("proxy/metrics"): its slashes stay.
  while (!subresource.empty()) {
    const auto slash = subresource.find('/');
    append_segment(out, subresource.substr(0, slash));
    subresource = slash == std::string_view::npos ? std::string_view{} : subresource.substr(slash + 1);
  }
  return out;
}

GroupVersion parse_api_version(std::string_view api_version) {
  const auto slash = api_version.find('/');
  if (slash == std::string_view::npos) return {"", std::string(api_version)};
  return {std::string(api_version.substr(0, slash)), std::string(api_version.substr(slash + 1))};
}

std::string object_key(std::string_view ns, std::string_view name) {
  if (ns.empty()) return std::string(name);
  std::string key(ns);
  key += '/';
  key += name;
  return key;
}

std::string object_key(const Json& object) { return object_key(namespace_of(object), name_of(object)); }

ObjectName split_key(std::string_view key) {
  const auto slash = key.find('/');
  if (slash == std::string_view::npos) return {"", std::string(key)};
  return {std::string(key.substr(0, slash)), std::string(key.substr(slash + 1))};
}

namespace resources {

// Function-local constants: made on first use, so that a command which names three types does not pay for all.
#define FLEETADM_RESOURCE(fn, ...)              \
  const Resource& fn() {                        \
    static const Resource resource __VA_ARGS__; \
    return resource;                            \
  }
FLEETADM_RESOURCE(namespaces, {"", "v1", "namespaces", "Namespace", false})
FLEETADM_RESOURCE(nodes, {"", "v1", "nodes", "Node", false})
FLEETADM_RESOURCE(pods, {"", "v1", "pods", "Pod", true})
FLEETADM_RESOURCE(secrets, {"", "v1", "secrets", "Secret", true})
FLEETADM_RESOURCE(config_maps, {"", "v1", "configmaps", "ConfigMap", true})
FLEETADM_RESOURCE(services, {"", "v1", "services", "Service", true})
FLEETADM_RESOURCE(service_accounts, {"", "v1", "serviceaccounts", "ServiceAccount", true})
FLEETADM_RESOURCE(core_events, {"", "v1", "events", "Event", true})
FLEETADM_RESOURCE(events, {"events.k8s.io", "v1", "events", "Event", true})
FLEETADM_RESOURCE(deployments, {"apps", "v1", "deployments", "Deployment", true})
FLEETADM_RESOURCE(jobs, {"batch", "v1", "jobs", "Job", true})
FLEETADM_RESOURCE(leases, {"coordination.k8s.io", "v1", "leases", "Lease", true})
FLEETADM_RESOURCE(roles, {"rbac.authorization.k8s.io", "v1", "roles", "Role", true})
FLEETADM_RESOURCE(role_bindings, {"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", true})
FLEETADM_RESOURCE(cluster_roles, {"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false})
FLEETADM_RESOURCE(cluster_role_bindings, {"rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", false})
FLEETADM_RESOURCE(certificate_signing_requests,
                  {"certificates.k8s.io", "v1", "certificatesigningrequests", "CertificateSigningRequest", false})
FLEETADM_RESOURCE(custom_resource_definitions,
                  {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false})
FLEETADM_RESOURCE(subject_access_reviews, {"authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", false})
FLEETADM_RESOURCE(self_subject_access_reviews,
                  {"authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", false})
FLEETADM_RESOURCE(self_subject_reviews, {"authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", false})
FLEETADM_RESOURCE(validating_admission_policies,
                  {"admissionregistration.k8s.io", "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", false})
FLEETADM_RESOURCE(validating_admission_policy_bindings,
                  {"admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding",
                   false})
#undef FLEETADM_RESOURCE

}  // namespace resources

}  // namespace fleetadm::kube
