// Rows of kinds that the recorded tables do not have, and enumerated values in the OpenAPI documents.
#include <gtest/gtest.h>

#include "core/apimachinery/openapi.h"
#include "core/apimachinery/openapi_texts.h"
#include "core/apimachinery/table.h"

namespace fleetadm::apimachinery {
namespace {

std::string rare_cells(std::string_view group, std::string_view kind, std::string_view object) {
  return dump_json(builtin_printer(group, kind).cells(parse_json(object).value(), Instant()));
}

TEST(RareTables, ShowWhatTheirKindsHave) {
  EXPECT_EQ(rare_cells("networking.k8s.io", "ServiceCIDR", R"({"metadata":{"name":"a"},"spec":{"cidrs":["10.0.0.0/24"]}})"),
            R"(["a","10.0.0.0/24","<unknown>"])");
  EXPECT_EQ(
      rare_cells("networking.k8s.io", "IPAddress",
                 R"({"metadata":{"name":"10.0.0.1"},"spec":{"parentRef":{"resource":"services","namespace":"d","name":"k"}}})"),
      R"(["10.0.0.1","services/d/k","<unknown>"])");
  EXPECT_EQ(rare_cells("storage.k8s.io", "CSIDriver", R"({"metadata":{"name":"a"},"spec":{}})"),
            R"(["a",true,false,false,"<unset>",false,"<none>","<unknown>"])");
  EXPECT_EQ(rare_cells("resource.k8s.io", "ResourceClaim", R"({"metadata":{"name":"a"}})"), R"(["a","pending","<unknown>"])");
  EXPECT_EQ(rare_cells("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration",
                       R"({"metadata":{"name":"a"},"spec":{"type":"Limited","limited":{"nominalConcurrencyShares":5}}})"),
            R"(["a","Limited",5,"<none>","<none>","<none>","<unknown>"])");
}

TEST(RareTables, AutoscalersShowTheirMetrics) {
  const auto targets = [](std::string_view spec) {
    Json object = {{"metadata", {{"name", "a"}}}, {"spec", parse_json(spec).value()}};
    return builtin_printer("autoscaling", "HorizontalPodAutoscaler").cells(object, Instant())[2].get<std::string>();
  };
  EXPECT_EQ(targets(R"({})"), "<none>");
  EXPECT_EQ(
      targets(
          R"({"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":80}}}]})"),
      "cpu: <unknown>/80%");
  EXPECT_EQ(targets(R"({"metrics":[{"type":"Resource","resource":{"name":"memory","target":{"averageValue":"100Mi"}}}]})"),
            "memory: <unknown>/100Mi");
  EXPECT_EQ(targets(R"({"metrics":[{"type":"Object","object":{"target":{"averageValue":"5"}}}]})"), "<unknown>/5 (avg)");
  EXPECT_EQ(targets(R"({"targetCPUUtilizationPercentage":70})"), "cpu: <unknown>/70%");
}

TEST(OpenApiValues, AreTold) {
  EXPECT_EQ(values_of("core/v1.Container", "imagePullPolicy"), "Always|IfNotPresent|Never");
  EXPECT_EQ(values_of("storage/v1.StorageClass", "volumeBindingMode"), "Immediate|WaitForFirstConsumer");
  EXPECT_EQ(values_of("core/v1.Container", "image").data(), nullptr);
  OpenApiResource pods;
  pods.plural = "pods";
  pods.kind = "Pod";
  pods.namespaced = true;
  pods.verbs = {"get"};
  const Json document = openapi_v3("", "v1", {pods}, "v1.35.4");
  const Json& schemas = object_at(document, {"components", "schemas"});
  EXPECT_EQ(dump_json(list_at(schemas, {"io.k8s.api.core.v1.PodSpec", "properties", "restartPolicy", "enum"})),
            R"(["Always","Never","OnFailure"])");
}

}  // namespace
}  // namespace fleetadm::apimachinery
