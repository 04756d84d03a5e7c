#include <sys/utsname.h>

#include "core/sandbox/node/node.h"
#include "kubeclient/base/clock.h"

namespace fleetadm::sandbox {
namespace {

Json node_condition(std::string_view type, bool status, std::string_view reason, std::string_view message, Instant now) {
  return {{"type", type},       {"status", status ? "True" : "False"},   {"reason", reason},
          {"message", message}, {"lastHeartbeatTime", format_time(now)}, {"lastTransitionTime", format_time(now)}};
}

std::string architecture(std::string_view machine) {
  if (machine == "x86_64") return "amd64";
  if (machine == "aarch64") return "arm64";
  return std::string(machine);
}

bool tolerates(const Json& pod, const Json& taint) {
  for (const Json& toleration : list_at(pod, {"spec", "tolerations"})) {
    const std::string effect = str(toleration, {"effect"});
    const std::string key = str(toleration, {"key"});
    const bool exists = str(toleration, {"operator"}) == "Exists";
    if (!effect.empty() && effect != str(taint, {"effect"})) continue;
    if (key.empty() ? exists : key == str(taint, {"key"}) && (exists || str(toleration, {"value"}) == str(taint, {"value"})))
      return true;
  }
  return false;
}

}  // namespace

Json node_object(const NodeOptions& options, std::string_view version, Instant now) {
  struct utsname system {};
  uname(&system);
  const std::string arch = architecture(system.machine);
  const Json capacity = {{"cpu", options.cpu}, {"memory", options.memory}, {"pods", "110"}, {"ephemeral-storage", "10Gi"}};
  Json status = {
      {"capacity", capacity},
      {"allocatable", capacity},
      {"addresses",
       Json::array({{{"type", "InternalIP"}, {"address", "127.0.0.1"}}, {{"type", "Hostname"}, {"address", options.name}}})},
      {"conditions",
       Json::array({node_condition("MemoryPressure", false, "KubeletHasSufficientMemory", "sufficient memory available", now),
                    node_condition("DiskPressure", false, "KubeletHasNoDiskPressure", "no disk pressure", now),
                    node_condition("PIDPressure", false, "KubeletHasSufficientPID", "sufficient process ids available", now),
                    node_condition("Ready", true, "KubeletReady", "the process node is serving", now)})},
      {"nodeInfo",
       {{"architecture", arch},
        {"operatingSystem", "linux"},
        {"kernelVersion", system.release},
        {"osImage", "fleetadm sandbox"},
        {"containerRuntimeVersion", "process://" FLEETADM_VERSION},
        {"kubeletVersion", version},
        {"kubeProxyVersion", ""},
        {"bootID", ""},
        {"machineID", options.name},
        {"systemUUID", ""}}}};
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata",
           {{"name", options.name},
            {"labels", {{"kubernetes.io/hostname", options.name}, {"kubernetes.io/os", "linux"}, {"kubernetes.io/arch", arch}}}}},
          {"spec", Json::object()},
          {"status", std::move(status)}};
}

bool wants_node(const Json& pod, const Json& node) {
  if (!str(pod, {"spec", "nodeName"}).empty() || is_deleting(pod) || !list_at(pod, {"spec", "schedulingGates"}).empty())
    return false;
  if (str(pod, {"spec", "schedulerName"}, "default-scheduler") != "default-scheduler") return false;
  for (const auto& [key, value] : strings_at(pod, {"spec", "nodeSelector"})) {
    if (label_of(node, key) != value) return false;
  }
  for (const Json& taint : list_at(node, {"spec", "taints"})) {
    if (str(taint, {"effect"}) != "PreferNoSchedule" && !tolerates(pod, taint)) return false;
  }
  return !flag(node, {"spec", "unschedulable"});
}

Result<HostPort> host_and_port(std::string_view url) {
  std::string_view rest = url;
  const bool plain = rest.starts_with("http://");
  if (const auto scheme = rest.find("://"); scheme != std::string_view::npos) rest.remove_prefix(scheme + 3);
  rest = rest.substr(0, rest.find_first_of("/?#"));
  auto result = split_host_port(rest);
  if (!result || result->host.empty()) return fail(Category::kUsage, "the server's address has no host: " + std::string(url));
  if (result->port.empty()) result->port = plain ? "80" : "443";
  return std::move(*result);
}

}  // namespace fleetadm::sandbox
