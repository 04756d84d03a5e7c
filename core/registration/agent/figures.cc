#include "core/registration/agent/figures.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace fleetadm::registration::agent {
namespace {

constexpr const char* kHolds = "holds";
constexpr const char* kWaitsFor = "waitsFor";

Quantities quantities_in(const Json& list) {
  Quantities amounts;
  for (const auto& [name, value] : list.items()) {
    const auto amount = Quantity::parse(value.is_string() ? value.get<std::string>() : dump_json(value));
    if (amount) amounts.emplace(name, *amount);
  }
  return amounts;
}

void add_to(Quantities& sum, const Quantities& more) {
  for (const auto& [name, amount] : more) {
    const auto [slot, fresh] = sum.emplace(name, amount);
    if (!fresh) slot->second += amount;
  }
}

void take_from(Quantities& sum, const Quantities& less) {
  for (const auto& [name, amount] : less) sum[name] -= amount;
}

void raise_to(Quantities& most, const Quantities& other) {
  for (const auto& [name, amount] : other) {
    const auto [slot, fresh] = most.emplace(name, amount);
    if (!fresh && slot->second.compare(amount) < 0) slot->second = amount;
  }
}

Quantities of_container(const Json& container) { return quantities_in(object_at(container, {"resources", "requests"})); }

/// Those that a pod can have as a whole.
bool is_of_pods(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource.starts_with("hugepages-");
}

/// Sums are bounded: no more than this of a pod, or two that ask for 10^27 would leave less than nothing when they go.
Quantity for_sums(const Quantity& amount) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const Quantity most = Quantity::from_int(kMost);
  const Quantity least = Quantity::from_int(-kMost);
  if (amount.compare(most) > 0) return most;
  return amount.compare(least) < 0 ? least : amount;
}

Json without_figures(const Json& capacity) {
  Json kept = Json::object();
  for (const auto& [key, value] : capacity.items()) {
    if (!api::is_figure(key)) kept[key] = value;
  }
  return kept;
}

void write_prefixed(std::string_view prefix, const Quantities& amounts, Json& capacity) {
  for (const auto& [name, amount] : amounts) {
    if (!amount.is_zero()) capacity[std::string(prefix) + name] = amount.to_string();
  }
}

}  // namespace

Quantities requests_of(const Json& pod) {
  Quantities running;
  for (const Json& container : list_at(pod, {"spec", "containers"})) add_to(running, of_container(container));
  Quantities sidecars;
  Quantities starting;
  for (const Json& container : list_at(pod, {"spec", "initContainers"})) {
    Quantities moment = of_container(container);
    if (str(container, {"restartPolicy"}) == "Always") {
      add_to(sidecars, moment);
      raise_to(starting, sidecars);
    } else {
      add_to(moment, sidecars);
      raise_to(starting, moment);
    }
  }
  add_to(running, sidecars);
  raise_to(running, starting);
  for (const auto& [name, amount] : quantities_in(object_at(pod, {"spec", "resources", "requests"}))) {
    if (is_of_pods(name)) running[name] = amount;
  }
  add_to(running, quantities_in(object_at(pod, {"spec", "overhead"})));
  return running;
}

void project_pod(Json& pod) {
  const std::string phase = str(pod, {"status", "phase"});
  const bool ended = phase == "Succeeded" || phase == "Failed";
  Json requests = Json::object();
  if (!ended) {
    for (const auto& [name, amount] : requests_of(pod)) requests[name] = for_sums(amount).to_string();
    requests["pods"] = "1";
  }
  const bool has_node = !str(pod, {"spec", "nodeName"}).empty();
  Json kept{{"metadata",
             {{"name", name_of(pod)},
              {"namespace", namespace_of(pod)},
              {"uid", uid_of(pod)},
              {"resourceVersion", resource_version_of(pod)}}}};
  if (!ended) kept[has_node ? kHolds : kWaitsFor] = std::move(requests);
  pod = std::move(kept);
}

void project_counted_node(Json& node) {
  const Json& conditions = list_at(node, {"status", "conditions"});
  const bool ready = std::any_of(conditions.begin(), conditions.end(),
                                 [](const Json& one) { return str(one, {"type"}) == "Ready" && str(one, {"status"}) == "True"; });
  project_node(node);
  if (ready) node["status"]["ready"] = true;
}

void add_node(const Json& projected, NodeCount& count) {
  ++count.total;
  if (flag(projected, {"status", "ready"})) ++count.ready;
}

void PodSums::take(const kube::CachedPtr& before, const kube::CachedPtr& after) {
  const std::lock_guard lock(mutex_);
  ++revision_;
  if (before) add(before->decode(), false);
  if (after) add(after->decode(), true);
}

void PodSums::add(const Json& pod, bool comes) {
  for (auto [member, sum] : {std::pair{kHolds, &sums_.allocated}, std::pair{kWaitsFor, &sums_.allocating}}) {
    const Quantities amounts = quantities_in(object_at(pod, {member}));
    if (comes) {
      add_to(*sum, amounts);
    } else {
      take_from(*sum, amounts);
    }
  }
}

std::uint64_t PodSums::revision() const {
  const std::lock_guard lock(mutex_);
  return revision_;
}

PodSums::Sums PodSums::sums() const {
  Sums now;
  {
    const std::lock_guard lock(mutex_);
    now = sums_;
  }
  for (Quantities* one : {&now.allocated, &now.allocating})
    std::erase_if(*one, [](const auto& entry) { return entry.second.is_zero(); });
  return now;
}

void write_figures(const NodeCount& nodes, const PodSums::Sums& pods, Json& status) {
  Json kept = without_figures(object_at(status, {"capacity"}));
  kept[std::string(kNodesPrefix) + "total"] = std::to_string(nodes.total);
  kept[std::string(kNodesPrefix) + "ready"] = std::to_string(nodes.ready);
  write_prefixed(kAllocatedPrefix, pods.allocated, kept);
  write_prefixed(kAllocatingPrefix, pods.allocating, kept);
  status["capacity"] = std::move(kept);
}

void forget_figures(Json& status) {
  Json kept = without_figures(object_at(status, {"capacity"}));
  if (kept.empty()) {
    erase_at(status, {"capacity"});
  } else {
    status["capacity"] = std::move(kept);
  }
}

}  // namespace fleetadm::registration::agent
