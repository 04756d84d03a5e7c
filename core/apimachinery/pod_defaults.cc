#include <algorithm>
#include <array>
#include <string>

#include "core/apimachinery/default_members.h"
#include "core/apimachinery/defaults.h"

namespace fleetadm::apimachinery {
namespace {

void field_ref(Json& holder) {
  if (Json* reference = member(holder, "fieldRef")) fill(*reference, "apiVersion", "v1");
}

void http_get(Json& handler) {
  if (Json* get = member(handler, "httpGet")) {
    fill(*get, "path", "/");
    fill(*get, "scheme", "HTTP");
  }
}

void probe(Json& container, const char* name) {
  Json* found = member(container, name);
  if (found == nullptr) return;
  fill(*found, "timeoutSeconds", 1);
  fill(*found, "periodSeconds", 10);
  fill(*found, "successThreshold", 1);
  fill(*found, "failureThreshold", 3);
  http_get(*found);
  if (Json* grpc = member(*found, "grpc")) set(*grpc, "service", "");
}

/// Whether an image names its tag "latest" or none.
bool is_latest(const std::string& image) {
  if (image.find('@') != std::string::npos) return false;
  const auto slash = image.rfind('/');
  const auto colon = image.find(':', slash == std::string::npos ? 0 : slash);
  return colon == std::string::npos || image.substr(colon + 1) == "latest";
}

void container(Json& spec, bool host_network) {
  fill(spec, "imagePullPolicy", is_latest(str(spec, {"image"})) ? "Always" : "IfNotPresent");
  fill(spec, "terminationMessagePath", "/dev/termination-log");
  fill(spec, "terminationMessagePolicy", "File");
  each(spec, "ports", [&](Json& port) {
    fill(port, "protocol", "TCP");
    if (host_network) fill(port, "hostPort", num(port, {"containerPort"}));
  });
  each(spec, "env", [](Json& variable) {
    if (Json* source = member(variable, "valueFrom")) field_ref(*source);
  });
  for (const char* name : {"livenessProbe", "readinessProbe", "startupProbe"}) probe(spec, name);
  if (Json* lifecycle = member(spec, "lifecycle")) {
    for (const char* name : {"postStart", "preStop"}) {
      if (Json* handler = member(*lifecycle, name)) http_get(*handler);
    }
  }
}

void volume(Json& spec) {
  constexpr std::array<const char*, 4> kFiles{"configMap", "secret", "downwardAPI", "projected"};
  if (spec.size() <= 1) spec["emptyDir"] = Json::object();
  for (const char* name : kFiles) {
    Json* source = member(spec, name);
    if (source == nullptr) continue;
    set(*source, "defaultMode", 420);
    each(*source, "items", field_ref);
    each(*source, "sources", [](Json& part) {
      if (Json* token = member(part, "serviceAccountToken")) set(*token, "expirationSeconds", 3600);
      if (Json* fields = member(part, "downwardAPI")) each(*fields, "items", field_ref);
    });
  }
  if (Json* path = member(spec, "hostPath")) set(*path, "type", "");
  if (Json* iscsi = member(spec, "iscsi")) fill(*iscsi, "iscsiInterface", "default");
  if (Json* claim = member(spec, "ephemeral")) {
    if (Json* form = member(*claim, "volumeClaimTemplate")) {
      if (Json* wanted = member(*form, "spec")) set(*wanted, "volumeMode", "Filesystem");
    }
  }
}

}  // namespace

void request_limits(Json& pod_spec) {
  for (const char* list : {"initContainers", "containers"}) {
    each(pod_spec, list, [](Json& entry) {
      Json* resources = member(entry, "resources");
      if (resources == nullptr) return;
      const Json limits = object_at(std::as_const(*resources), {"limits"});
      if (limits.empty()) return;
      Json& requests = object_in(*resources, "requests");
      for (const auto& [name, amount] : limits.items()) set(requests, name.c_str(), amount);
    });
  }
}

void apply_pod_defaults(Json& spec) {
  if (!spec.is_object()) return;
  fill(spec, "restartPolicy", "Always");
  fill(spec, "dnsPolicy", "ClusterFirst");
  fill(spec, "schedulerName", "default-scheduler");
  set(spec, "terminationGracePeriodSeconds", 30);
  set(spec, "securityContext", Json::object());
  const bool host_network = flag(spec, {"hostNetwork"});
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
    each(spec, list, [&](Json& entry) { container(entry, host_network); });
  }
  each(spec, "volumes", volume);
  // Both names of the account say the same.
  const std::string account = str(spec, {"serviceAccountName"}, str(spec, {"serviceAccount"}));
  if (!account.empty()) spec["serviceAccountName"] = spec["serviceAccount"] = account;
}

}  // namespace fleetadm::apimachinery
