#include "core/sandbox/fleet/load.h"

#include <gtest/gtest.h>
#include <thread>

#include "core/sandbox/fleet/cluster.h"
#include "kubeclient/base/yaml.h"

namespace fleetadm::sandbox {
namespace {

constexpr const char* kDump = R"(
apiVersion: v1
kind: List
items:
- apiVersion: example.com/v1
  kind: Widget
  metadata: {name: w, namespace: apps, uid: 00000000-0000-0000-0000-000000000003, creationTimestamp: "2020-01-01T00:00:00Z", generation: 7, resourceVersion: "99"}
  spec: {size: 4}
  status: {phase: Ready}
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: owned
    namespace: apps
    uid: 00000000-0000-0000-0000-000000000004
    ownerReferences:
    - {apiVersion: v1, kind: ConfigMap, name: owner, uid: 00000000-0000-0000-0000-000000000005}
    - {apiVersion: v1, kind: ConfigMap, name: nobody, uid: 00000000-0000-0000-0000-000000000006}
  data: {a: "1"}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: owner, namespace: apps, uid: 00000000-0000-0000-0000-000000000005}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: kube-root-ca.crt, namespace: apps}
  data: {ca.crt: another}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: going, namespace: apps, deletionTimestamp: "2020-01-01T00:00:00Z"}
- apiVersion: v1
  kind: Namespace
  metadata: {name: apps, uid: 00000000-0000-0000-0000-000000000002, creationTimestamp: "2019-01-01T00:00:00Z"}
  spec: {finalizers: [kubernetes]}
  status: {phase: Active}
- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: {name: widgets.example.com, uid: 00000000-0000-0000-0000-000000000001}
  spec:
    group: example.com
    scope: Namespaced
    names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
    versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}, status: {type: object, properties: {phase: {type: string}}}}}}
- apiVersion: nobody.example.com/v1
  kind: Unknown
  metadata: {name: u}
)";

class Load : public testing::Test {
 protected:
  void SetUp() override {
    auto started = Cluster::start(runtime_, {.name = "c1"});
    ASSERT_TRUE(started) << started.error().message;
    cluster_ = std::move(*started);
  }
  void TearDown() override {
    cluster_.reset();
    runtime_.stop();
  }
  Json load(const std::string& text) {
    Json objects = Json::array();
    const auto documents = parse_yaml_documents(text);
    EXPECT_TRUE(documents);
    for (const auto& document : *documents) objects.push_back(document.value);
    const auto done = load_objects(cluster_->api().engine(), objects);
    EXPECT_TRUE(done) << (done ? "" : done.error().message);
    return done ? *done : Json();
  }
  Json get(std::string_view group, std::string_view plural, const std::string& ns, const std::string& name) {
    auto& engine = cluster_->api().engine();
    const auto kind = engine.kinds().find_plural(group, plural);
    if (!kind) return {};
    const auto found = engine.get(*kind, ns, name);
    return found ? *found : Json();
  }

  serve::HttpRuntime runtime_{2};
  std::unique_ptr<Cluster> cluster_;
};

TEST_F(Load, KeepsWhoObjectsAreAndWhatTheirStatusWas) {
  const auto done = load(kDump);
  EXPECT_EQ(num(done, {"created"}), 5) << dump_json(done);
  EXPECT_EQ(list_at(done, {"skipped"}).size(), 2U) << dump_json(done);
  ASSERT_EQ(list_at(done, {"failed"}).size(), 1U) << dump_json(done);
  EXPECT_EQ(str(list_at(done, {"failed"}).front(), {"object"}), "Unknown u");
  const Json widget = get("example.com", "widgets", "apps", "w");
  EXPECT_EQ(uid_of(widget), "00000000-0000-0000-0000-000000000003");
  EXPECT_EQ(str(widget, {"metadata", "creationTimestamp"}), "2020-01-01T00:00:00Z");
  EXPECT_EQ(num(widget, {"metadata", "generation"}), 7);
  EXPECT_NE(resource_version_of(widget), "99");
  EXPECT_EQ(str(widget, {"status", "phase"}), "Ready");
  EXPECT_EQ(uid_of(get("", "namespaces", "", "apps")), "00000000-0000-0000-0000-000000000002");
  const Json owned = get("", "configmaps", "apps", "owned");
  const Json owners = list_at(owned, {"metadata", "ownerReferences"});
  ASSERT_EQ(owners.size(), 1U);
  EXPECT_EQ(str(owners.front(), {"name"}), "owner");
  EXPECT_NE(str(get("", "configmaps", "apps", "kube-root-ca.crt"), {"data", "ca.crt"}), "another");
}

TEST_F(Load, ChangesNothingWhenDoneAgain) {
  load(kDump);
  while (!cluster_->settled()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const auto revision = cluster_->api().engine().store().revision();
  const auto again = load(kDump);
  EXPECT_EQ(num(again, {"unchanged"}), 5) << dump_json(again);
  EXPECT_EQ(num(again, {"created"}) + num(again, {"updated"}), 0) << dump_json(again);
  EXPECT_EQ(cluster_->api().engine().store().revision(), revision);
}

TEST_F(Load, MakesWhatExistsTheSameAndLetsOwnersFollow) {
  load(R"(
apiVersion: v1
kind: Namespace
metadata: {name: apps}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: owner, namespace: apps}
data: {old: value}
)");
  const auto uid = uid_of(get("", "configmaps", "apps", "owner"));
  const auto done = load(R"(
apiVersion: v1
kind: ConfigMap
metadata:
  name: owned
  namespace: apps
  uid: 10000000-0000-0000-0000-000000000001
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: 10000000-0000-0000-0000-000000000002}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: owner, namespace: apps, uid: 10000000-0000-0000-0000-000000000002}
data: {new: value}
)");
  EXPECT_EQ(num(done, {"created"}), 1) << dump_json(done);
  EXPECT_EQ(num(done, {"updated"}), 1) << dump_json(done);
  const Json owner = get("", "configmaps", "apps", "owner");
  EXPECT_EQ(uid_of(owner), uid);
  EXPECT_EQ(object_at(owner, {"data"}), Json({{"new", "value"}}));
  const Json owners = list_at(get("", "configmaps", "apps", "owned"), {"metadata", "ownerReferences"});
  ASSERT_EQ(owners.size(), 1U);
  EXPECT_EQ(str(owners.front(), {"uid"}), uid);
}

TEST_F(Load, RefusesWhatIsNoDump) {
  for (const Json& bad :
       {Json::array({1}), Json::array({{{"kind", "ConfigMap"}}}), Json::array({{{"apiVersion", "v1"}, {"kind", "ConfigMap"}}})}) {
    EXPECT_FALSE(load_objects(cluster_->api().engine(), bad)) << dump_json(bad);
  }
}

}  // namespace
}  // namespace fleetadm::sandbox
