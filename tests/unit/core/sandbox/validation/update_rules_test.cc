// What updates may not change, as a client is told.
#include "core/sandbox/validation/update_rules.h"

#include "tests/unit/core/sandbox/controllers/lab.h"

namespace fleetadm::sandbox {
namespace {

class UpdateRules : public ControllerLab {
 protected:
  /// The causes' fields of a refused update.
  std::vector<std::string> fields(std::string_view group, std::string_view plural, const std::string& name,
                                  const std::function<void(Json&)>& change_it) {
    const auto row = kind(group, plural);
    const auto done = engine().modify(*row, row->namespaced ? "default" : "", name, as_controller("test"), false,
                                      [&](const Json* old) -> ApiResult<Json> {
                                        Json next = *old;
                                        change_it(next);
                                        return next;
                                      });
    std::vector<std::string> out;
    if (done) return out;
    EXPECT_EQ(done.error().code, 422) << done.error().message;
    for (const Json& cause : list_at(done.error().details, {"causes"})) out.push_back(str(cause, {"field"}));
    return out;
  }
  static std::function<void(Json&)> set(std::vector<std::string> path, Json value) {
    return [path = std::move(path), value = std::move(value)](Json& object) {
      Json* at = &object;
      for (const auto& key : path) at = &(*at)[key];
      *at = value;
    };
  }
};
using Fields = std::vector<std::string>;

TEST_F(UpdateRules, AJobKeepsWhatItsPodsAreMadeOf) {
  make("batch", "jobs", job("j", {{"completions", 2}}));
  EXPECT_EQ(fields("batch", "jobs", "j", set({"spec", "completions"}, 3)), Fields{"spec.completions"});
  EXPECT_EQ(fields("batch", "jobs", "j", set({"spec", "template", "spec", "hostname"}, "x")), Fields{"spec.template"});
  EXPECT_EQ(fields("batch", "jobs", "j", set({"spec", "template", "spec", "nodeSelector"}, {{"a", "b"}})),
            Fields{"spec.template"});
  EXPECT_EQ(fields("batch", "jobs", "j",
                   [](Json& next) {
                     erase_at(next, {"spec", "selector"});
                   }),
            (Fields{"spec.selector", "spec.template.metadata.labels", "spec.selector"}));
  EXPECT_EQ(fields("batch", "jobs", "j", set({"spec", "parallelism"}, 2)), Fields{});
  EXPECT_NE(refusal("batch", "jobs", "j", set({"spec", "template", "spec", "hostname"}, "x")).find("field is immutable"),
            std::string::npos);
}

TEST_F(UpdateRules, AJobThatNeverRanMayBeToldWhereItsPodsGo) {
  make("batch", "jobs", job("j", {{"suspend", true}}));
  EXPECT_EQ(fields("batch", "jobs", "j", set({"spec", "template", "spec", "nodeSelector"}, {{"a", "b"}})), Fields{});
  const Json affinity = {{"nodeAffinity", {{"preferredDuringSchedulingIgnoredDuringExecution", Json::array()}}}};
  EXPECT_EQ(fields("batch", "jobs", "j", set({"spec", "template", "spec", "affinity"}, affinity)), Fields{});
  EXPECT_EQ(fields("batch", "jobs", "j", [](Json& next) { next["spec"]["template"]["spec"]["containers"][0]["image"] = "x:2"; }),
            Fields{"spec.template"});
}

TEST_F(UpdateRules, AnIndexedJobGrowsInBothNumbersAtOnce) {
  make("batch", "jobs", job("j", {{"completionMode", "Indexed"}, {"completions", 2}, {"parallelism", 2}}));
  EXPECT_EQ(fields("batch", "jobs", "j", set({"spec", "completions"}, 3)), Fields{"spec.completions"});
  EXPECT_EQ(fields("batch", "jobs", "j", [](Json& next) { next["spec"]["completions"] = next["spec"]["parallelism"] = 3; }),
            Fields{});
}

TEST_F(UpdateRules, WorkloadsKeepTheirSelectors) {
  for (const char* plural : {"deployments", "replicasets", "daemonsets"}) {
    make("apps", plural, workload("w"));
    const auto other = [](Json& next) {
      next["spec"]["selector"]["matchLabels"] = {{"app", "v"}};
      next["spec"]["template"]["metadata"]["labels"] = {{"app", "v"}};
    };
    EXPECT_EQ(fields("apps", plural, "w", other), Fields{"spec.selector"}) << plural;
    EXPECT_EQ(fields("apps", plural, "w", set({"spec", "template", "spec", "hostname"}, "x")), Fields{}) << plural;
  }
  make("apps", "statefulsets", workload("s", {{"serviceName", "s"}}));
  EXPECT_EQ(fields("apps", "statefulsets", "s", set({"spec", "serviceName"}, "t")), Fields{"spec"});
  EXPECT_EQ(fields("apps", "statefulsets", "s", set({"spec", "minReadySeconds"}, 3)), Fields{});
}

TEST_F(UpdateRules, APodChangesItsImageAndLittleElse) {
  make("", "pods", {{"metadata", {{"name", "p"}}}, {"spec", pod_spec()}});
  EXPECT_EQ(fields("", "pods", "p", [](Json& next) { next["spec"]["containers"][0]["image"] = "x:2"; }), Fields{});
  EXPECT_EQ(fields("", "pods", "p", set({"spec", "activeDeadlineSeconds"}, 60)), Fields{});
  EXPECT_EQ(fields("", "pods", "p", set({"spec", "activeDeadlineSeconds"}, 61)), Fields{"spec.activeDeadlineSeconds"});
  const Json toleration = {{"key", "a"}, {"operator", "Exists"}, {"tolerationSeconds", 5}};
  EXPECT_EQ(fields("", "pods", "p", [&](Json& next) { next["spec"]["tolerations"].push_back(toleration); }), Fields{});
  EXPECT_EQ(fields("", "pods", "p", set({"spec", "tolerations"}, Json::array())), Fields{"spec.tolerations"});
  EXPECT_EQ(fields("", "pods", "p", set({"spec", "nodeName"}, "n")), Fields{"spec"});
  EXPECT_EQ(fields("", "pods", "p",
                   [](Json& next) {
                     next["spec"]["containers"].push_back({{"name", "d"}, {"image", "y"}});
                   }),
            Fields{"spec.containers"});
  EXPECT_EQ(fields("", "pods", "p", set({"metadata", "labels"}, {{"a", "b"}})), Fields{});
  auto binding = as_controller("test");
  binding.admitted_as = "binding";
  EXPECT_TRUE(engine().modify(*kind("", "pods"), "default", "p", binding, false, [](const Json* old) -> ApiResult<Json> {
    Json next = *old;
    next["spec"]["nodeName"] = "n";
    return next;
  }));
}

TEST_F(UpdateRules, AServiceKeepsItsAddress) {
  make("", "services", {{"metadata", {{"name", "s"}}}, {"spec", {{"ports", Json::array({{{"port", 80}}})}}}});
  const auto address = str(get("", "services", "s"), {"spec", "clusterIP"});
  ASSERT_FALSE(address.empty());
  EXPECT_EQ(fields("", "services", "s", set({"spec", "clusterIP"}, "10.96.1.1")), Fields{"spec.clusterIPs[0]"});
  EXPECT_EQ(fields("", "services", "s", [](Json& next) { next["spec"] = {{"ports", Json::array({{{"port", 81}}})}}; }), Fields{});
  EXPECT_EQ(str(get("", "services", "s"), {"spec", "clusterIP"}), address) << "left out is not taken away";
  EXPECT_EQ(list_at(get("", "services", "s"), {"spec", "clusterIPs"}).size(), 1U);
  EXPECT_EQ(fields("", "services", "s",
                   [](Json& next) {
                     next["spec"]["type"] = "ExternalName";
                     next["spec"]["externalName"] = "example.com";
                   }),
            Fields{});
  EXPECT_FALSE(object_at(get("", "services", "s"), {"spec"}).contains("clusterIP"));
}

TEST_F(UpdateRules, ClaimsVolumesAndClassesStayWhatTheyAre) {
  const Json claim = {{"accessModes", Json::array({"ReadWriteOnce"})}, {"resources", {{"requests", {{"storage", "1Gi"}}}}}};
  make("", "persistentvolumeclaims", {{"metadata", {{"name", "c"}}}, {"spec", claim}});
  EXPECT_EQ(fields("", "persistentvolumeclaims", "c", set({"spec", "volumeName"}, "v")), Fields{});
  EXPECT_EQ(fields("", "persistentvolumeclaims", "c", set({"spec", "volumeName"}, "w")), Fields{"spec"});
  EXPECT_EQ(fields("", "persistentvolumeclaims", "c", set({"spec", "resources", "requests", "storage"}, "2Gi")), Fields{"spec"});
  edit("", "persistentvolumeclaims", "c", set({"status", "phase"}, "Bound"), "status");
  EXPECT_EQ(fields("", "persistentvolumeclaims", "c", set({"spec", "resources", "requests", "storage"}, "2Gi")), Fields{});
  make("", "persistentvolumes", {{"metadata", {{"name", "v"}}}, {"spec", {{"hostPath", {{"path", "/a"}}}}}});
  EXPECT_EQ(fields("", "persistentvolumes", "v", set({"spec", "hostPath", "path"}, "/b")), Fields{"spec.persistentvolumesource"});
  make("storage.k8s.io", "storageclasses", {{"metadata", {{"name", "k"}}}, {"provisioner", "a.example.com"}});
  EXPECT_EQ(fields("storage.k8s.io", "storageclasses", "k", set({"provisioner"}, "b.example.com")), Fields{"provisioner"});
  make("scheduling.k8s.io", "priorityclasses", {{"metadata", {{"name", "k"}}}, {"value", 5}});
  EXPECT_EQ(fields("scheduling.k8s.io", "priorityclasses", "k", set({"value"}, 6)), Fields{"value"});
  EXPECT_EQ(fields("scheduling.k8s.io", "priorityclasses", "k", set({"description"}, "more")), Fields{});
}

}  // namespace
}  // namespace fleetadm::sandbox
