// R: custom resources.
#include <gtest/gtest.h>

#include "tests/conformance/lab.h"

namespace fleetadm::conformance {
namespace {

const std::string kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A definition of its own for checks that change or delete it.
Json gadget_definition(Lab& lab) {
  const auto group = lab.ns() + ".example.com";
  const Json schema = {{"openAPIV3Schema", {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}}}};
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", "gadgets." + group}}},
          {"spec",
           {{"group", group},
            {"scope", "Namespaced"},
            {"names", {{"plural", "gadgets"}, {"kind", "Gadget"}}},
            {"versions", Json::array({{{"name", "v1"}, {"served", true}, {"storage", true}, {"schema", schema}}})}}}};
}
bool condition(const Json& object, std::string_view type) {
  for (const Json& one : list_at(object, {"status", "conditions"})) {
    if (str(one, {"type"}) == type) return str(one, {"status"}) == "True";
  }
  return false;
}

void r01(Lab& lab) {
  const Json definition = gadget_definition(lab);
  expect(lab.post(kDefinitions, definition), 201);
  const auto path = kDefinitions + "/" + name_of(definition);
  EXPECT_TRUE(lab.eventually(
      [&] {
        const Json now = lab.get(path).json();
        return condition(now, "Established") && condition(now, "NamesAccepted");
      },
      15));
  EXPECT_TRUE(lab.eventually([&] { return lab.get("/apis/" + lab.ns() + ".example.com/v1").status == 200; }));
  lab.remove(path);
}
Json made(Lab& lab, const std::string& name, const Json& spec) {
  lab.need_widgets();
  const auto answer = lab.post(lab.widgets(), lab.widget(name, spec));
  expect(answer, 201);
  return answer.json();
}
void r02(Lab& lab) { EXPECT_EQ(num(made(lab, "w", Json::object()), {"spec", "size"}), 1); }
void r03(Lab& lab) {
  made(lab, "w", {{"odd", 1}});
  EXPECT_FALSE(object_at(lab.get(lab.widgets() + "/w").json(), {"spec"}).contains("odd"));
}
void r04(Lab& lab) {
  lab.need_widgets();
  const auto answer = lab.post(lab.widgets(), lab.widget("w", {{"size", 0}}));
  expect(answer, 422, "Invalid");
  EXPECT_TRUE(has_cause(answer, "spec.size"));
}
void r05(Lab& lab) {
  lab.need_widgets();
  expect(lab.post(lab.widgets(), lab.widget("w", {{"size", 11}})), 422, "Invalid");
}
void r06(Lab& lab) {
  lab.need_widgets();
  const auto answer = lab.post(lab.widgets(), lab.widget("w", {{"items", Json::array({{{"name", "a"}}, {{"name", "a"}}})}}));
  expect(answer, 422, "Invalid");
  EXPECT_TRUE(has_cause(answer, "FieldValueDuplicate"));
}
void r07(Lab& lab) {
  Json object = made(lab, "w", {{"size", 2}});
  object["spec"]["size"] = 3;
  object["status"] = {{"phase", "Main"}};
  auto answer = lab.put(lab.widgets() + "/w", object);
  expect(answer, 200);
  EXPECT_EQ(num(answer.json(), {"spec", "size"}), 3);
  EXPECT_FALSE(answer.json().contains("status"));
  object = answer.json();
  object["spec"]["size"] = 4;
  object["status"] = {{"phase", "Status"}};
  answer = lab.put(lab.widgets() + "/w/status", object);
  expect(answer, 200);
  EXPECT_EQ(num(answer.json(), {"spec", "size"}), 3);
  EXPECT_EQ(str(answer.json(), {"status", "phase"}), "Status");
}
void r08(Lab& lab) {
  EXPECT_EQ(num(made(lab, "w", {{"size", 2}}), {"metadata", "generation"}), 1);
  EXPECT_EQ(num(lab.merge(lab.widgets() + "/w", {{"spec", {{"size", 3}}}}).json(), {"metadata", "generation"}), 2);
  EXPECT_EQ(num(lab.merge(lab.widgets() + "/w", {{"metadata", {{"labels", {{"a", "b"}}}}}}).json(), {"metadata", "generation"}),
            2);
  EXPECT_EQ(num(lab.merge(lab.widgets() + "/w/status", {{"status", {{"phase", "x"}}}}).json(), {"metadata", "generation"}), 2);
}
void r09(Lab& lab) {
  made(lab, "w", {{"replicas", 2}});
  const auto answer = lab.get(lab.widgets() + "/w/scale");
  expect(answer, 200);
  Json scale = answer.json();
  EXPECT_EQ(str(scale, {"kind"}), "Scale");
  EXPECT_EQ(num(scale, {"spec", "replicas"}), 2);
  scale["spec"]["replicas"] = 5;
  expect(lab.put(lab.widgets() + "/w/scale", scale), 200);
  EXPECT_EQ(num(lab.get(lab.widgets() + "/w").json(), {"spec", "replicas"}), 5);
}
void r10(Lab& lab) {
  made(lab, "w", {{"size", 7}});
  const Json table = lab.get(lab.widgets(), kTable).json();
  ASSERT_EQ(list_at(table, {"columnDefinitions"}).size(), 2U) << dump_json(table);
  EXPECT_EQ(str(list_at(table, {"columnDefinitions"})[1], {"name"}), "Size");
  ASSERT_EQ(list_at(table, {"rows"}).size(), 1U);
  EXPECT_EQ(list_at(list_at(table, {"rows"})[0], {"cells"}), (Json{"w", 7}));
}
void r11(Lab& lab) {
  made(lab, "w", {{"size", 2}});
  EXPECT_EQ(str(lab.get(lab.widgets("v2") + "/w").json(), {"apiVersion"}), "conf.example.com/v2");
}
void r12(Lab& lab) {
  made(lab, "w", {{"size", 2}});
  expect(lab.get(lab.widgets("v3") + "/w"), 404);
}
void r13(Lab& lab) {
  Json definition = gadget_definition(lab);
  definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = {{"type", "object"},
                                                                    {"properties", {{"spec", {{"description", "no type"}}}}}};
  expect(lab.post(kDefinitions, definition), 422, "Invalid");
}
void r14(Lab& lab) {
  const Json definition = gadget_definition(lab);
  const auto group = lab.ns() + ".example.com";
  expect(lab.post(kDefinitions, definition), 201);
  const auto objects = "/apis/" + group + "/v1/namespaces/" + lab.ns() + "/gadgets";
  const Json gadget = {{"apiVersion", group + "/v1"}, {"kind", "Gadget"}, {"metadata", {{"name", "g"}}}};
  EXPECT_TRUE(lab.eventually([&] { return lab.post(objects, gadget).status == 201; }));
  expect(lab.remove(kDefinitions + "/" + name_of(definition)), 200);
  EXPECT_TRUE(lab.eventually([&] { return lab.get(kDefinitions + "/" + name_of(definition)).status == 404; }));
  EXPECT_TRUE(
      lab.eventually([&] { return lab.get(objects + "/g").status == 404 && lab.get("/apis/" + group + "/v1").status == 404; }));
}

}  // namespace

std::vector<Check> custom_checks() {
  return {{"R01", "definition is ready", r01},
          {"R02", "defaults", r02},
          {"R03", "pruning", r03},
          {"R04", "schema", r04},
          {"R05", "CEL", r05},
          {"R06", "duplicate map key", r06},
          {"R07", "status isolation", r07},
          {"R08", "generation", r08},
          {"R09", "scale", r09},
          {"R10", "columns", r10},
          {"R11", "versions", r11},
          {"R12", "version that is not served", r12},
          {"R13", "definition that is not structural", r13},
          {"R14", "end of a definition", r14}};
}

}  // namespace fleetadm::conformance
