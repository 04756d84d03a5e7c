// P, O, S: patches, dry run and field validation, server-side apply.
#include <algorithm>
#include <gtest/gtest.h>

#include "tests/conformance/lab.h"

namespace fleetadm::conformance {
namespace {

std::vector<std::string> containers_of(const Json& deployment) {
  std::vector<std::string> out;
  for (const Json& one : list_at(deployment, {"spec", "template", "spec", "containers"})) out.push_back(str(one, {"name"}));
  std::sort(out.begin(), out.end());
  return out;
}
/// The fieldsV1 of a manager; null where it owns nothing.
Json fields_of(const Json& object, std::string_view manager, std::string_view operation) {
  for (const Json& entry : list_at(object, {"metadata", "managedFields"})) {
    if (str(entry, {"manager"}) == manager && str(entry, {"operation"}) == operation) return object_at(entry, {"fieldsV1"});
  }
  return nullptr;
}

void p01(Lab& lab) {
  lab.post(lab.maps(), lab.config_map("x", {{"a", "1"}, {"b", "2"}}));
  const auto answer = lab.merge(lab.maps() + "/x", {{"data", {{"a", nullptr}}}});
  expect(answer, 200);
  EXPECT_EQ(object_at(answer.json(), {"data"}), (Json{{"b", "2"}}));
}
void p02(Lab& lab) {
  lab.post(lab.maps(), lab.config_map("x"));
  const auto answer =
      lab.patch(lab.maps() + "/x", "application/json-patch+json", R"([{"op":"add","path":"/data/b","value":"2"}])");
  expect(answer, 200);
  EXPECT_EQ(str(answer.json(), {"data", "b"}), "2");
}
void p03(Lab& lab) {
  lab.post(lab.maps(), lab.config_map("x"));
  expect(lab.patch(lab.maps() + "/x", "application/json-patch+json", R"([{"op":"test","path":"/data/a","value":"wrong"}])"), 422,
         "Invalid");
}
void p04(Lab& lab) {
  lab.post(lab.maps(), lab.config_map("x"));
  expect(lab.patch(lab.maps() + "/x", "application/json-patch+json", R"({"op":"add"})"), 400, "BadRequest");
}
void p05(Lab& lab) {
  expect(lab.post(lab.apps("deployments"), lab.deployment("d")), 201);
  const Json containers = Json::array({{{"name", "two"}, {"image", "example.com/two:2"}}});
  const auto answer =
      lab.strategic(lab.apps("deployments") + "/d", {{"spec", {{"template", {{"spec", {{"containers", containers}}}}}}}});
  expect(answer, 200);
  EXPECT_EQ(containers_of(answer.json()), (std::vector<std::string>{"one", "two"}));
}
void p06(Lab& lab) {
  lab.post(lab.apps("deployments"), lab.deployment("d"));
  const Json containers = Json::array({{{"$patch", "delete"}, {"name", "one"}}});
  const auto answer =
      lab.strategic(lab.apps("deployments") + "/d", {{"spec", {{"template", {{"spec", {{"containers", containers}}}}}}}});
  expect(answer, 200);
  EXPECT_EQ(containers_of(answer.json()), std::vector<std::string>{"two"});
}
void p07(Lab& lab) {
  lab.need_widgets();
  lab.post(lab.widgets(), lab.widget("w", {{"size", 2}}));
  expect(lab.strategic(lab.widgets() + "/w", {{"spec", {{"size", 3}}}}), 415, "UnsupportedMediaType");
}
void p08(Lab& lab) {
  lab.post(lab.maps(), lab.config_map("x"));
  expect(lab.patch(lab.maps() + "/x", "application/foo", "{}"), 415, "UnsupportedMediaType");
}
void p09(Lab& lab) { expect(lab.merge(lab.maps() + "/x", {{"data", {{"a", "2"}}}}), 404, "NotFound"); }
void p10(Lab& lab) {
  const Json made = lab.post(lab.maps(), lab.config_map("x")).json();
  lab.merge(lab.maps() + "/x", {{"data", {{"a", "2"}}}});
  expect(lab.merge(lab.maps() + "/x", {{"metadata", {{"resourceVersion", resource_version_of(made)}}}, {"data", {{"a", "3"}}}}),
         409, "Conflict");
}

void o01(Lab& lab) {
  const auto answer = lab.post(lab.maps() + "?dryRun=All", lab.config_map("x"));
  expect(answer, 201);
  EXPECT_FALSE(uid_of(answer.json()).empty());
  expect(lab.get(lab.maps() + "/x"), 404);
}
void o02(Lab& lab) { expect(lab.post(lab.maps() + "?dryRun=x", lab.config_map("x")), 422, "Invalid"); }
Json odd_deployment(Lab& lab) {
  Json out = lab.deployment("d");
  out["spec"]["foo"] = 1;
  return out;
}
void o03(Lab& lab) {
  const auto answer = lab.post(lab.apps("deployments") + "?fieldValidation=Strict", odd_deployment(lab));
  expect(answer, 400, "BadRequest");
  EXPECT_NE(answer.message().find("unknown field \"spec.foo\""), std::string::npos) << answer.message();
}
void o04(Lab& lab) {
  const auto answer = lab.post(lab.apps("deployments") + "?fieldValidation=Warn", odd_deployment(lab));
  expect(answer, 201);
  ASSERT_TRUE(answer.headers.contains("warning"));
  EXPECT_EQ(answer.headers.at("warning").find("299 "), 0U);
}
void o05(Lab& lab) {
  const auto answer = lab.post(lab.apps("deployments") + "?fieldValidation=Ignore", odd_deployment(lab));
  expect(answer, 201);
  EXPECT_FALSE(answer.headers.contains("warning"));
  EXPECT_FALSE(object_at(answer.json(), {"spec"}).contains("foo"));
}
void o06(Lab& lab) {
  lab.need_widgets();
  expect(lab.post(lab.widgets() + "?fieldValidation=Strict", lab.widget("w", {{"odd", 1}})), 400, "BadRequest");
}
void o07(Lab& lab) {
  expect(lab.post(lab.maps() + "?fieldManager=" + std::string(129, 'm'), lab.config_map("x")), 422, "Invalid");
}
void o08(Lab& lab) {
  const auto answer = lab.send(
      {.method = "POST", .path = lab.maps(), .body = dump_json(lab.config_map("x")), .headers = {"User-Agent: foo/1.0"}});
  expect(answer, 201);
  EXPECT_FALSE(fields_of(answer.json(), "foo", "Update").is_null()) << answer.body;
}

void s01(Lab& lab) {
  const auto answer = lab.apply(lab.maps() + "/x", lab.config_map("x"), "m1");
  expect(answer, 201);
  EXPECT_FALSE(fields_of(answer.json(), "m1", "Apply").is_null()) << answer.body;
}
void s02(Lab& lab) {
  expect(lab.patch(lab.maps() + "/x", "application/apply-patch+yaml", dump_json(lab.config_map("x"))), 422, "Invalid");
}
void s03(Lab& lab) {
  lab.post(lab.maps(), lab.config_map("x"));
  expect(lab.merge(lab.maps() + "/x?force=true", {{"data", {{"a", "2"}}}}), 422, "Invalid");
}
void s04(Lab& lab) {
  lab.apply(lab.maps() + "/x", lab.config_map("x"), "m1");
  const auto answer = lab.apply(lab.maps() + "/x", lab.config_map("x", {{"a", "2"}}), "m2");
  expect(answer, 409, "Conflict");
  EXPECT_TRUE(has_cause(answer, "FieldManagerConflict"));
  EXPECT_TRUE(has_cause(answer, ".data.a"));
}
void s05(Lab& lab) {
  lab.apply(lab.maps() + "/x", lab.config_map("x"), "m1");
  const auto answer = lab.apply(lab.maps() + "/x", lab.config_map("x", {{"a", "2"}}), "m2", true);
  expect(answer, 200);
  EXPECT_EQ(str(answer.json(), {"data", "a"}), "2");
  EXPECT_TRUE(fields_of(answer.json(), "m1", "Apply").is_null());
}
void s06(Lab& lab) {
  lab.apply(lab.maps() + "/x", lab.config_map("x"), "m1");
  const auto answer = lab.apply(lab.maps() + "/x", lab.config_map("x"), "m2");
  expect(answer, 200);
  for (const char* manager : {"m1", "m2"}) EXPECT_FALSE(fields_of(answer.json(), manager, "Apply").is_null()) << manager;
}
void s07(Lab& lab) {
  lab.apply(lab.maps() + "/x", lab.config_map("x", {{"a", "1"}, {"b", "2"}}), "m1");
  const auto answer = lab.apply(lab.maps() + "/x", lab.config_map("x", {{"a", "1"}}), "m1");
  expect(answer, 200);
  EXPECT_EQ(object_at(answer.json(), {"data"}), (Json{{"a", "1"}}));
}
void s08(Lab& lab) {
  lab.apply(lab.maps() + "/x", lab.config_map("x", {{"a", "1"}, {"b", "2"}}), "m1");
  lab.apply(lab.maps() + "/x", lab.config_map("x", {{"b", "2"}}), "m2");
  const auto answer = lab.apply(lab.maps() + "/x", lab.config_map("x", {{"a", "1"}}), "m1");
  expect(answer, 200);
  EXPECT_EQ(str(answer.json(), {"data", "b"}), "2");
}
void s09(Lab& lab) {
  lab.post(lab.apps("deployments"), lab.deployment("d"));
  const Json containers = Json::array({{{"name", "three"}, {"image", "example.com/three:1"}}});
  const Json intent = {{"apiVersion", "apps/v1"},
                       {"kind", "Deployment"},
                       {"metadata", {{"name", "d"}}},
                       {"spec", {{"template", {{"spec", {{"containers", containers}}}}}}}};
  const auto answer = lab.apply(lab.apps("deployments") + "/d", intent, "m1");
  expect(answer, 200);
  EXPECT_EQ(containers_of(answer.json()), (std::vector<std::string>{"one", "three", "two"}));
}
void s10(Lab& lab) {
  const Json first = lab.apply(lab.maps() + "/x", lab.config_map("x"), "m1").json();
  const auto again = lab.apply(lab.maps() + "/x", lab.config_map("x"), "m1");
  expect(again, 200);
  EXPECT_EQ(resource_version_of(again.json()), resource_version_of(first));
}
void s11(Lab& lab) {
  Json intent = lab.config_map("x");
  intent["metadata"]["managedFields"] = Json::array({{{"manager", "m1"},
                                                      {"operation", "Apply"},
                                                      {"apiVersion", "v1"},
                                                      {"fieldsType", "FieldsV1"},
                                                      {"fieldsV1", Json::object()}}});
  expect(lab.apply(lab.maps() + "/x", intent, "m1"), 400, "BadRequest");
}
void s12(Lab& lab) {
  lab.apply(lab.maps() + "/x", lab.config_map("x"), "m1");
  Json intent = lab.config_map("x", {{"a", "2"}});
  intent["metadata"]["resourceVersion"] = "1";
  expect(lab.apply(lab.maps() + "/x", intent, "m1"), 409, "Conflict");
}
void s13(Lab& lab) {
  Json made = lab.apply(lab.maps() + "/x", lab.config_map("x"), "m1").json();
  made["metadata"]["managedFields"] = Json::array({Json::object()});
  const auto answer = lab.put(lab.maps() + "/x", made);
  expect(answer, 200);
  EXPECT_TRUE(list_at(answer.json(), {"metadata", "managedFields"}).empty()) << answer.body;
}
void s14(Lab& lab) {
  const auto answer = lab.apply(lab.apps("deployments") + "/d", odd_deployment(lab), "m1");
  EXPECT_GE(answer.status, 400);
  EXPECT_NE(answer.message().find("field not declared in schema"), std::string::npos) << answer.body;
}

}  // namespace

std::vector<Check> patch_checks() {
  return {{"P01", "merge patch", p01},
          {"P02", "JSON patch", p02},
          {"P03", "JSON patch test fails", p03},
          {"P04", "JSON patch malformed", p04},
          {"P05", "strategic list", p05},
          {"P06", "strategic delete", p06},
          {"P07", "strategic on a custom resource", p07},
          {"P08", "unknown patch type", p08},
          {"P09", "patch of a missing object", p09},
          {"P10", "patch with a stale version", p10},
          {"O01", "dry-run create", o01},
          {"O02", "bad dryRun", o02},
          {"O03", "strict unknown field", o03},
          {"O04", "warned unknown field", o04},
          {"O05", "ignored unknown field", o05},
          {"O06", "strict custom resource", o06},
          {"O07", "manager too long", o07},
          {"O08", "default manager", o08},
          {"S01", "apply creates", s01},
          {"S02", "manager required", s02},
          {"S03", "force on a merge patch", s03},
          {"S04", "conflict", s04},
          {"S05", "force", s05},
          {"S06", "shared field", s06},
          {"S07", "removal", s07},
          {"S08", "co-owned removal", s08},
          {"S09", "list map", s09},
          {"S10", "apply that changes nothing", s10},
          {"S11", "managedFields in the intent", s11},
          {"S12", "apply with a version", s12},
          {"S13", "reset of managedFields", s13},
          {"S14", "undeclared field", s14}};
}

}  // namespace fleetadm::conformance
