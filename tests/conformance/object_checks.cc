// C, U, E: creates, updates, leases and events.
#include <gtest/gtest.h>
#include <regex>

#include "tests/conformance/lab.h"

namespace fleetadm::conformance {
namespace {

void c01(Lab& lab) {
  const auto answer = lab.post(lab.maps(), lab.config_map("x"));
  expect(answer, 201);
  const Json made = answer.json();
  EXPECT_FALSE(uid_of(made).empty());
  EXPECT_EQ(str(made, {"metadata", "creationTimestamp"}).back(), 'Z');
  EXPECT_FALSE(resource_version_of(made).empty());
}
void c02(Lab& lab) {
  Json body = lab.config_map("x");
  body["metadata"]["uid"] = "11111111-1111-4111-8111-111111111111";
  body["metadata"]["creationTimestamp"] = "2001-01-01T00:00:00Z";
  const auto answer = lab.post(lab.maps(), body);
  expect(answer, 201);
  EXPECT_NE(uid_of(answer.json()), "11111111-1111-4111-8111-111111111111");
  EXPECT_NE(str(answer.json(), {"metadata", "creationTimestamp"}), "2001-01-01T00:00:00Z");
}
void c03(Lab& lab) {
  Json body = lab.config_map("x");
  body["metadata"]["resourceVersion"] = "5";
  const auto answer = lab.post(lab.maps(), body);
  EXPECT_GE(answer.status, 400);
  EXPECT_NE(answer.message().find("resourceVersion should not be set"), std::string::npos);
}
void c04(Lab& lab) {
  lab.post(lab.maps(), lab.config_map("x"));
  const auto answer = lab.post(lab.maps(), lab.config_map("x"));
  expect(answer, 409, "AlreadyExists");
  EXPECT_EQ(str(answer.json(), {"details", "kind"}), "configmaps");
}
void c05(Lab& lab) {
  Json body = lab.config_map("x");
  body["metadata"].erase("namespace");
  const auto answer = lab.post("/api/v1/namespaces/" + lab.ns() + "-absent/configmaps", body);
  expect(answer, 404, "NotFound");
  EXPECT_EQ(str(answer.json(), {"details", "kind"}), "namespaces");
}
void c06(Lab& lab) {
  Json body = lab.config_map("x");
  body["metadata"]["namespace"] = "default";
  expect(lab.post(lab.maps(), body), 400, "BadRequest");
}
void c07(Lab& lab) {
  const auto answer = lab.post(lab.maps(), lab.config_map("Bad_Name"));
  expect(answer, 422, "Invalid");
  EXPECT_TRUE(has_cause(answer, "metadata.name"));
}
void c08(Lab& lab) {
  const auto answer = lab.post(lab.maps(), {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", Json::object()}});
  expect(answer, 422, "Invalid");
  EXPECT_TRUE(has_cause(answer, "FieldValueRequired"));
}
void c09(Lab& lab) {
  const auto answer = lab.post(lab.maps(), {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"generateName", "g-"}}}});
  expect(answer, 201);
  EXPECT_TRUE(std::regex_match(name_of(answer.json()), std::regex("^g-[bcdfghjklmnpqrstvwxz2456789]{5}$")))
      << name_of(answer.json());
}
void c10(Lab& lab) {
  Json body = lab.config_map("x");
  body["apiVersion"] = "apps/v1";
  expect(lab.post(lab.maps(), body), 400, "BadRequest");
}
void c11(Lab& lab) { expect(lab.send({.method = "POST", .path = lab.maps(), .body = "{"}), 400, "BadRequest"); }
void c12(Lab& lab) {
  const auto answer = lab.get(lab.maps() + "/x");
  expect(answer, 404, "NotFound");
  EXPECT_EQ(answer.message(), "configmaps \"x\" not found");
}

Json made_map(Lab& lab, const std::string& name = "x") { return lab.post(lab.maps(), lab.config_map(name)).json(); }
void u01(Lab& lab) {
  Json old = made_map(lab);
  Json body = old;
  body["data"]["a"] = "2";
  expect(lab.put(lab.maps() + "/x", body), 200);
  old["data"]["a"] = "3";
  expect(lab.put(lab.maps() + "/x", old), 409, "Conflict");
}
void u02(Lab& lab) {
  made_map(lab);
  const auto answer = lab.put(lab.maps() + "/x", lab.config_map("x", {{"a", "2"}}));
  expect(answer, 200);
  EXPECT_EQ(str(answer.json(), {"data", "a"}), "2");
}
void u03(Lab& lab) {
  lab.need_widgets();
  expect(lab.post(lab.widgets(), lab.widget("w", {{"size", 2}})), 201);
  const auto answer = lab.put(lab.widgets() + "/w", lab.widget("w", {{"size", 3}}));
  expect(answer, 422, "Invalid");
  EXPECT_TRUE(has_cause(answer, "metadata.resourceVersion"));
}
void u04(Lab& lab) {
  const Json made = made_map(lab);
  const auto answer = lab.put(lab.maps() + "/x", made);
  expect(answer, 200);
  EXPECT_EQ(resource_version_of(answer.json()), resource_version_of(made));
  // Of this object alone: a new namespace gets its kube-root-ca.crt at any time.
  const auto watch = lab.get(
      lab.maps() + "?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dx&resourceVersion=" + resource_version_of(made));
  EXPECT_TRUE(watch.events().empty()) << watch.body;
}
void u05(Lab& lab) { expect(lab.put(lab.maps() + "/x", lab.config_map("x")), 404, "NotFound"); }
std::string leases(Lab& lab) { return "/apis/coordination.k8s.io/v1/namespaces/" + lab.ns() + "/leases"; }
Json lease(const std::string& name) {
  return {{"apiVersion", "coordination.k8s.io/v1"},
          {"kind", "Lease"},
          {"metadata", {{"name", name}}},
          {"spec", {{"holderIdentity", "me"}, {"leaseDurationSeconds", 15}, {"renewTime", "2026-01-02T03:04:05.100000Z"}}}};
}
void u06(Lab& lab) { expect(lab.put(leases(lab) + "/l", lease("l")), 201); }
void u07(Lab& lab) {
  made_map(lab);
  expect(lab.put(lab.maps() + "/x", lab.config_map("y")), 400, "BadRequest");
}
void u08(Lab& lab) {
  made_map(lab);
  Json body = lab.config_map("x");
  body["metadata"]["uid"] = "11111111-1111-4111-8111-111111111111";
  expect(lab.put(lab.maps() + "/x", body), 409, "Conflict");
}
void u09(Lab& lab) {
  const Json made = made_map(lab);
  Json body = made;
  body["metadata"]["creationTimestamp"] = "2001-01-01T00:00:00Z";
  const auto answer = lab.put(lab.maps() + "/x", body);
  expect(answer, 200);
  EXPECT_EQ(str(answer.json(), {"metadata", "creationTimestamp"}), str(made, {"metadata", "creationTimestamp"}));
}
void u10(Lab& lab) {
  Json body = lab.config_map("x");
  body["immutable"] = true;
  lab.post(lab.maps(), body);
  body["data"]["a"] = "2";
  const auto answer = lab.put(lab.maps() + "/x", body);
  expect(answer, 422, "Invalid");
  EXPECT_TRUE(has_cause(answer, "FieldValueForbidden"));
}

void e01(Lab& lab) {
  const Json made = lab.post(leases(lab), lease("l")).json();
  Json body = made;
  body["spec"]["holderIdentity"] = "a";
  expect(lab.put(leases(lab) + "/l", body), 200);
  body["spec"]["holderIdentity"] = "b";
  expect(lab.put(leases(lab) + "/l", body), 409, "Conflict");
}
void e02(Lab& lab) {
  EXPECT_EQ(str(lab.post(leases(lab), lease("l")).json(), {"spec", "renewTime"}), "2026-01-02T03:04:05.100000Z");
}
Json event(Lab& lab, const std::string& name, const std::string& about) {
  return {{"apiVersion", "v1"},
          {"kind", "Event"},
          {"metadata", {{"name", name}}},
          {"involvedObject", {{"kind", "ConfigMap"}, {"namespace", lab.ns()}, {"name", about}}},
          {"reason", "Tested"},
          {"message", "hello"},
          {"type", "Normal"},
          {"source", {{"component", "conformance"}}}};
}
void e03(Lab& lab) {
  const auto made = lab.post(lab.core("events"), event(lab, "e", "x"));
  expect(made, 201);
  const Json seen = lab.get("/apis/events.k8s.io/v1/namespaces/" + lab.ns() + "/events/e").json();
  EXPECT_EQ(uid_of(seen), uid_of(made.json()));
  EXPECT_EQ(str(seen, {"regarding", "name"}), "x");
  EXPECT_EQ(str(seen, {"note"}), "hello");
}
void e04(Lab& lab) {
  lab.post(lab.core("events"), event(lab, "e1", "x"));
  lab.post(lab.core("events"), event(lab, "e2", "y"));
  const Json list = lab.get(lab.core("events") + "?fieldSelector=involvedObject.name%3Dy").json();
  ASSERT_EQ(list_at(list, {"items"}).size(), 1U);
  EXPECT_EQ(name_of(list_at(list, {"items"})[0]), "e2");
}

}  // namespace

std::vector<Check> object_checks() {
  return {{"C01", "create", c01},
          {"C02", "client metadata ignored", c02},
          {"C03", "create with resourceVersion", c03},
          {"C04", "duplicate", c04},
          {"C05", "missing namespace", c05},
          {"C06", "namespace mismatch", c06},
          {"C07", "bad name", c07},
          {"C08", "no name", c08},
          {"C09", "generateName", c09},
          {"C10", "wrong apiVersion", c10},
          {"C11", "malformed JSON", c11},
          {"C12", "get missing", c12},
          {"U01", "stale PUT", u01},
          {"U02", "PUT without resourceVersion", u02},
          {"U03", "the same on a custom resource", u03},
          {"U04", "PUT that changes nothing", u04},
          {"U05", "PUT of a missing object", u05},
          {"U06", "PUT creates a Lease", u06},
          {"U07", "name mismatch", u07},
          {"U08", "uid mismatch", u08},
          {"U09", "immutable metadata", u09},
          {"U10", "immutable ConfigMap", u10},
          {"E01", "lease race", e01},
          {"E02", "micro time", e02},
          {"E03", "event views", e03},
          {"E04", "event selector", e04}};
}

}  // namespace fleetadm::conformance
