#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>

#include "commands/get/get.h"
#include "core/api/agent_health.h"
#include "core/api/agent_version.h"
#include "core/api/kinds.h"
#include "core/api/member_state.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/quantity.h"

namespace fleetadm::commands {
namespace {

// "k=v:Effect,…"
std::string taints_cell(const Json& cluster) {
  std::vector<std::string> taints;
  for (const Json& taint : list_at(cluster, {"spec", "taints"})) {
    const std::string value = str(taint, {"value"});
    taints.push_back(str(taint, {"key"}) + (value.empty() ? "" : "=" + value) + ":" + str(taint, {"effect"}));
  }
  return or_none(joined(taints));
}

std::string url_cell(const Json& cluster) {
  std::vector<std::string> urls;
  for (const Json& config : list_at(cluster, {"spec", "managedClusterClientConfigs"})) urls.push_back(str(config, {"url"}));
  return or_none(joined(urls));
}

// The set's controller says how many clusters it has only in the message of its condition: "3 ManagedClusters selected".
std::string size_cell(const Json& set) {
  const Json* empty = condition_of(set, "ClusterSetEmpty");
  if (empty == nullptr) return "<unknown>";
  if (str(*empty, {"status"}) == "True") return "0";
  const std::string message = str(*empty, {"message"});
  std::uint64_t count = 0;
  const auto [stop, error] = std::from_chars(message.data(), message.data() + message.size(), count);
  return error == std::errc{} && stop != message.data() ? std::to_string(count) : "<unknown>";
}

/// "2/3": ready, and all.
std::string nodes_cell(const Json& cluster) {
  const auto nodes = api::figures_of(cluster, api::kNodesPrefix);
  const auto ready = nodes.find("ready");
  const auto total = nodes.find("total");
  return ready == nodes.end() || total == nodes.end() ? or_none("") : ready->second + "/" + total->second;
}

/// "2500m/8": what pods hold of what can be held.
std::string allocated_cell(const Json& cluster, const std::string& resource,
                           const std::function<std::string(std::string)>& shown) {
  const std::string allocatable = str(cluster, {"status", "allocatable", resource});
  if (allocatable.empty()) return or_none("");
  const auto held = api::figures_of(cluster, api::kAllocatedPrefix);
  const auto amount = held.find(resource);
  // Without nodes that were counted nobody knows what pods hold.
  const bool counted = !api::figures_of(cluster, api::kNodesPrefix).empty();
  return (amount != held.end() ? shown(amount->second) : counted ? "0" : "?") + "/" + shown(allocatable);
}

std::string since_cell(const Json& cluster, Instant now) {
  const Json* available = condition_of(cluster, api::kConditionAvailable);
  const auto since = available == nullptr ? std::nullopt : parse_time(str(*available, {"lastTransitionTime"}));
  return since ? format_age(*since, now) : or_none("");
}

std::string cluster_state(const Json& cluster) {
  if (!flag(cluster, {"spec", "hubAcceptsClient"})) return "not accepted";
  if (condition_cell(cluster, api::kConditionJoined) != "True") return "not joined";
  const std::string available = condition_cell(cluster, api::kConditionAvailable);
  return available == "True" ? "available" : available == "False" ? "not available" : "unknown";
}

}  // namespace

std::string memory_cell(const std::string& text) {
  const Result<Quantity> quantity = Quantity::parse(text);
  if (!quantity) return or_none(text);
  static constexpr std::array<std::string_view, 6> kUnits = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
  double value = quantity->approximate();
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 64> buffer{};
  const int length = std::snprintf(buffer.data(), buffer.size(), "%.*f", unit == 0 ? 0 : 1, value);
  if (length < 0 || static_cast<std::size_t>(length) >= buffer.size()) return text;
  std::string number(buffer.data(), static_cast<std::size_t>(length));
  if (number.size() > 2 && number.compare(number.size() - 2, 2, ".0") == 0) number.resize(number.size() - 2);
  return number + std::string(kUnits[unit]);
}

ListView cluster_view(std::function<std::string(const std::string& cluster, Instant now)> heartbeat) {
  ListView view;
  view.resource = api::managed_clusters();
  view.nothing = "No managed clusters found.";
  for (const char* name : {"NAME", "ACCEPTED", "JOINED", "AVAILABLE", "CLUSTERSET", "AGE"}) view.columns.push_back({name});
  for (const char* name : {"MODE", "SINCE", "HEARTBEAT", "VERSION", "AGENT", "AGENT STATUS", "NODES", "CPU", "CPU ALLOCATED",
                           "MEMORY", "MEMORY ALLOCATED", "URL", "TAINTS"})
    view.columns.push_back({name, true});
  view.row = [heartbeat = std::move(heartbeat)](const Json& cluster, Instant now) -> std::vector<std::string> {
    return {name_of(cluster),
            flag(cluster, {"spec", "hubAcceptsClient"}) ? "true" : "false",
            condition_cell(cluster, api::kConditionJoined),
            condition_cell(cluster, api::kConditionAvailable),
            or_none(label_of(cluster, api::kClusterSetLabel)),
            age_cell(cluster, now),
            std::string(api::mode_of(cluster)),
            since_cell(cluster, now),
            or_none(heartbeat ? heartbeat(name_of(cluster), now) : ""),
            or_none(str(cluster, {"status", "version", "kubernetes"})),
            or_none(api::agent_version(cluster)),
            or_none(api::agent_health(cluster).text()),
            nodes_cell(cluster),
            or_none(str(cluster, {"status", "capacity", "cpu"})),
            allocated_cell(cluster, "cpu", [](std::string text) { return text; }),
            memory_cell(str(cluster, {"status", "capacity", "memory"})),
            allocated_cell(cluster, "memory", memory_cell),
            url_cell(cluster),
            taints_cell(cluster)};
  };
  view.branches = [](const Json& cluster) -> std::vector<std::vector<std::string>> {
    const std::string set = label_of(cluster, api::kClusterSetLabel);
    return {{set.empty() ? "(no cluster set)" : set, name_of(cluster) + ": " + cluster_state(cluster)}};
  };
  return view;
}

ListView placement_view(bool all_namespaces, std::function<std::string(const std::string& key)> clusters_of) {
  ListView view;
  view.resource = api::placements();
  view.nothing = "No placements found.";
  if (all_namespaces) view.columns.push_back({"NAMESPACE"});
  for (const char* name : {"NAME", "SATISFIED", "REASON", "SELECTED", "CLUSTERSETS", "AGE"}) view.columns.push_back({name});
  view.columns.push_back({"CLUSTERS", true});
  view.row = [all_namespaces, clusters_of = std::move(clusters_of)](const Json& placement, Instant now) {
    const Json* satisfied = condition_of(placement, "PlacementSatisfied");
    std::vector<std::string> cells;
    if (all_namespaces) cells.push_back(namespace_of(placement));
    cells.push_back(name_of(placement));
    cells.push_back(or_none(satisfied == nullptr ? "" : str(*satisfied, {"status"})));
    cells.push_back(or_none(satisfied == nullptr ? "" : str(*satisfied, {"reason"})));
    cells.push_back(std::to_string(num(placement, {"status", "numberOfSelectedClusters"})));
    cells.push_back(or_none(joined(string_list_at(placement, {"spec", "clusterSets"}))));
    cells.push_back(age_cell(placement, now));
    cells.push_back(or_none(clusters_of ? clusters_of(kube::object_key(placement)) : ""));
    return cells;
  };
  return view;
}

ListView cluster_set_view(std::function<std::string(const std::string& set)> bound_to) {
  ListView view;
  view.resource = api::managed_cluster_sets();
  view.nothing = "No cluster sets found.";
  view.columns = {{"NAME"}, {"SELECTOR"}, {"CLUSTERS"}, {"BOUND NAMESPACES"}, {"AGE"}};
  view.row = [bound_to = std::move(bound_to)](const Json& set, Instant now) -> std::vector<std::string> {
    const std::string selector = str(set, {"spec", "clusterSelector", "selectorType"}, "ExclusiveClusterSetLabel");
    return {name_of(set), selector == "ExclusiveClusterSetLabel" ? "label" : selector, size_cell(set),
            or_none(bound_to(name_of(set))), age_cell(set, now)};
  };
  return view;
}

}  // namespace fleetadm::commands
