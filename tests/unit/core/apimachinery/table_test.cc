#include "core/apimachinery/table.h"

#include <gtest/gtest.h>

#include "core/apimachinery/openapi.h"
#include "core/apimachinery/structural.h"
#include "tests/unit/core/apimachinery/recorded.h"

namespace fleetadm::apimachinery {
namespace {

// Columns and cells as kube-apiserver 1.35.4 printed the same objects; what depends on the time of day is not compared.
TEST(Table, BuiltInKindsPrintAsOnARealServer) {
  const Json record = recorded("tables");
  ASSERT_GE(record.size(), 40U);
  for (const Json& c : record) {
    const std::string what = str(c, {"group"}) + "/" + str(c, {"plural"});
    std::string kind;
    if (!list_at(c, {"rows"}).empty()) kind = str(list_at(c, {"rows"})[0], {"object", "kind"});
    if (kind.empty()) continue;
    const TablePrinter& printer = builtin_printer(str(c, {"group"}), kind);
    const Json& columns = list_at(c, {"columns"});
    ASSERT_EQ(printer.columns().size(), columns.size()) << what;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      EXPECT_EQ(printer.columns()[i].name, str(columns[i], {"name"})) << what;
      EXPECT_EQ(printer.columns()[i].type, str(columns[i], {"type"})) << what;
      EXPECT_EQ(printer.columns()[i].priority, num(columns[i], {"priority"})) << what;
      EXPECT_EQ(printer.columns()[i].format, str(columns[i], {"format"})) << what;
    }
    for (const Json& row : list_at(c, {"rows"})) {
      const Json& object = object_at(row, {"object"});
      const Json got = printer.cells(object, Instant());
      const Json& wanted = list_at(row, {"cells"});
      ASSERT_EQ(got.size(), wanted.size()) << what;
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const std::string& column = printer.columns()[i].name;
        if (column == "Age" || column == "Duration" || column == "Last Seen" || column == "First Seen") {
          EXPECT_TRUE(got[i].is_string()) << what;
        } else {
          EXPECT_EQ(dump_json(got[i]), dump_json(wanted[i])) << what << " " << column;
        }
      }
    }
  }
}

TEST(Table, PodsAreSummedUp) {
  const auto cells = [](std::string_view status) {
    Json pod = parse_json(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a"},{"name":"b"}]}})").value();
    pod["status"] = parse_json(status).value();
    const Json all = builtin_printer("", "Pod").cells(pod, Instant());
    return all[1].get<std::string>() + " " + all[2].get<std::string>() + " " + all[3].get<std::string>();
  };
  EXPECT_EQ(
      cells(
          R"({"phase":"Running","containerStatuses":[{"ready":true,"restartCount":2,"state":{"running":{}}},{"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]})"),
      "1/2 CrashLoopBackOff 2");
  EXPECT_EQ(cells(R"({"phase":"Pending","initContainerStatuses":[{"state":{"running":{}}}]})"), "0/2 Init:0/0 0");
  EXPECT_EQ(cells(R"({"phase":"Succeeded","containerStatuses":[{"state":{"terminated":{"reason":"Completed"}}}]})"),
            "0/2 Completed 0");
  EXPECT_EQ(cells(R"({"phase":"Failed","containerStatuses":[{"state":{"terminated":{"exitCode":3}}}]})"), "0/2 ExitCode:3 0");
}

TEST(Table, CustomResourcesHaveTheirColumns) {
  const Json columns =
      parse_json(
          R"([{"name":"Size","type":"integer","jsonPath":".spec.size"},{"name":"Names","type":"string","jsonPath":".spec.l[*].n"},
    {"name":"On","type":"boolean","jsonPath":".spec.on","priority":1},{"name":"Since","type":"date","jsonPath":".spec.since"}])")
          .value();
  const auto printer = custom_printer(columns);
  const Json object =
      parse_json(
          R"({"metadata":{"name":"x","resourceVersion":"7"},"spec":{"size":3,"l":[{"n":"a"},{"n":"b"}],"since":"1970-01-01T00:00:01Z"}})")
          .value();
  const Json table = make_table(*printer, {&object}, Json::object(), Include::kMetadata, Instant(std::chrono::seconds(61)));
  EXPECT_EQ(dump_json(table["rows"][0]["cells"]), R"(["x",3,"a",null,"60s"])");
  EXPECT_EQ(str(table, {"metadata", "resourceVersion"}), "7");
  EXPECT_EQ(str(table["rows"][0], {"object", "kind"}), "PartialObjectMetadata");
  EXPECT_EQ(num(table["columnDefinitions"][3], {"priority"}), 1);
  EXPECT_EQ(custom_printer(Json())->columns().size(), 2U);
  EXPECT_TRUE(make_table(*printer, {&object}, Json::object(), Include::kNone, Instant())["rows"][0]["object"].is_null());
  EXPECT_FALSE(parse_include("All"));
}

TEST(OpenApi, PatchesOfBuiltInKindsNameTheirTypes) {
  const Json document = openapi_v3(
      "apps", "v1", {{"deployments", "Deployment", true, {"get", "list", "patch", "update", "create"}, {"status"}, nullptr, ""}},
      "v1");
  const Json* patch = find(document, {"paths", "/apis/apps/v1/namespaces/{namespace}/deployments/{name}", "patch"});
  ASSERT_NE(patch, nullptr);
  EXPECT_EQ(str(*patch, {"x-kubernetes-group-version-kind", "kind"}), "Deployment");
  EXPECT_NE(find(*patch, {"requestBody", "content", "application/strategic-merge-patch+json"}), nullptr);
  EXPECT_NE(dump_json(*patch).find("fieldValidation"), std::string::npos);
  const Json* pod = find(document, {"components", "schemas", "io.k8s.api.core.v1.PodSpec", "properties", "containers"});
  ASSERT_NE(pod, nullptr);
  EXPECT_EQ(str(*pod, {"x-kubernetes-patch-merge-key"}), "name");
  EXPECT_EQ(str(*pod, {"x-kubernetes-list-type"}), "map");
  // Every reference leads somewhere.
  const std::string text = dump_json(document);
  std::size_t at = 0;
  while ((at = text.find("#/components/schemas/", at)) != std::string::npos) {
    at += 21;
    const std::string name = text.substr(at, text.find('"', at) - at);
    ASSERT_NE(find(document, {"components", "schemas", name}), nullptr) << name;
  }
}

TEST(OpenApi, CustomResourcesAreNamedByTheirReversedGroup) {
  const Json schema =
      parse_json(
          R"({"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string","nullable":true}}}}})")
          .value();
  const OpenApiResource resource{"widgets", "Widget", true, {"get", "list", "patch"}, {}, &schema, ""};
  const Json document = openapi_v3("conf.example.com", "v1", {resource}, "v1");
  const Json* found = find(document, {"components", "schemas", "com.example.conf.v1.Widget"});
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(str(list_at(*found, {"x-kubernetes-group-version-kind"})[0], {"group"}), "conf.example.com");
  EXPECT_NE(find(document, {"components", "schemas", "com.example.conf.v1.WidgetList"}), nullptr);
  EXPECT_EQ(dump_json(document).find("strategic-merge"), std::string::npos);
  const Json old = openapi_v2({{"conf.example.com", "v1", {resource}}}, "v1");
  EXPECT_EQ(dump_json(old).find("nullable"), std::string::npos);
  EXPECT_NE(find(old, {"definitions", "com.example.conf.v1.Widget", "properties", "spec"}), nullptr);
}

}  // namespace
}  // namespace fleetadm::apimachinery
