#include "tests/support/work_agents.h"

#include <gtest/gtest.h>
#include <vector>

#include "core/addon/rules/config_reference.h"
#include "core/addon/rules/object_reader.h"
#include "core/api/kinds.h"
#include "core/work/rules/conditions.h"
#include "core/work/rules/feedback.h"

namespace fleetadm::testkit {

Json applied_work_status(const Json& work, bool available) {
  const Instant now = Clock::system()->now();
  const std::int64_t generation = num(work, {"metadata", "generation"});
  std::vector<work::ManifestResult> results;
  for (const Json& manifest : list_at(work, {"spec", "workload", "manifests"})) {
    const addon::GroupResource type = addon::type_of(manifest);
    work::ManifestResult& result = results.emplace_back();
    result.applied_now = true;
    result.availability = available ? work::Availability::kAvailable : work::Availability::kMissing;
    result.was_read = true;
    result.meta = {{"ordinal", results.size() - 1},
                   {"group", type.group},
                   {"version", kube::parse_api_version(str(manifest, {"apiVersion"})).version},
                   {"kind", str(manifest, {"kind"})},
                   {"resource", type.resource},
                   {"namespace", namespace_of(manifest)},
                   {"name", name_of(manifest)}};
    if (type != addon::GroupResource{"apps", "deployments"} || !available) continue;
    Json live = manifest;
    live["status"] = {{"replicas", 1}, {"readyReplicas", 1}, {"availableReplicas", 1}};
    result.feedback_asked = true;
    result.feedback = work::feedback_of_rule({{"type", "WellKnownStatus"}}, live, {}).values;
  }
  Json status = Json::object();
  status["resourceStatus"]["manifests"] = work::manifest_statuses(Json::array(), results, generation, now);
  work::aggregate_conditions(status, generation, true, now);
  return status;
}

void report_addon_works(const kube::Client& hub, const std::function<bool(const std::string& cluster)>& available) {
  kube::ListOptions of_addons;
  of_addons.label_selector = std::string(api::kAddonNameLabel);
  const auto works = hub.list(api::manifest_works(), {}, of_addons);
  if (!works) {
    ADD_FAILURE() << works.error().message;
    return;
  }
  for (const Json& work : list_at(*works, {"items"})) {
    const bool good = available(namespace_of(work));
    const Json* told = work::condition_in(list_at(work, {"status", "conditions"}), "Available");
    if (told != nullptr && num(*told, {"observedGeneration"}) == num(work, {"metadata", "generation"}) &&
        (str(*told, {"status"}) == "True") == good) {
      continue;
    }
    kube::WriteOptions options;
    options.subresource = "status";
    const Json body{{"status", applied_work_status(work, good)}};
    const auto written =
        hub.patch(api::manifest_works(), namespace_of(work), name_of(work), kube::PatchType::kMerge, body, options);
    if (!written && written.error().category != Category::kNotFound) ADD_FAILURE() << written.error().message;
  }
}

}  // namespace fleetadm::testkit
