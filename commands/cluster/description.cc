#include "commands/cluster/description.h"

#include <algorithm>
#include <functional>

#include "commands/framework/description.h"
#include "commands/framework/listing.h"
#include "commands/framework/named.h"
#include "core/api/agent_version.h"
#include "core/api/cluster_lease.h"
#include "core/api/kinds.h"
#include "core/api/member_state.h"
#include "core/controller/controller.h"
#include "core/registration/hub/lease_rules.h"
#include "core/work/rules/names.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::commands {
namespace {

constexpr std::size_t kMaxEvents = 10;  // the last ones

/// The capacity without the figures that are there, too.
Json amounts_of(const Json& cluster) {
  Json amounts = object_at(cluster, {"status", "capacity"});
  for (const auto& [key, value] : strings_at(cluster, {"status", "capacity"})) {
    if (api::is_figure(key)) amounts.erase(key);
  }
  return amounts;
}

/// The objects of one kind as entries, in the server's order. One that cannot be read is a note.
class PartReader {
 public:
  PartReader(const kube::Client& hub, std::vector<std::string>& notes) : hub_(hub), notes_(notes) {}

  Result<Json> entries(const kube::Resource& resource, const std::string& ns, const kube::ListOptions& which,
                       const std::function<Json(const Json& object)>& entry) {
    Json list = Json::array();
    const Status read = hub_.list_each(resource, ns, which, [&](const Json& object) -> Status {
      if (Json one = entry(object); !one.is_null()) list.push_back(std::move(one));
      return {};
    });
    if (read) return list;
    if (read.error().category != Category::kAuth && read.error().category != Category::kNotFound) return fail(read.error());
    notes_.push_back(resource.plural + " are not shown: " + read.error().message);
    return Json::array();
  }

 private:
  const kube::Client& hub_;
  std::vector<std::string>& notes_;
};

Json work_entry(const Json& work) {
  Json entry{{"name", name_of(work)},
             {"applied", condition_cell(work, "Applied")},
             {"available", condition_cell(work, "Available")},
             {"manifests", list_at(work, {"spec", "workload", "manifests"}).size()}};
  std::string set = label_of(work, work::kReplicaSetLabel);  // "namespace.name"
  if (const auto dot = set.find('.'); dot != std::string::npos) {
    set[dot] = '/';
    entry["set"] = set;
  }
  if (is_deleting(work)) entry["deleting"] = true;
  return entry;
}

Json addon_entry(const Json& addon) {
  Json entry{{"name", name_of(addon)}, {"available", condition_cell(addon, "Available")}};
  if (is_deleting(addon)) entry["deleting"] = true;
  return entry;
}

/// {"name", "state", "created"[, "addon", "requester", "expires"]}.
Json request_entry(const Json& csr) {
  Json entry{{"name", name_of(csr)}, {"created", str(csr, {"metadata", "creationTimestamp"})}};
  const bool denied = controller::condition_is(csr, "Denied", "True");
  const bool approved = controller::condition_is(csr, "Approved", "True");
  const std::string certificate = str(csr, {"status", "certificate"});
  entry["state"] = denied ? "denied" : !certificate.empty() ? "issued" : approved ? "approved" : "pending";
  entry["requester"] = str(csr, {"spec", "username"});
  if (const std::string addon = label_of(csr, api::kAddonNameLabel); !addon.empty()) entry["addon"] = addon;
  const auto pem = base64_decode(certificate);
  if (!pem || certificate.empty()) return entry;
  if (const auto chain = pki::parse_certificates(*pem)) entry["expires"] = format_time(chain->front().not_after);
  return entry;
}

Json event_entry(const Json& event) {
  const auto seen = event_seen(event);
  return {{"seen", seen ? format_time(*seen) : ""},
          {"type", str(event, {"type"})},
          {"reason", str(event, {"reason"})},
          {"message", str(event, {"message"})}};
}

/// The namespaces and names of the placements that have decided on the cluster.
Result<Json> deciding_placements(PartReader& parts, const std::string& name) {
  FLEETADM_TRY(Json all, parts.entries(api::placement_decisions(), "", {}, [&](const Json& decision) -> Json {
    for (const Json& one : list_at(decision, {"status", "decisions"})) {
      if (str(one, {"clusterName"}) == name) return namespace_of(decision) + "/" + label_of(decision, api::kPlacementLabel);
    }
    return nullptr;
  }));
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

Result<Json> lease_entry(const kube::Client& hub, const Json& cluster, Instant now) {
  FLEETADM_TRY(const auto lease, hub.find(kube::resources::leases(), name_of(cluster), api::kClusterLease));
  Json entry{{"graceSeconds", std::chrono::duration_cast<std::chrono::seconds>(api::lease_grace(cluster)).count()}};
  const auto renewed = lease ? registration::hub::renew_time(*lease) : std::nullopt;
  if (!renewed) return entry;
  entry["renewed"] = format_time(*renewed);
  entry["ageSeconds"] = std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(now - *renewed).count());
  return entry;
}

}  // namespace

Result<Json> describe_cluster(const kube::Client& hub, const std::string& name, Instant now, std::vector<std::string>& notes) {
  auto found = hub.get(api::managed_clusters(), "", name);
  if (!found) return tl::unexpected(NearNames(hub, api::managed_clusters()).explain(found.error(), name));
  const Json& cluster = *found;
  Json data{{"kind", "ClusterDescription"},
            {"name", name},
            {"created", str(cluster, {"metadata", "creationTimestamp"})},
            {"mode", std::string(api::mode_of(cluster))},
            {"accepted", flag(cluster, {"spec", "hubAcceptsClient"})},
            {"joined", condition_cell(cluster, api::kConditionJoined)},
            {"available", condition_cell(cluster, api::kConditionAvailable)},
            {"clusterSet", label_of(cluster, api::kClusterSetLabel)},
            {"labels", object_at(cluster, {"metadata", "labels"})},
            {"annotations", object_at(cluster, {"metadata", "annotations"})},
            {"taints", list_at(cluster, {"spec", "taints"})},
            {"kubernetesVersion", str(cluster, {"status", "version", "kubernetes"})},
            {"agentVersion", api::agent_version(cluster)},
            {"capacity", amounts_of(cluster)},
            {"allocatable", object_at(cluster, {"status", "allocatable"})},
            {"claims", list_at(cluster, {"status", "clusterClaims"})},
            {"conditions", told_conditions(list_at(cluster, {"status", "conditions"}))}};
  if (is_deleting(cluster)) data["deleting"] = true;
  if (const auto nodes = api::figures_of(cluster, api::kNodesPrefix); !nodes.empty()) {
    data["nodes"] = nodes;
    data["allocated"] = api::figures_of(cluster, api::kAllocatedPrefix);
    data["allocating"] = api::figures_of(cluster, api::kAllocatingPrefix);
  }
  data["urls"] = Json::array();
  for (const Json& one : list_at(cluster, {"spec", "managedClusterClientConfigs"})) data["urls"].push_back(str(one, {"url"}));
  if (auto lease = lease_entry(hub, cluster, now)) {
    data["lease"] = std::move(*lease);
  } else if (lease.error().category == Category::kAuth) {
    notes.push_back("the lease is not shown: " + lease.error().message);
  } else {
    return tl::unexpected(lease.error());
  }
  PartReader parts(hub, notes);
  kube::ListOptions of_cluster;
  of_cluster.label_selector = std::string(api::kClusterNameLabel) + "=" + name;
  kube::ListOptions about;
  about.field_selector = "involvedObject.kind=ManagedCluster,involvedObject.name=" + name;
  FLEETADM_TRY(data["placements"], deciding_placements(parts, name));
  FLEETADM_TRY(data["works"], parts.entries(api::manifest_works(), name, {}, work_entry));
  FLEETADM_TRY(data["addons"], parts.entries(api::managed_cluster_addons(), name, {}, addon_entry));
  FLEETADM_TRY(data["requests"], parts.entries(kube::resources::certificate_signing_requests(), "", of_cluster, request_entry));
  FLEETADM_TRY(Json events, parts.entries(kube::resources::core_events(), "", about, event_entry));
  std::stable_sort(events.begin(), events.end(),
                   [](const Json& a, const Json& b) { return str(a, {"seen"}) < str(b, {"seen"}); });
  if (events.size() > kMaxEvents) events.erase(events.begin(), events.end() - kMaxEvents);
  data["events"] = std::move(events);
  return data;
}

}  // namespace fleetadm::commands
