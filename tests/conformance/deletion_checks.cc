// X: deletion, finalizers, garbage collection, namespaces.
#include <algorithm>
#include <gtest/gtest.h>

#include "tests/conformance/lab.h"

namespace fleetadm::conformance {
namespace {

Json with_finalizer(Lab& lab, const std::string& name) {
  Json out = lab.config_map(name);
  out["metadata"]["finalizers"] = {"conf.example.com/hold"};
  return out;
}
void release(Lab& lab, const std::string& path) { lab.merge(path, {{"metadata", {{"finalizers", nullptr}}}}); }

void x01(Lab& lab) {
  const Json made = lab.post(lab.maps(), lab.config_map("x")).json();
  const auto answer = lab.remove(lab.maps() + "/x");
  expect(answer, 200);
  EXPECT_EQ(str(answer.json(), {"status"}), "Success");
  EXPECT_EQ(str(answer.json(), {"details", "uid"}), uid_of(made));
}
void x02(Lab& lab) {
  lab.post(lab.core("serviceaccounts"), {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "x"}}}});
  const auto answer = lab.remove(lab.core("serviceaccounts") + "/x");
  expect(answer, 200);
  EXPECT_EQ(str(answer.json(), {"kind"}), "ServiceAccount");
}
void x03(Lab& lab) {
  lab.post(lab.maps(), with_finalizer(lab, "x"));
  const auto answer = lab.remove(lab.maps() + "/x");
  expect(answer, 200);
  EXPECT_TRUE(is_deleting(answer.json()));
  EXPECT_EQ(num(answer.json(), {"metadata", "deletionGracePeriodSeconds"}, -1), 0);
  expect(lab.get(lab.maps() + "/x"), 200);
  release(lab, lab.maps() + "/x");
}
void x04(Lab& lab) {
  lab.post(lab.maps(), with_finalizer(lab, "x"));
  lab.remove(lab.maps() + "/x");
  expect(lab.merge(lab.maps() + "/x", {{"metadata", {{"finalizers", nullptr}}}}), 200);
  expect(lab.get(lab.maps() + "/x"), 404);
}
void x05(Lab& lab) {
  lab.post(lab.maps(), with_finalizer(lab, "x"));
  lab.remove(lab.maps() + "/x");
  expect(lab.merge(lab.maps() + "/x", {{"metadata", {{"finalizers", {"conf.example.com/hold", "conf.example.com/more"}}}}}), 422,
         "Invalid");
  release(lab, lab.maps() + "/x");
}
void x06(Lab& lab) {
  lab.post(lab.maps(), with_finalizer(lab, "x"));
  lab.remove(lab.maps() + "/x");
  const auto answer = lab.post(lab.maps(), lab.config_map("x"));
  expect(answer, 409, "AlreadyExists");
  EXPECT_NE(answer.message().find("object is being deleted"), std::string::npos);
  release(lab, lab.maps() + "/x");
}
void x07(Lab& lab) {
  lab.post(lab.maps(), lab.config_map("x"));
  expect(lab.remove(lab.maps() + "/x", {{"preconditions", {{"uid", "11111111-1111-4111-8111-111111111111"}}}}), 409, "Conflict");
  expect(lab.get(lab.maps() + "/x"), 200);
}
void x08(Lab& lab) {
  for (const auto& [policy, finalizer] : {std::pair("Foreground", "foregroundDeletion"), std::pair("Orphan", "orphan")}) {
    const std::string name = policy == std::string("Orphan") ? "o" : "f";
    lab.post(lab.maps(), with_finalizer(lab, name));
    const auto answer = lab.remove(lab.maps() + "/" + name, {{"propagationPolicy", policy}});
    expect(answer, 200);
    const auto all = string_list_at(answer.json(), {"metadata", "finalizers"});
    EXPECT_NE(std::find(all.begin(), all.end(), finalizer), all.end()) << answer.body;
    release(lab, lab.maps() + "/" + name);
  }
}
void x09(Lab& lab) {
  lab.post(lab.maps(), lab.config_map("x"));
  expect(lab.remove(lab.maps() + "/x", {{"propagationPolicy", "Orphan"}, {"orphanDependents", true}}), 422, "Invalid");
}
void x10(Lab& lab) {
  Json labelled = lab.config_map("x");
  labelled["metadata"]["labels"] = {{"go", "yes"}};
  lab.post(lab.maps(), labelled);
  lab.post(lab.maps(), lab.config_map("y"));
  expect(lab.remove(lab.maps() + "?labelSelector=go%3Dyes"), 200);
  expect(lab.get(lab.maps() + "/x"), 404);
  expect(lab.get(lab.maps() + "/y"), 200);
}
void make_owned(Lab& lab) {
  const Json owner = lab.post(lab.maps(), lab.config_map("owner")).json();
  Json owned = lab.config_map("owned");
  owned["metadata"]["ownerReferences"] =
      Json::array({{{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"name", "owner"}, {"uid", uid_of(owner)}}});
  expect(lab.post(lab.maps(), owned), 201);
}
void x11(Lab& lab) {
  make_owned(lab);
  lab.remove(lab.maps() + "/owner", {{"propagationPolicy", "Background"}});
  EXPECT_TRUE(lab.eventually([&] { return lab.get(lab.maps() + "/owned").status == 404; }));
}
void x12(Lab& lab) {
  make_owned(lab);
  lab.remove(lab.maps() + "/owner", {{"propagationPolicy", "Orphan"}});
  EXPECT_TRUE(lab.eventually([&] { return lab.get(lab.maps() + "/owner").status == 404; }));
  const auto owned = lab.get(lab.maps() + "/owned");
  expect(owned, 200);
  EXPECT_TRUE(list_at(owned.json(), {"metadata", "ownerReferences"}).empty());
}
void x13(Lab& lab) { expect(lab.remove("/api/v1/namespaces/default"), 403, "Forbidden"); }
void x14(Lab& lab) {
  lab.post(lab.maps(), with_finalizer(lab, "x"));
  const auto path = "/api/v1/namespaces/" + lab.ns();
  const auto answer = lab.remove(path);
  expect(answer, 200);
  EXPECT_EQ(str(answer.json(), {"status", "phase"}), "Terminating");
  const auto refused = lab.post(lab.maps(), lab.config_map("y"));
  expect(refused, 403, "Forbidden");
  EXPECT_TRUE(has_cause(refused, "NamespaceTerminating"));
  EXPECT_TRUE(lab.eventually(
      [&] {
        release(lab, lab.maps() + "/x");
        return lab.get(path).status == 404;
      },
      60));
}
void x15(Lab& lab) {
  const Json ns = lab.get("/api/v1/namespaces/" + lab.ns()).json();
  EXPECT_EQ(label_of(ns, "kubernetes.io/metadata.name"), lab.ns());
  EXPECT_EQ(string_list_at(ns, {"spec", "finalizers"}), std::vector<std::string>{"kubernetes"});
}

}  // namespace

std::vector<Check> deletion_checks() {
  return {
      {"X01", "delete answers a Status", x01}, {"X02", "delete answers the object", x02}, {"X03", "finalizer", x03},
      {"X04", "last finalizer", x04},          {"X05", "no new finalizer", x05},          {"X06", "recreate while deleting", x06},
      {"X07", "uid precondition", x07},        {"X08", "policy finalizers", x08},         {"X09", "both policies", x09},
      {"X10", "delete collection", x10},       {"X11", "garbage, background", x11},       {"X12", "garbage, orphan", x12},
      {"X13", "protected namespace", x13},     {"X14", "namespace life cycle", x14},      {"X15", "namespace label", x15}};
}

}  // namespace fleetadm::conformance
