#include "core/registration/agent/topology.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/api/cluster_claim.h"
#include "core/api/kinds.h"
#include "core/registration/agent/figures.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/names.h"

namespace fleetadm::registration::agent {
namespace {

constexpr const char* kTopology = "topology";

std::string provider_of(const std::string& id) {
  const auto scheme = id.find("://");
  return scheme == std::string::npos ? std::string() : id.substr(0, scheme);
}

struct Aspect {
  std::string_view claim;
  std::string_view label;
  const std::set<std::string>& values;

  std::string claim_value() const { return joined(std::vector<std::string>(values.begin(), values.end()), ","); }
  std::string label_value() const { return values.size() == 1 ? *values.begin() : std::string(); }
};

std::array<Aspect, 3> aspects(const Topology& topology) {
  return {{{kProviderClaim, kProviderLabel, topology.providers},
           {kRegionClaim, kRegionLabel, topology.regions},
           {kZonesClaim, kZoneLabel, topology.zones}}};
}

}  // namespace

void project_placed_node(Json& node) {
  Json projected = node;
  project_counted_node(projected);
  project_topology(node, projected);
  node = std::move(projected);
}

void project_topology(const Json& node, Json& projected) {
  for (const auto& [name, value] :
       {std::pair{"provider", provider_of(str(node, {"spec", "providerID"}))}, std::pair{"region", label_of(node, kRegionLabel)},
        std::pair{"zone", label_of(node, kZoneLabel)}}) {
    if (!value.empty()) projected[kTopology][name] = value;
  }
}

void add_node(const Json& node, Topology& topology) {
  const auto take = [&node](const char* name, std::set<std::string>& into) {
    std::string value = str(node, {kTopology, name});
    if (!value.empty() && label_value_problems(value).empty()) into.insert(std::move(value));
  };
  take("provider", topology.providers);
  take("region", topology.regions);
  take("zone", topology.zones);
}

void add_topology_claims(const Topology& topology, std::vector<Claim>& claims) {
  for (const Aspect& aspect : aspects(topology)) {
    const std::string value = aspect.claim_value();
    const bool own = std::any_of(claims.begin(), claims.end(), [&](const auto& claim) { return claim.name == aspect.claim; });
    if (!own && !value.empty() && api::claim_fits(aspect.claim, value)) claims.push_back({std::string(aspect.claim), value});
  }
}

Json changed_labels(const Json& cluster, const Topology& topology) {
  Json labels = Json::object();
  for (const Aspect& aspect : aspects(topology)) {
    const std::string before = api::told_claim(cluster, aspect.claim);
    if (before == aspect.claim_value()) continue;
    const std::string is = label_of(cluster, aspect.label);
    const std::string wanted = aspect.label_value();
    // A claim of several values had no label.
    const bool ours = is.empty() || (is == before && !before.empty());
    if (!ours || is == wanted) continue;
    labels[std::string(aspect.label)] = wanted.empty() ? Json() : Json(wanted);
  }
  return labels.empty() ? Json() : labels;
}

Result<Json> write_labels(const kube::Client& hub, const Json& cluster, const Topology& topology, kube::MutationCache& written) {
  const Json labels = changed_labels(cluster, topology);
  if (labels.is_null()) return cluster;
  Json wanted = cluster;
  Json& all = at_or_make(wanted, {"metadata", "labels"});
  for (const auto& [name, value] : labels.items()) {
    if (value.is_null()) {
      all.erase(name);
    } else {
      all[name] = value;
    }
  }
  auto stored = hub.update(api::managed_clusters(), wanted);  // agents may not patch it
  if (stored) written.note(*stored);
  return stored;
}

}  // namespace fleetadm::registration::agent
