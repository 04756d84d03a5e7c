#include "core/install/wait_deployment.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kubeclient/watch/informer.h"

namespace fleetadm::install {
namespace {

constexpr Duration kLookAtPods = std::chrono::seconds(2);

std::string key_of(const PodTrouble& trouble) { return trouble.reason + "\n" + trouble.message; }

}  // namespace

Status wait_deployment(const kube::Client& client, std::string_view ns, std::string_view name, Duration timeout,
                       std::stop_token stop, const std::function<void(const PodTrouble&)>& told) {
  const auto done = [&](const std::optional<Json>& deployment) -> Result<bool> {
    if (!deployment) return fail(Category::kNotFound, "the Deployment " + kube::object_key(ns, name) + " does not exist");
    const auto wanted = num(*deployment, {"spec", "replicas"}, 1);
    const auto updated = num(*deployment, {"status", "updatedReplicas"});
    // While replicas of the former pods are left, those that are available may be theirs.
    return num(*deployment, {"status", "observedGeneration"}) >= num(*deployment, {"metadata", "generation"}) &&
           updated >= wanted && num(*deployment, {"status", "replicas"}) <= updated &&
           num(*deployment, {"status", "availableReplicas"}) >= wanted;
  };
  const Instant deadline = Clock::system()->now() + timeout;
  std::vector<std::string> known;
  std::vector<PodTrouble> now;
  while (true) {
    const Duration left = deadline - Clock::system()->now();
    const auto waited = kube::wait_for(client, kube::resources::deployments(), ns, name, done,
                                       std::clamp<Duration>(left, Duration::zero(), kLookAtPods), stop);
    if (waited) return {};
    now = read_pod_troubles(client, ns, name);
    for (const PodTrouble& one : now) {
      std::string key = key_of(one);
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      known.push_back(std::move(key));
      if (told) told(one);
    }
    if (waited.error().category == Category::kTimeout && left > kLookAtPods) continue;
    Error error = waited.error().wrap("the Deployment " + kube::object_key(ns, name) + " did not become available");
    if (!now.empty() && error.category == Category::kTimeout)
      error.message = "the Deployment " + kube::object_key(ns, name) + " did not become available within " +
                      format_duration(timeout) + ": " + now.front().text();
    error.hint = "see what its pods say: kubectl -n " + std::string(ns) + " describe pods -l app=" + std::string(name);
    return fail(std::move(error));
  }
}

}  // namespace fleetadm::install
