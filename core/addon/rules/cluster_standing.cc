#include "core/addon/rules/cluster_standing.h"

#include <utility>

#include "core/addon/rules/names.h"
#include "core/api/kinds.h"
#include "core/controller/controller.h"

namespace fleetadm::addon {
namespace {

constexpr std::string_view kAvailable = "Available";
constexpr std::size_t kMaxLabelName = 63;  // after the slash

std::string feature_label(const Json& addon) {
  std::string label(kFeatureLabelPrefix);
  label += name_of(addon);
  return label.size() - label.find('/') - 1 > kMaxLabelName ? std::string() : label;
}

std::string_view feature_value(const Json& addon) {
  if (controller::condition_is(addon, kAvailable, "True")) return "available";
  return controller::condition_is(addon, kAvailable, "False") ? "unhealthy" : "unreachable";
}

void set_feature_labels(Json& cluster, const std::vector<Json>& addons) {
  Json labels = object_at(cluster, {"metadata", "labels"});
  for (const auto& [key, value] : strings_at(cluster, {"metadata", "labels"})) {
    if (key.starts_with(kFeatureLabelPrefix)) labels.erase(key);
  }
  for (const Json& addon : addons) {
    const std::string label = is_deleting(addon) ? std::string() : feature_label(addon);
    if (!label.empty()) labels[label] = feature_value(addon);
  }
  if (labels.empty()) {
    erase_at(cluster, {"metadata", "labels"});
  } else {
    at_or_make(cluster, {"metadata", "labels"}) = std::move(labels);
  }
}

}  // namespace

Pass cluster_standing(const ObjectReader& objects, std::string_view cluster, Instant now) {
  Pass pass;
  const ObjectPtr before = objects.get(managed_clusters(), {}, cluster);
  const Json* available = before ? controller::find_condition(*before, api::kConditionAvailable) : nullptr;
  if (available == nullptr) return pass;
  const bool unheard = str(*available, {"status"}) == "Unknown";
  std::vector<Json> addons;
  for (const ObjectPtr& one : objects.list(managed_cluster_addons(), cluster)) {
    Json addon = *one;
    if (unheard && controller::set_condition(at_or_make(addon, {"status", "conditions"}), kAvailable, "Unknown",
                                             str(*available, {"reason"}), str(*available, {"message"}), now)) {
      pass.changed.push_back(addon);
    }
    addons.push_back(std::move(addon));
  }
  if (is_deleting(*before)) return pass;
  Json after = *before;
  set_feature_labels(after, addons);
  if (object_at(after, {"metadata", "labels"}) != object_at(*before, {"metadata", "labels"})) {
    pass.changed.push_back(std::move(after));
  }
  return pass;
}

}  // namespace fleetadm::addon
