// work diff on real servers: a hub and three clusters whose work agents run in this process, and are stopped while someone else
// changes what they applied. Equal differences are told once, with who wrote the live value; what is secret stays secret.
#include <algorithm>
#include <gtest/gtest.h>

#include "core/work/agent/agent.h"
#include "core/work/rules/conditions.h"
#include "kubeclient/config/kubeconfig.h"
#include "templates/templates.h"
#include "tests/support/fleet_test.h"
#include "tests/support/killable.h"

namespace fleetadm::testkit {
namespace {

const std::vector<std::string> kClusters{"c1", "c2", "c3"};
constexpr const char* kPageToDiff = "/api/v1/namespaces/default/configmaps/page";
constexpr const char* kSecretManifest = "/api/v1/namespaces/default/secrets/key";
constexpr const char* kWeb = "/apis/apps/v1/namespaces/default/deployments/web";
constexpr const char* kMerge = "application/merge-patch+json";

constexpr const char* kDiffManifests = R"(apiVersion: v1
kind: ConfigMap
metadata: {name: page, namespace: default}
data: {title: hello}
---
apiVersion: v1
kind: Secret
metadata: {name: key, namespace: default}
stringData: {token: sesame-open}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "nginx:1"}]}
)";

class WorkDiff : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(static_cast<int>(kClusters.size()), false));
    const Ran init = run({"init", "--context", "hub"});
    ASSERT_EQ(init.code, 0) << init.both();
    for (const std::string& name : kClusters) {
      const Json cluster{{"apiVersion", "cluster.open-cluster-management.io/v1"},
                         {"kind", "ManagedCluster"},
                         {"metadata", {{"name", name}}},
                         {"spec", {{"hubAcceptsClient", true}}}};
      ASSERT_TRUE(eventually([&] { return fleet()->hub().create(kManagedClusters, cluster).status == 201; }));
      const Json ns{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}};
      ASSERT_EQ(fleet()->hub().create("/api/v1/namespaces", ns).status, 201);
    }
    ASSERT_EQ(run({"work", "create", "web", "-f", "-", "--clusters", "c1,c2,c3", "--context", "hub"}, input(kDiffManifests)).code,
              0);
    Killable agents[3];
    for (int i = 0; i < 3; ++i) ASSERT_NO_FATAL_FAILURE(run_agent(agents[i], i + 1));
    // The servers have no kubelets: what is applied never gets ready.
    const Ran applied = run({"work", "apply", "web", "-f", "-", "--clusters", "c1,c2,c3", "--wait=available", "--context", "hub"},
                            input(kDiffManifests));
    ASSERT_EQ(applied.code, 0) << applied.both();
  }
  static void run_agent(Killable& agent, int i) {
    const auto spoke = client_of(fleet()->spoke(i));
    const auto hub = client_of(fleet()->hub());
    ASSERT_TRUE(spoke && hub);
    work::WorkAgentOptions options;
    options.cluster = kClusters.at(static_cast<std::size_t>(i) - 1);
    options.hub_server = fleet()->hub().url();
    ASSERT_NO_FATAL_FAILURE(install_applied_works(i));
    agent.start([&](controller::Manager& manager, const std::shared_ptr<kube::WriteGate>&) {
      work::add_work_controllers(manager, *hub, *spoke, options);
    });
  }
  static void install_applied_works(int i) {
    const auto objects = templates::render("crds/spoke/appliedmanifestworks.yaml", {});
    ASSERT_TRUE(objects) << objects.error().message;
    for (const Json& object : *objects) {
      const std::string crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
      ASSERT_LT(fleet()->spoke(i).create(crds, object).status, 300);
      ASSERT_TRUE(fleet()->spoke(i).eventually(crds + "/" + name_of(object), [](const Json& crd) {
        return work::is_true(list_at(crd, {"status", "conditions"}), "Established");
      }));
    }
  }
  static Result<kube::Client> client_of(const KubeServer& server) {
    FLEETADM_TRY(const auto config, kube::Kubeconfig::from_text(server.kubeconfig()));
    FLEETADM_TRY(const auto rest, config.resolve({}));
    return kube::Client::connect(rest);
  }
  static RunOptions input(const std::string& text) {
    RunOptions options;
    options.input = text;
    return options;
  }
  static RunOptions patience() {
    RunOptions options;
    options.timeout = std::chrono::seconds(60);
    return options;
  }
  static Ran diff(std::vector<std::string> more = {}) {
    std::vector<std::string> args{"work", "diff", "web", "--context", "hub"};
    args.insert(args.end(), more.begin(), more.end());
    return run(args, patience());
  }
  static void write(int i, const std::string& path, const std::string& body, const std::string& manager) {
    const auto answer = fleet()->spoke(i).request("PATCH", path + "?fieldManager=" + manager, body, kMerge);
    ASSERT_LT(answer.status, 300) << answer.body;
  }
  static bool has(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }
};

TEST_F(WorkDiff, A_NothingDiffersWhereNobodyChangedAnything) {
  const Ran ran = diff();
  EXPECT_EQ(ran.code, 0) << ran.both();
  EXPECT_EQ(ran.out, "");
  EXPECT_TRUE(has(ran.err, "No differences: c1, c2, c3")) << ran.both();
  EXPECT_FALSE(has(ran.both(), "sesame-open"));
}

TEST_F(WorkDiff, B_EqualDifferencesAreToldOnceWithTheirOwners) {
  for (const int i : {1, 2}) {
    write(i, kPageToDiff, R"({"data": {"title": "goodbye", "extra": "x"}})", "mallory");
    write(i, kWeb, R"({"spec": {"replicas": 5}})", "scaler");
  }
  write(3, kSecretManifest, R"({"data": {"token": "YWJyYWNhZGFicmE="}})", "mallory");
  ASSERT_LT(fleet()->spoke(3).request("DELETE", kWeb).status, 300);
  const Ran ran = diff();
  EXPECT_EQ(ran.code, 1) << ran.both();
  EXPECT_TRUE(has(ran.out, "2 clusters: c1, c2")) << ran.out;
  EXPECT_TRUE(has(ran.out, "- data.title: goodbye   (by mallory)")) << ran.out;
  EXPECT_TRUE(has(ran.out, "+ data.title: hello")) << ran.out;
  EXPECT_TRUE(has(ran.out, "- spec.replicas: 5   (by scaler)")) << ran.out;
  EXPECT_TRUE(has(ran.out, "+ spec.replicas: 2")) << ran.out;
  EXPECT_TRUE(has(ran.out, "1 cluster: c3")) << ran.out;
  EXPECT_TRUE(has(ran.out, "deployments.apps default/web: missing")) << ran.out;
  EXPECT_TRUE(has(ran.out, "secrets default/key")) << ran.out;
  for (const char* secret : {"sesame-open", "c2VzYW1lLW9wZW4=", "abracadabra", "YWJyYWNhZGFicmE="})
    EXPECT_FALSE(has(ran.both(), secret)) << secret << "\n" << ran.both();

  const Ran data = diff({"-o", "json"});
  EXPECT_EQ(data.code, 1) << data.both();
  const Json told = data.json();
  const Json& groups = list_at(told, {"groups"});
  ASSERT_EQ(groups.size(), 2U) << data.out;
  EXPECT_EQ(list_at(groups[0], {"clusters"}), Json::array({"c1", "c2"}));
  EXPECT_FALSE(has(data.out, "YWJyYWNhZGFicmE="));
}

TEST_F(WorkDiff, C_OnlyTheClustersThatAreNamed) {
  const Ran ran = diff({"--cluster", "c3"});
  EXPECT_EQ(ran.code, 1) << ran.both();
  EXPECT_FALSE(has(ran.out, "c1")) << ran.out;
  const Ran none = diff({"--cluster", "c9"});
  EXPECT_EQ(none.code, 5) << none.both();
}

TEST_F(WorkDiff, D_AClusterThatCannotBeAskedIsNamedAndTheOthersAreTold) {
  const Ran ran = diff({"--spoke", "c2=nowhere"});
  EXPECT_EQ(ran.code, 3) << ran.both();
  EXPECT_TRUE(has(ran.out, "1 cluster: c1")) << ran.both();
  EXPECT_TRUE(has(ran.err, "nowhere")) << ran.both();
  EXPECT_TRUE(has(ran.err, "--spoke c2=CONTEXT")) << ran.both();
  const Ran alone = diff({"--cluster", "c2", "--spoke", "c2=nowhere"});
  EXPECT_EQ(alone.code, 64) << alone.both();
}

TEST_F(WorkDiff, E_AClusterThatDoesNotAnswerEndsByTheDeadline) {
  fleet()->spoke(2).freeze();
  const auto begun = std::chrono::steady_clock::now();
  const Ran ran = diff({"--request-timeout", "3s"});
  const auto took = std::chrono::steady_clock::now() - begun;
  fleet()->spoke(2).thaw();
  EXPECT_EQ(ran.code, 3) << ran.both();
  EXPECT_TRUE(has(ran.out, "c1")) << ran.both();
  EXPECT_TRUE(has(ran.err, "c2")) << ran.both();
  EXPECT_LT(took, std::chrono::seconds(15));
}

TEST_F(WorkDiff, F_AContextOfAnotherNameAndAFileOfItsOwn) {
  const Ran mapped = diff({"--cluster", "c1", "--spoke", "c1=c3"});  // c3's objects against c1's work
  EXPECT_EQ(mapped.code, 1) << mapped.both();
  EXPECT_TRUE(has(mapped.out, "deployments.apps default/web: missing")) << mapped.both();
  const Ran file = diff({"--cluster", "c1", "--spoke-kubeconfig", fleet()->spoke(1).kubeconfig_file()});
  EXPECT_EQ(file.code, 1) << file.both();
  EXPECT_TRUE(has(file.out, "goodbye")) << file.both();
}

TEST_F(WorkDiff, G_AgainstAFileNoClusterIsAsked) {
  std::string changed = kDiffManifests;
  changed.replace(changed.find("hello"), 5, "welcome");
  const auto position = fleet()->spoke(1).audit_position();
  RunOptions options = input(changed);
  const Ran ran = run({"work", "diff", "web", "-f", "-", "--context", "hub"}, options);
  EXPECT_EQ(ran.code, 1) << ran.both();
  EXPECT_TRUE(has(ran.out, "3 clusters: c1, c2, c3")) << ran.out;
  EXPECT_TRUE(has(ran.out, "+ data.title: welcome")) << ran.out;
  EXPECT_FALSE(has(ran.both(), "sesame-open"));
  EXPECT_TRUE(fleet()->spoke(1).audit_since(position).empty());
  EXPECT_EQ(run({"work", "diff", "web", "-f", "-", "--context", "hub"}, input(kDiffManifests)).code, 0);
}

}  // namespace
}  // namespace fleetadm::testkit
