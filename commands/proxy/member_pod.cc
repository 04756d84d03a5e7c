#include "commands/proxy/member_pod.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "commands/framework/grammar.h"
#include "commands/framework/members.h"
#include "core/apimachinery/table_cells.h"
#include "core/controller/controller.h"
#include "core/proxy/client/gateway_access.h"
#include "kubeclient/base/names.h"

namespace fleetadm::commands {
namespace {

/// A type whose objects select pods.
struct PodOwner {
  std::array<std::string_view, 3> names;  // as in "deploy/web"
  kube::Resource resource;
  bool plain = false;  // its selector is a map of labels, without matchLabels
};

const std::vector<PodOwner>& pod_owners() {
  static const std::vector<PodOwner> owners{
      {{"deploy", "deployment", "deployments"}, kube::resources::deployments()},
      {{"sts", "statefulset", "statefulsets"}, {"apps", "v1", "statefulsets", "StatefulSet"}},
      {{"ds", "daemonset", "daemonsets"}, {"apps", "v1", "daemonsets", "DaemonSet"}},
      {{"rs", "replicaset", "replicasets"}, {"apps", "v1", "replicasets", "ReplicaSet"}},
      {{"job", "jobs", "jobs"}, kube::resources::jobs()},
      {{"rc", "replicationcontroller", "replicationcontrollers"},
       {"", "v1", "replicationcontrollers", "ReplicationController"},
       true},
      {{"svc", "service", "services"}, kube::resources::services(), true}};
  return owners;
}

struct Named {
  const PodOwner* owner = nullptr;  // null: a pod
  std::string name;
};

std::optional<Named> read_named(const std::string& arg) {
  const std::size_t slash = arg.find('/');
  if (slash == std::string::npos) return Named{nullptr, arg};
  const std::string type = arg.substr(0, slash);
  Named named{nullptr, arg.substr(slash + 1)};
  for (const std::string_view word : {"po", "pod", "pods"})
    if (type == word) return named;
  for (const PodOwner& owner : pod_owners()) {
    if (std::ranges::find(owner.names, type) == owner.names.end()) continue;
    named.owner = &owner;
    return named;
  }
  return std::nullopt;
}

/// The smaller, the better.
auto rank(const Json& pod) {
  return std::tuple(is_deleting(pod), !controller::condition_is(pod, "Ready", "True"), str(pod, {"status", "phase"}) != "Running",
                    str(pod, {"metadata", "creationTimestamp"}), name_of(pod));
}

/// What an argument stands for.
struct Found {
  std::string name;  // of the pod
  Json pod;          // null where it was named itself
  Json owner;        // what selects it; null as well
};

Result<Found> find(Context& context, const kube::Client& member, const std::string& arg) {
  const auto named = read_named(arg);
  if (!named) return fail(Category::kUsage, "\"" + arg + "\" does not name a pod");
  if (named->owner == nullptr) return Found{named->name, {}, {}};
  const std::string ns = member_namespace(context.global());
  FLEETADM_TRY(Json owner, member.get(named->owner->resource, ns, named->name));
  Json selector = object_at(owner, {"spec", "selector"});
  if (named->owner->plain) selector = {{"matchLabels", selector}};
  if (object_at(selector, {"matchLabels"}).empty() && list_at(selector, {"matchExpressions"}).empty())
    return fail(Category::kNotFound, arg + " selects no pods");
  kube::ListOptions which;
  which.label_selector = apimachinery::selector_text(&selector);
  FLEETADM_TRY(const Json pods, member.list(kube::resources::pods(), ns, which));
  const Json& items = list_at(pods, {"items"});
  const auto best = std::ranges::min_element(items, {}, [](const Json& pod) { return rank(pod); });
  if (best == items.end()) return fail(Category::kNotFound, arg + " has no pods in the namespace \"" + ns + "\"");
  Found found{name_of(*best), *best, std::move(owner)};
  if (items.size() > 1) context.progress().say("found " + std::to_string(items.size()) + " pods, using pod/" + found.name);
  return found;
}

/// By the Service's targetPort, which may name a port of a container.
Result<int> port_of_pod(const Found& found, int port) {
  for (const Json& one : list_at(found.owner, {"spec", "ports"})) {
    if (num(one, {"port"}) != port) continue;
    const std::string name = str(one, {"targetPort"});
    if (name.empty()) return static_cast<int>(num(one, {"targetPort"}, port));
    for (const Json& container : list_at(found.pod, {"spec", "containers"})) {
      for (const Json& has : list_at(container, {"ports"}))
        if (str(has, {"name"}) == name) return static_cast<int>(num(has, {"containerPort"}));
    }
    return fail(Category::kNotFound, "pod " + found.name + " has no port \"" + name + "\"");
  }
  return fail(Category::kNotFound, "service " + name_of(found.owner) + " has no port " + std::to_string(port));
}

}  // namespace

void member_pod_flags(FlagSet& flags, MemberPod& pod, std::string help) {
  cluster_flag(flags, &pod.cluster, std::move(help)).required = true;
  asker_flags(flags, pod.asker);
}

void container_flag(FlagSet& flags, MemberPod& pod) {
  flags.text(&pod.container, "container", "container of the pod (the pod's first, or its default one)").value_name = "NAME";
}

Status validate_member_pod(const MemberPod& pod, const std::string& name) {
  if (pod.cluster.empty()) return fail(Category::kUsage, "no cluster given", "name it with --cluster");
  FLEETADM_CHECK(proxy::member_prefix(pod.cluster));
  FLEETADM_CHECK(validate_account_name(pod.asker.account));
  if (const auto named = read_named(name); named && is_dns_subdomain(named->name)) return {};
  return fail(Category::kUsage, "\"" + name + "\" does not name a pod",
              "write it as NAME, or as TYPE/NAME of a pod, deployment, statefulset, daemonset, replicaset, job or service");
}

Result<std::string> find_pod(Context& context, const kube::Client& member, const std::string& arg) {
  return find(context, member, arg).map([](Found found) { return std::move(found.name); });
}

Result<std::string> find_pod(Context& context, const kube::Client& member, const std::string& arg,
                             std::vector<proxy::ForwardedPort>& ports) {
  FLEETADM_TRY(Found found, find(context, member, arg));
  if (str(found.owner, {"kind"}) != kube::resources::services().kind) return std::move(found.name);
  for (proxy::ForwardedPort& port : ports) {
    FLEETADM_TRY(port.remote, port_of_pod(found, port.remote));
  }
  return std::move(found.name);
}

std::string pod_path(const Context& context, const std::string& pod, std::string_view subresource) {
  return kube::resources::pods().path(member_namespace(context.global()), pod, subresource);
}

}  // namespace fleetadm::commands
