#include "core/registration/agent/served_apis.h"

#include <iterator>
#include <set>
#include <utility>

#include "core/api/kinds.h"
#include "core/api/served_apis.h"
#include "core/controller/controller.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::registration::agent {
namespace {

constexpr std::size_t kMostNamed = 10;  // of those that could not be asked
constexpr std::size_t kLongestMessage = 1024;

std::string name_of_api(const kube::Resource& resource) { return resource.api_version() + "/" + resource.kind; }

std::set<std::string> told_before(const Json& status) {
  std::set<std::string> names;
  for (const Json& score : list_at(status, {"scores"})) {
    if (std::string name = str(score, {"name"}); !name.empty()) names.insert(std::move(name));
  }
  return names;
}

struct Verdict {
  bool complete = false;
  std::string reason;
  std::string message;
};

Verdict verdict_on(const Result<kube::Discovery>& found) {
  if (!found)
    return {false, "DiscoveryFailed",
            "The APIs could not be read: " + found.error().message.substr(0, kLongestMessage) + "; the list is an earlier one."};
  std::vector<std::string> unknown = found->failed_groups;
  if (unknown.empty()) return {true, "Complete", "The list has all APIs that the cluster serves."};
  const std::size_t all = unknown.size();
  if (all > kMostNamed) unknown.resize(kMostNamed);
  return {false, "Partial",
          std::to_string(all) + " could not be read, and may be served or not: " + joined(unknown, ", ") +
              (all > kMostNamed ? ", ..." : "")};
}

}  // namespace

Json served_apis_status(const Json& before, const Result<kube::Discovery>& found, Instant now) {
  Verdict verdict = verdict_on(found);
  std::set<std::string> names;
  if (!verdict.complete) names = told_before(before);
  if (found) {
    for (const kube::DiscoveredResource& one : found->resources) names.insert(name_of_api(one.resource));
  }
  if (names.size() > kMostApis) {
    const std::size_t all = names.size();
    names.erase(std::next(names.begin(), kMostApis), names.end());
    verdict = {false, "TooMany", "Only the first " + std::to_string(kMostApis) + " of " + std::to_string(all) + " are listed."};
  }
  Json status = before.is_object() ? before : Json::object();
  Json scores = Json::array();
  for (const std::string& name : names) scores.push_back({{"name", name}, {"value", 1}});
  status["scores"] = std::move(scores);
  Json& conditions = status["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  controller::set_condition(conditions, api::kApisComplete, verdict.complete ? "True" : "False", verdict.reason, verdict.message,
                            now);
  return status;
}

Result<bool> publish_served_apis(const kube::Client& hub, const kube::Client& member, const Json& cluster, Instant now) {
  const auto& type = api::addon_placement_scores();
  const std::string ns = name_of(cluster);
  FLEETADM_TRY(auto live, hub.find(type, ns, api::kServedApis));
  const auto found = kube::discover(member);
  if (!live) {
    const Json owner{{"apiVersion", api::managed_clusters().api_version()},
                     {"kind", api::managed_clusters().kind},
                     {"name", ns},
                     {"uid", uid_of(cluster)}};
    FLEETADM_TRY(
        live, hub.create_or_get(
                  type, ns,
                  {{"apiVersion", type.api_version()},
                   {"kind", type.kind},
                   {"metadata",
                    {{"name", std::string(api::kServedApis)}, {"namespace", ns}, {"ownerReferences", Json::array({owner})}}}}));
  }
  const Json wanted = served_apis_status(object_at(*live, {"status"}), found, now);
  const bool complete = controller::condition_is(Json{{"status", wanted}}, api::kApisComplete, "True");
  if (wanted == object_at(*live, {"status"})) return complete;
  const auto change = [&](Json& object) -> Status {
    object["status"] = served_apis_status(object_at(object, {"status"}), found, now);
    return {};
  };
  FLEETADM_TRY([[maybe_unused]] const Json written, hub.modify(type, ns, api::kServedApis, change, "status"));
  return complete;
}

}  // namespace fleetadm::registration::agent
