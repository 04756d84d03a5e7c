// What our hub and agent write for an add-on that is enabled by a placement, reconfigured and removed, held against what
// upstream's programs wrote for the same steps (recorded traces): the same verbs on the same objects, created objects of the same
// content, the same statuses in the end, and nothing refused. Every difference is listed here with its reason.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <set>

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/pki/pki.h"
#include "tests/e2e/traces.h"
#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

using Reasons = std::map<std::string, std::string>;

constexpr std::string_view kEnabled = R"(
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnTemplate
metadata: {name: hello}
spec:
  addonName: hello
  agentSpec:
    workload:
      manifests:
      - apiVersion: apps/v1
        kind: Deployment
        metadata: {name: hello-agent, namespace: default}
        spec:
          replicas: 1
          selector: {matchLabels: {app: hello}}
          template:
            metadata: {labels: {app: hello}}
            spec: {containers: [{name: c, image: "hello:1", args: ["--cluster={{CLUSTER_NAME}}", "--log={{LOG}}"]}]}
      - apiVersion: v1
        kind: ServiceAccount
        metadata: {name: hello-sa, namespace: default}
  registration:
  - type: KubeClient
    kubeClient: {hubPermissions: [{type: CurrentCluster, currentCluster: {clusterRoleName: view}}]}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnDeploymentConfig
metadata: {name: hello-config, namespace: apps}
spec: {customizedVariables: [{name: LOG, value: "4"}]}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata: {name: hello}
spec:
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: hello}}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs}
  installStrategy:
    type: Placements
    placements:
    - name: p
      namespace: apps
      rolloutStrategy: {type: All}
      configs:
      - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, name: hello-config, namespace: apps}
)";

constexpr std::string_view kTracedAddon =
    "/apis/addon.open-cluster-management.io/v1beta1/namespaces/c1/managedclusteraddons/hello";
constexpr std::string_view kTracedDeclaration = "/apis/addon.open-cluster-management.io/v1beta1/clustermanagementaddons/hello";
constexpr std::string_view kTracedWork =
    "/apis/work.open-cluster-management.io/v1/namespaces/c1/manifestworks/addon-hello-deploy-0";
constexpr std::string_view kTracedSecret = "/api/v1/namespaces/open-cluster-management-agent-addon/secrets/hello-hub-kubeconfig";

/// What is written or not as time will have it: events of the placement, which are sent a moment after what they tell, and the
/// deletion of a binding that the garbage collector deletes, too.
bool is_a_matter_of_time(const std::string& what) {
  return is_event_series(what) || what.find("events.k8s.io/v1/namespaces/apps/events") != std::string::npos ||
         what.find("delete /apis/rbac.authorization.k8s.io/v1/namespaces/c1/rolebindings/") != std::string::npos;
}

/// Writes of ours that upstream did not make. Of upstream's there is none that ours lack.
const Reasons& ours_alone() {
  static const Reasons reasons{
      {"spoke agent delete /api/v1/namespaces/open-cluster-management-agent-addon/secrets/hello-hub-kubeconfig-request",
       "the key of a request that is not answered yet is in a Secret of its own"},
      {"hub registration patch /apis/addon.open-cluster-management.io/clustermanagementaddons/hello",
       "a finished rollout is recorded as a revision, to which rollout undo returns"}};
  return reasons;
}

std::string masked(const std::string& text) {
  static const std::regex hash("[0-9a-f]{64}");
  return std::regex_replace(text, hash, "<hash>");
}

/// A status without times and hashes; conditions by type.
Json told_status(const Json& object) {
  Json status = *parse_json(masked(dump_json(object_at(object, {"status"}))));
  const auto by_type = [](Json& holder) {
    Json conditions = Json::object();
    for (const Json& one : list_at(holder, {"conditions"})) {
      const std::string type = str(one, {"type"});
      // The first is ours alone; upstream's agent, too, tells the second, but was refused in the recording.
      if (type == "work.fleetadm.io/Ready" || type == "ClusterCertificateRotated") continue;
      conditions[type] = {str(one, {"status"}), str(one, {"reason"}), str(one, {"message"})};
    }
    holder["conditions"] = std::move(conditions);
  };
  by_type(status);
  // No pods ran in the recording; here they do.
  status["conditions"].erase("Available");
  if (!list_at(status, {"installProgressions"}).empty()) {
    for (Json& one : status["installProgressions"]) by_type(one);
  }
  for (Json& manifest : at_or_make(status, {"resourceStatus", "manifests"})) {
    by_type(manifest);
    manifest.erase("statusFeedback");
  }
  if (Json& supported = at_or_make(status, {"supportedConfigs"}); supported.is_array())
    std::sort(supported.begin(), supported.end());
  status.erase("addOnMeta");  // an empty object of upstream's conversion
  return status;
}

/// What a created object says, without what differs from run to run.
Json told_creation(const Json& object) {
  Json told = meaning_of(object);
  if (str(object, {"kind"}) == "ManifestWork") {
    told["annotations"] = object_at(object, {"metadata", "annotations"});
    told["spec"] = object_at(object, {"spec"});
    // The recording has it as the server had filled it in.
    for (Json& config : told["spec"]["manifestConfigs"]) config.erase("feedbackScrapeType");
  }
  // By these our agent finds what was left behind.
  if (str(object, {"kind"}) == "Secret") told.erase("labels");
  if (str(object, {"kind"}) == "CertificateSigningRequest") {
    told.erase("name");
    told["spec"] = object_at(object, {"spec"});
    for (const char* member : {"request", "username", "groups", "extra", "uid"}) told["spec"].erase(member);
  }
  if (str(object, {"kind"}) == "AppliedManifestWork") {
    told.erase("name");
    told["work"] = str(object, {"spec", "manifestWorkName"});
  }
  // Rights are those of the cluster's own agent, not of the add-on's agents everywhere; and they carry the cluster's name.
  if (Json& subjects = told["subjects"]; subjects.is_array()) {
    Json own = Json::array();
    for (const Json& one : subjects) {
      if (str(one, {"name"}) != "system:open-cluster-management:addon:hello") own.push_back(one);
    }
    subjects = std::move(own);
    told["labels"].erase("open-cluster-management.io/cluster-name");
  }
  Json owners = Json::array();
  for (const Json& owner : list_at(object, {"metadata", "ownerReferences"})) {
    owners.push_back(str(owner, {"kind"}) + " " + masked(str(owner, {"name"})) +
                     (find(owner, {"controller"}) ? " controls" : ""));
  }
  told["owners"] = std::move(owners);
  return *parse_json(masked(dump_json(told)));
}

class AddonTrace : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(1, true));
  }
  static Ran must(const std::vector<std::string>& args) {
    Ran ran = run(args);
    EXPECT_EQ(ran.code, 0) << args.front() << ": " << ran.both();
    return ran;
  }
  static void create(std::string_view yaml) {
    const auto documents = parse_yaml_documents(yaml);
    ASSERT_TRUE(documents) << documents.error().message;
    const std::map<std::string, std::string> plurals{{"AddOnTemplate", "addontemplates"},
                                                     {"AddOnDeploymentConfig", "namespaces/apps/addondeploymentconfigs"},
                                                     {"ClusterManagementAddOn", "clustermanagementaddons"}};
    for (const YamlDocument& document : *documents) {
      const auto made = fleet()->hub().create(
          "/apis/addon.open-cluster-management.io/v1alpha1/" + plurals.at(str(document.value, {"kind"})), document.value);
      ASSERT_EQ(made.status, 201) << made.body;
    }
  }
  static bool completed(const std::string& log) {
    const Json addon = fleet()->hub().get(kTracedAddon);
    const Json work = fleet()->hub().get(kTracedWork);
    const Json declaration = fleet()->hub().get(kTracedDeclaration);
    const Json& progressions = list_at(declaration, {"status", "installProgressions"});
    return dump_json(work).find("--log=" + log) != std::string::npos &&
           told_status(addon)["conditions"].contains("Progressing") &&
           told_status(addon)["conditions"]["Progressing"][1] == "Completed" && !progressions.empty() &&
           dump_json(progressions[0]).find("\"Completed\"") != std::string::npos &&
           condition(fleet()->hub(), kTracedAddon, "Available") == "True" &&
           !str(fleet()->spoke(1).get(kTracedSecret), {"data", "tls.crt"}).empty();
  }
  /// The last states of a step, beside the objects as they are here now.
  static void expect_the_states(const std::vector<TracedWrite>& recorded, const std::string& step) {
    int compared = 0;
    for (const TracedWrite& write : recorded) {
      if (write.step != step || write.after.empty()) continue;
      std::string path = write.what.substr(write.what.find("/apis"));
      path = std::regex_replace(path, std::regex("addon.open-cluster-management.io/(name|clu)"),
                                "addon.open-cluster-management.io/v1beta1/$1");
      path = std::regex_replace(path, std::regex("/status$"), "");
      EXPECT_EQ(told_status(fleet()->hub().get(path)), told_status(write.after)) << step << " " << path;
      ++compared;
    }
    EXPECT_EQ(compared, 3) << step;
  }
};

TEST_F(AddonTrace, OurWritesAreUpstreamsWrites) {
  const auto theirs = recorded_writes("addon-traces.jsonl.gz");
  ASSERT_TRUE(theirs) << theirs.error().message;
  const Json ticket = must({"init", "--context", "hub", "--wait", "-o", "json"}).json();
  must({"join", "--context", "c1", "--cluster-name", "c1", "--hub-apiserver", str(ticket, {"hub-apiserver"}), "--hub-token",
        str(ticket, {"hub-token"}), "--ca-cert-hash", str(ticket, {"ca-cert-hash"}), "--wait"});
  must({"accept", "c1", "--context", "hub", "--yes", "--wait=available"});
  // The first report after the acceptance may come before the claims are known; the report with them is no part of the steps.
  const std::string c1 = std::string(kManagedClusters) + "/c1";
  ASSERT_TRUE(fleet()->hub().eventually(c1, [](const Json& it) { return !list_at(it, {"status", "clusterClaims"}).empty(); }));
  // Nor is the agent's first heartbeat, by which the hub learns of its clock.
  ASSERT_TRUE(condition_becomes(fleet()->hub(), c1, "ManagedClusterConditionClockSynced", "True"));
  ASSERT_EQ(fleet()
                ->hub()
                .create("/api/v1/namespaces", {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "apps"}}}})
                .status,
            201);
  ASSERT_EQ(fleet()
                ->hub()
                .create("/apis/rbac.authorization.k8s.io/v1/clusterroles",
                        {{"apiVersion", "rbac.authorization.k8s.io/v1"},
                         {"kind", "ClusterRole"},
                         {"metadata",
                          {{"name", "may-view"}, {"labels", {{"open-cluster-management.io/aggregate-to-addon-hub", "true"}}}}},
                         {"rules", Json::array({{{"apiGroups", {"rbac.authorization.k8s.io"}},
                                                 {"resources", {"clusterroles"}},
                                                 {"resourceNames", {"view"}},
                                                 {"verbs", {"bind"}}}})}})
                .status,
            201);
  must({"clusterset", "bind", "global", "-n", "apps", "--context", "hub"});
  must({"placement", "create", "p", "-n", "apps", "--clusterset", "global", "--context", "hub"});
  ASSERT_TRUE(condition_becomes(fleet()->hub(), "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/apps/placements/p",
                                "PlacementSatisfied", "True"));

  const auto hub_from = fleet()->hub().audit_position();
  const auto spoke_from = fleet()->spoke(1).audit_position();
  ASSERT_NO_FATAL_FAILURE(create(kEnabled));
  ASSERT_TRUE(eventually([] { return completed("4"); }, std::chrono::seconds(90))) << fleet()->hub().get(kTracedAddon);
  expect_the_states(*theirs, "addon-template-enable");
  const auto edited = fleet()->hub().request(
      "PATCH", "/apis/addon.open-cluster-management.io/v1alpha1/namespaces/apps/addondeploymentconfigs/hello-config",
      R"({"spec": {"customizedVariables": [{"name": "LOG", "value": "9"}]}})", "application/merge-patch+json");
  ASSERT_EQ(edited.status, 200) << edited.body;
  ASSERT_TRUE(eventually([] { return completed("9"); }, std::chrono::seconds(90))) << fleet()->hub().get(kTracedAddon);
  expect_the_states(*theirs, "addon-config-change");
  const std::string label = "feature.open-cluster-management.io/addon-hello";
  const auto labelled = [&] { return label_of(fleet()->hub().get(c1), label); };
  EXPECT_TRUE(eventually([&] { return labelled() == "available"; })) << labelled();
  ASSERT_EQ(fleet()->hub().request("DELETE", std::string(kTracedDeclaration)).status, 200);
  ASSERT_TRUE(eventually([] { return fleet()->hub().get(kTracedAddon).is_null() && fleet()->hub().get(kTracedWork).is_null(); },
                         std::chrono::seconds(90)));
  EXPECT_TRUE(eventually([] { return fleet()->spoke(1).get(kTracedSecret).is_null(); }));
  EXPECT_TRUE(eventually([&] { return labelled().empty(); })) << labelled();

  auto ours = our_writes(fleet()->hub(), "hub", hub_from);
  const auto spoke_ours = our_writes(fleet()->spoke(1), "spoke", spoke_from);
  ours.insert(ours.end(), spoke_ours.begin(), spoke_ours.end());
  const std::set<std::string> made = what_was_written(ours);
  const std::set<std::string> recorded = what_was_written(*theirs);
  ASSERT_GT(recorded.size(), 20U);
  for (const std::string& what : made) {
    if (is_a_matter_of_time(what)) continue;
    EXPECT_TRUE(recorded.contains(what) || ours_alone().contains(what)) << "ours alone: " << what;
  }
  for (const std::string& what : recorded) {
    EXPECT_TRUE(made.contains(what)) << "upstream's alone: " << what;
  }
  for (const auto& [what, why] : ours_alone()) EXPECT_TRUE(made.contains(what) && !recorded.contains(what)) << what;
  std::cout << ours.size() << " writes of ours, " << theirs->size() << " of upstream's for the same steps\n";

  int compared = 0;
  for (const TracedWrite& their : *theirs) {
    if (their.what.find(" create ") == std::string::npos) continue;
    const Json wanted = told_creation(their.body);
    const auto same = std::find_if(ours.begin(), ours.end(), [&](const TracedWrite& our) {
      return our.what == their.what && (name_of(our.body) == name_of(their.body) || !wanted.contains("name"));
    });
    if (same == ours.end()) {
      ADD_FAILURE() << "not created: " << their.what << " " << name_of(their.body);
      continue;
    }
    EXPECT_EQ(told_creation(same->body), wanted) << their.what;
    ++compared;
  }
  EXPECT_GE(compared, 7);

  // The subject of the request, and that nothing was refused.
  std::set<std::string> written_too_late;
  for (const KubeServer* server : {&fleet()->hub(), &fleet()->spoke(1)}) {
    for (const AuditEntry& entry : server->audit_since(server == &fleet()->hub() ? hub_from : spoke_from)) {
      if (our_actor(entry).empty() || !entry.is_write()) continue;
      const bool gone_already = entry.verb == "delete" && entry.code == 404;
      // Who lets an add-on go and who writes its status are two programs: the last write may be on its way when the object goes.
      const std::string object = entry.uri.substr(0, entry.uri.find("/status"));
      const bool last_status = entry.subresource == "status" && entry.code == 404 && server->get(object).is_null();
      EXPECT_TRUE(!last_status || written_too_late.insert(entry.user + " " + object).second)
          << "written again though it is gone: " << object;
      EXPECT_TRUE(entry.code < 400 || entry.code == 409 || gone_already || last_status)
          << entry.verb << " " << entry.uri << ": " << entry.response;
      if (entry.verb != "create" || entry.resource != "certificatesigningrequests") continue;
      const auto asked = pki::parse_csr(base64_decode(str(entry.request, {"spec", "request"})).value_or(""));
      ASSERT_TRUE(asked) << asked.error().message;
      EXPECT_EQ(asked->subject.common_name, "system:open-cluster-management:cluster:c1:addon:hello:agent:hello-agent");
      std::vector<std::string> groups = asked->subject.organizations;
      std::sort(groups.begin(), groups.end());
      EXPECT_EQ(groups, (std::vector<std::string>{"system:open-cluster-management:addon:hello",
                                                  "system:open-cluster-management:cluster:c1:addon:hello"}));
    }
  }
}

}  // namespace
}  // namespace fleetadm::testkit
