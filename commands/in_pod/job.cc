#include "commands/in_pod/job.h"

#include <chrono>
#include <string_view>

#include "kubeclient/base/encoding.h"

namespace fleetadm::commands {
namespace {

constexpr Duration kMargin = std::chrono::minutes(1);  // for a fleetadm that is killed; while it lives, it ends the Job itself
constexpr int kUser = 65532;
constexpr std::string_view kHome = "/var/run/fleetadm/home";  // for caches; the rest is read-only

Json in_pod_metadata(const std::string& ns, const std::string& name, const std::string& job) {
  Json metadata{{"name", name}, {"labels", {{std::string(kInPodLabel), job}, {"app.kubernetes.io/managed-by", "fleetadm"}}}};
  if (!ns.empty()) metadata["namespace"] = ns;
  return metadata;
}

Json owned_metadata(const Json& job) {
  Json metadata = in_pod_metadata(namespace_of(job), name_of(job), name_of(job));
  metadata["ownerReferences"] =
      Json::array({{{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", name_of(job)}, {"uid", uid_of(job)}}});
  return metadata;
}

std::int64_t whole_seconds(Duration duration) { return std::chrono::ceil<std::chrono::seconds>(duration).count(); }

Json in_pod_container(const PodJob& job, const PodCommand& command) {
  Json env = Json::array({{{"name", "HOME"}, {"value", std::string(kHome)}}});
  for (const auto& [name, value] : command.variables)
    env.push_back({{"name", name}, {"valueFrom", {{"secretKeyRef", {{"name", job.name}, {"key", name}}}}}});
  Json mounts = Json::array({{{"name", "home"}, {"mountPath", std::string(kHome)}}});
  if (!command.files.empty()) mounts.push_back({{"name", "files"}, {"mountPath", std::string(kPodFiles)}, {"readOnly", true}});
  return {{"name", "fleetadm"},
          {"image", job.image},
          {"command", Json::array({"fleetadm"})},
          {"args", command.args},
          {"env", std::move(env)},
          {"volumeMounts", std::move(mounts)},
          {"resources", {{"requests", {{"cpu", "10m"}, {"memory", "32Mi"}}}, {"limits", {{"memory", "2Gi"}}}}},
          {"securityContext",
           {{"allowPrivilegeEscalation", false},
            {"capabilities", {{"drop", Json::array({"ALL"})}}},
            {"privileged", false},
            {"readOnlyRootFilesystem", true},
            {"runAsNonRoot", true},
            {"runAsUser", kUser},
            {"seccompProfile", {{"type", "RuntimeDefault"}}}}}};
}

}  // namespace

Json job_object(const PodJob& job, const PodCommand& command) {
  Json volumes = Json::array({{{"name", "home"}, {"emptyDir", Json::object()}}});
  if (!command.files.empty()) {
    Json items = Json::array();
    for (const auto& [name, local] : command.files) items.push_back({{"key", name}, {"path", name}});
    volumes.push_back({{"name", "files"}, {"secret", {{"secretName", job.name}, {"items", std::move(items)}}}});
  }
  Json metadata = in_pod_metadata(job.ns, job.name, job.name);
  metadata["annotations"] = {{"fleetadm.io/command", "fleetadm " + command.path}};
  Json spec{{"suspend", true},
            {"backoffLimit", 0},
            {"completions", 1},
            {"parallelism", 1},
            {"ttlSecondsAfterFinished", whole_seconds(job.kept)},
            {"template",
             {{"metadata", {{"labels", {{std::string(kInPodLabel), job.name}}}}},
              {"spec",
               {{"restartPolicy", "Never"},
                {"serviceAccountName", job.account_name()},
                {"terminationGracePeriodSeconds", 20},
                {"securityContext", {{"fsGroup", kUser}}},
                {"containers", Json::array({in_pod_container(job, command)})},
                {"volumes", std::move(volumes)}}}}}};
  if (job.timeout > Duration::zero()) spec["activeDeadlineSeconds"] = whole_seconds(job.timeout + kMargin);
  return {{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"metadata", std::move(metadata)}, {"spec", std::move(spec)}};
}

Json account_object(const Json& job) {
  return {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", owned_metadata(job)}};
}

Json input_object(const Json& job, const PodCommand& command, const std::map<std::string, std::string>& contents) {
  Json data = Json::object();
  for (const auto& [name, content] : contents) data[name] = base64_encode(content);
  for (const auto& [name, value] : command.variables) data[name] = base64_encode(value);
  return {{"apiVersion", "v1"}, {"kind", "Secret"},  {"metadata", owned_metadata(job)},
          {"type", "Opaque"},   {"immutable", true}, {"data", std::move(data)}};
}

Json role_object(const PodJob& job, const std::string& cluster_role, std::size_t number) {
  return {
      {"apiVersion", "rbac.authorization.k8s.io/v1"},
      {"kind", "ClusterRoleBinding"},
      {"metadata", in_pod_metadata("", "fleetadm:in-pod:" + job.ns + ":" + job.name + ":" + std::to_string(number), job.name)},
      {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", cluster_role}}},
      {"subjects", Json::array({{{"kind", "ServiceAccount"}, {"namespace", job.ns}, {"name", job.account_name()}}})}};
}

}  // namespace fleetadm::commands
