#include <gtest/gtest.h>

#include "kubeclient/base/json.h"

namespace fleetadm::sandbox {

Json autoscaler_v1_view(Json hpa);
Json autoscaler_from_v1(Json hpa);

namespace {

TEST(AutoscalerViews, WhatVersion1CannotSayComesBack) {
  const Json stored = parse_json(R"({
    "metadata": {"name": "a"},
    "spec": {"maxReplicas": 3, "minReplicas": 1, "scaleTargetRef": {"kind": "Deployment", "name": "a"},
             "behavior": {"scaleUp": {"policies": []}},
             "metrics": [
               {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}},
               {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}}]},
    "status": {"currentReplicas": 1, "desiredReplicas": 2, "currentMetrics": null,
               "conditions": [{"type": "AbleToScale", "status": "True"}]}})")
                          .value();
  const Json old = autoscaler_v1_view(stored);
  EXPECT_EQ(num(old, {"spec", "targetCPUUtilizationPercentage"}), 80);
  EXPECT_EQ(find(old, {"spec", "metrics"}), nullptr);
  EXPECT_EQ(find(old, {"spec", "behavior"}), nullptr);
  EXPECT_NE(annotation_of(old, "autoscaling.alpha.kubernetes.io/metrics").find("memory"), std::string::npos);
  EXPECT_EQ(autoscaler_from_v1(old), stored);
}

TEST(AutoscalerViews, ATargetOfVersion1IsAMetric) {
  const Json raised = autoscaler_from_v1({{"spec", {{"targetCPUUtilizationPercentage", 50}}}});
  EXPECT_EQ(num(list_at(raised, {"spec", "metrics"})[0], {"resource", "target", "averageUtilization"}), 50);
  EXPECT_EQ(str(list_at(raised, {"spec", "metrics"})[0], {"resource", "target", "type"}), "Utilization");
  EXPECT_EQ(find(raised, {"metadata"}), nullptr);
}

}  // namespace
}  // namespace fleetadm::sandbox
