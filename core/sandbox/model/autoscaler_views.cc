// HorizontalPodAutoscalers in autoscaling/v1 and autoscaling/v2. Stored is v2. What version 1 has no field for travels in
// annotations under the names that Kubernetes uses, so that a client of version 1 that writes back what it read loses nothing.
#include <string>
#include <utility>

#include "kubeclient/base/json.h"

namespace fleetadm::sandbox {
namespace {

constexpr const char* kAnnotationRoot = "autoscaling.alpha.kubernetes.io/";

bool is_cpu_share(const Json& metric, const char* value) {
  return str(metric, {"type"}) == "Resource" && str(metric, {"resource", "name"}) == "cpu" &&
         find(metric, {"resource", value, "averageUtilization"}) != nullptr;
}

/// Moves the first CPU share of a list of metrics to `share`; what is left goes to the annotation.
void lower_metrics(Json& hpa, Json& part, const char* list, const char* value, const char* share, const char* annotation) {
  const auto at = part.find(list);
  if (at == part.end()) return;
  Json rest = Json::array();
  for (const Json& metric : *at) {
    if (is_cpu_share(metric, value) && !part.contains(share)) {
      part[share] = *find(metric, {"resource", value, "averageUtilization"});
    } else {
      rest.push_back(metric);
    }
  }
  part.erase(list);
  if (!rest.empty()) at_or_make(hpa, {"metadata", "annotations", std::string(kAnnotationRoot) + annotation}) = dump_json(rest);
}

void lower_to_annotation(Json& hpa, Json& part, const char* field) {
  const auto at = part.find(field);
  if (at == part.end()) return;
  at_or_make(hpa, {"metadata", "annotations", std::string(kAnnotationRoot) + field}) = dump_json(*at);
  part.erase(field);
}

/// The value of one of the annotations, which is taken out; null where there is none that can be read.
Json take_annotation(Json& hpa, const char* name) {
  const auto key = std::string(kAnnotationRoot) + name;
  const Json* text = find(hpa, {"metadata", "annotations", key});
  if (text == nullptr || !text->is_string()) return nullptr;
  const auto parsed = parse_json(text->get<std::string>());
  erase_at(hpa, {"metadata", "annotations", key});
  if (object_at(hpa, {"metadata", "annotations"}).empty()) erase_at(hpa, {"metadata", "annotations"});
  return parsed ? *parsed : Json();
}

void raise_metrics(Json& part, Json rest, const char* list, const char* value, const char* share) {
  Json metrics = Json::array();
  if (const auto at = part.find(share); at != part.end()) {
    Json level = {{"averageUtilization", *at}};
    if (std::string_view(value) == "target") level["type"] = "Utilization";
    metrics.push_back({{"type", "Resource"}, {"resource", {{"name", "cpu"}, {value, std::move(level)}}}});
    part.erase(share);
  }
  if (rest.is_array()) metrics.insert(metrics.end(), rest.begin(), rest.end());
  if (!metrics.empty()) part[list] = std::move(metrics);
}

}  // namespace

Json autoscaler_v1_view(Json hpa) {
  if (Json& spec = at_or_make(hpa, {"spec"}); spec.is_object()) {
    lower_metrics(hpa, spec, "metrics", "target", "targetCPUUtilizationPercentage", "metrics");
    lower_to_annotation(hpa, at_or_make(hpa, {"spec"}), "behavior");
  }
  if (Json& status = at_or_make(hpa, {"status"}); status.is_object()) {
    lower_metrics(hpa, status, "currentMetrics", "current", "currentCPUUtilizationPercentage", "current-metrics");
    lower_to_annotation(hpa, at_or_make(hpa, {"status"}), "conditions");
    for (const char* count : {"currentReplicas", "desiredReplicas"}) {
      if (!object_at(hpa, {"status"}).contains(count)) at_or_make(hpa, {"status", count}) = 0;
    }
  }
  return hpa;
}

Json autoscaler_from_v1(Json hpa) {
  Json metrics = take_annotation(hpa, "metrics");
  Json current = take_annotation(hpa, "current-metrics");
  Json behavior = take_annotation(hpa, "behavior");
  Json conditions = take_annotation(hpa, "conditions");
  if (Json& spec = at_or_make(hpa, {"spec"}); spec.is_object()) {
    raise_metrics(spec, std::move(metrics), "metrics", "target", "targetCPUUtilizationPercentage");
    if (behavior.is_object()) spec["behavior"] = std::move(behavior);
  }
  if (Json& status = at_or_make(hpa, {"status"}); status.is_object()) {
    raise_metrics(status, std::move(current), "currentMetrics", "current", "currentCPUUtilizationPercentage");
    if (!status.contains("currentMetrics")) status["currentMetrics"] = nullptr;
    if (conditions.is_array()) status["conditions"] = std::move(conditions);
  }
  return hpa;
}

}  // namespace fleetadm::sandbox
