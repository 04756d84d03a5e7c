// Who may accept a cluster, join or bind a set, or name an executor: asked of a real API server, as users that lack each right.
#include <gtest/gtest.h>

#include "core/install/install.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/config/kubeconfig.h"
#include "templates/templates.h"
#include "tests/support/fleet.h"
#include "tests/support/https.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kBindings =
    "/apis/cluster.open-cluster-management.io/v1beta2/namespaces/default/managedclustersetbindings";
constexpr std::string_view kReplicaSets =
    "/apis/work.open-cluster-management.io/v1alpha1/namespaces/default/manifestworkreplicasets";
constexpr std::string_view kWorks = "/apis/work.open-cluster-management.io/v1/namespaces/default/manifestworks";

Json cluster(std::string_view name, bool accepted, std::string_view set = {}, std::string_view url = {}) {
  Json object{{"apiVersion", "cluster.open-cluster-management.io/v1"},
              {"kind", "ManagedCluster"},
              {"metadata", {{"name", name}}},
              {"spec", {{"hubAcceptsClient", accepted}}}};
  if (!set.empty()) object["metadata"]["labels"]["cluster.open-cluster-management.io/clusterset"] = set;
  if (!url.empty()) object["spec"]["managedClusterClientConfigs"] = Json::array({{{"url", url}}});
  return object;
}

Json binding(std::string_view name, std::string_view set) {
  return {{"apiVersion", "cluster.open-cluster-management.io/v1beta2"},
          {"kind", "ManagedClusterSetBinding"},
          {"metadata", {{"name", name}, {"namespace", "default"}}},
          {"spec", {{"clusterSet", set}}}};
}

Json config_map(std::string_view name) {
  return {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", name}, {"namespace", "default"}}}};
}

Json work(std::string_view name, const Json& manifests, std::string_view executor = {}) {
  Json object{{"apiVersion", "work.open-cluster-management.io/v1"},
              {"kind", "ManifestWork"},
              {"metadata", {{"name", name}, {"namespace", "default"}}},
              {"spec", {{"workload", {{"manifests", manifests}}}}}};
  if (!executor.empty()) {
    object["spec"]["executor"]["subject"] = {{"type", "ServiceAccount"},
                                             {"serviceAccount", {{"namespace", "apps"}, {"name", executor}}}};
  }
  return object;
}

Json replica_set(std::string_view name, std::string_view executor = {}) {
  Json object{{"apiVersion", "work.open-cluster-management.io/v1alpha1"},
              {"kind", "ManifestWorkReplicaSet"},
              {"metadata", {{"name", name}, {"namespace", "default"}}},
              {"spec", {{"placementRefs", Json::array({{{"name", "p"}}})}}}};
  object["spec"]["manifestWorkTemplate"] = work(name, Json::array({config_map("x")}), executor)["spec"];
  return object;
}

Json request_for(std::string_view cluster, std::string_view name) {
  const auto key = pki::generate_key();
  const std::string group = "system:open-cluster-management:" + std::string(cluster);
  const auto pem = pki::make_csr(*key, {group + ":agent", {group}, {}});
  return {
      {"apiVersion", "certificates.k8s.io/v1"},
      {"kind", "CertificateSigningRequest"},
      {"metadata", {{"name", name}, {"labels", {{"open-cluster-management.io/cluster-name", cluster}}}}},
      {"spec",
       {{"signerName", "kubernetes.io/kube-apiserver-client"}, {"usages", {"client auth"}}, {"request", base64_encode(*pem)}}}};
}

class Admission : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    auto started = KubeServer::start({.name = "hub", .controller_manager = false});
    ASSERT_TRUE(started) << started.error().message;
    server() = std::move(*started);
    const auto kubeconfig = kube::Kubeconfig::from_text(server()->kubeconfig());
    ASSERT_TRUE(kubeconfig) << kubeconfig.error().message;
    const auto config = kubeconfig->resolve({});
    ASSERT_TRUE(config) << config.error().message;
    std::vector<Json> objects;
    std::vector<std::string_view> files{"hub/namespaces.yaml"};
    for (const auto file : templates::list("crds/hub/")) files.push_back(file);
    files.emplace_back("hub/bootstrap.yaml");
    files.emplace_back("hub/admission.yaml");
    for (const auto file : files) {
      auto rendered = templates::render(file, {});
      ASSERT_TRUE(rendered) << rendered.error().message;
      objects.insert(objects.end(), rendered->begin(), rendered->end());
    }
    const auto applied = install::apply_all(kube::Client::connect(*config), std::move(objects), {.part = "hub"});
    ASSERT_TRUE(applied) << applied.error().message;
    // Policies take a moment until the server enforces them: a binding with a wrong name is refused from then on.
    ASSERT_TRUE(eventually([] {
      const auto answer = server()->create(kBindings, binding("probe", "other"));
      if (answer.status == 201) server()->request("DELETE", std::string(kBindings) + "/probe");
      return answer.status == 422;
    }));
    ASSERT_TRUE(eventually([] {
      const auto answer = server()->create(kWorks, work("probe", Json::array()));
      if (answer.status == 201) server()->request("DELETE", std::string(kWorks) + "/probe");
      return answer.status == 422;
    }));
    ASSERT_TRUE(eventually([] {
      const auto answer = server()->create(kManagedClusters, cluster("probe", false, "", "http://plain"));
      if (answer.status == 201) server()->request("DELETE", std::string(kManagedClusters) + "/probe");
      return answer.status == 422;
    }));
  }
  static void TearDownTestSuite() { server().reset(); }
  void SetUp() override { FLEETADM_NEEDS_KUBE_SERVERS(); }

  static std::unique_ptr<KubeServer>& server() {
    static std::unique_ptr<KubeServer> the_server;
    return the_server;
  }

  // A user with all ordinary rights on the fleet's kinds, and the further ones (group, resource/sub, name, verb).
  struct Right {
    std::string group, resource, name, verb;
  };
  static pki::KeyPair user(const std::string& name, const std::vector<Right>& rights,
                           const Json& verbs = {"create", "get", "update", "patch", "delete"},
                           const std::vector<std::string>& groups = {}) {
    Json rules = Json::array();
    rules.push_back({{"apiGroups", {"cluster.open-cluster-management.io", "work.open-cluster-management.io"}},
                     {"resources", {"managedclusters", "managedclustersetbindings", "manifestworks", "manifestworkreplicasets"}},
                     {"verbs", verbs}});
    for (const Right& right : rights) {
      Json rule{{"apiGroups", {right.group}}, {"resources", {right.resource}}, {"verbs", {right.verb}}};
      if (!right.name.empty()) rule["resourceNames"] = {right.name};
      rules.push_back(rule);
    }
    const Json role{{"apiVersion", "rbac.authorization.k8s.io/v1"},
                    {"kind", "ClusterRole"},
                    {"metadata", {{"name", name}}},
                    {"rules", rules}};
    const Json bound{{"apiVersion", "rbac.authorization.k8s.io/v1"},
                     {"kind", "ClusterRoleBinding"},
                     {"metadata", {{"name", name}}},
                     {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", name}}},
                     {"subjects", Json::array({{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "User"}, {"name", name}}})}};
    EXPECT_EQ(server()->create("/apis/rbac.authorization.k8s.io/v1/clusterroles", role).status, 201);
    EXPECT_EQ(server()->create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", bound).status, 201);
    auto pair = pki::issue(server()->ca(), {.subject = {.common_name = name, .organizations = groups}, .client = true});
    EXPECT_TRUE(pair);
    const auto ready = [&] {  // the authorizer sees new roles after a moment
      return https({.url = server()->url() + std::string(kManagedClusters) + "/none",
                    .ca = server()->ca().certificate,
                    .certificate = pair->certificate,
                    .key = pair->key})
                 .status == 404;
    };
    EXPECT_TRUE(eventually(ready));
    return *pair;
  }

  static HttpsAnswer send(const pki::KeyPair& who, std::string_view method, const std::string& path, const Json& body) {
    return https({.url = server()->url() + path,
                  .method = std::string(method),
                  .body = dump_json(body),
                  .content_type = method == "PATCH" ? "application/merge-patch+json" : "application/json",
                  .ca = server()->ca().certificate,
                  .certificate = who.certificate,
                  .key = who.key});
  }
  static int create(const pki::KeyPair& who, std::string_view path, const Json& object) {
    return send(who, "POST", std::string(path), object).status;
  }
  static int patch(const pki::KeyPair& who, const std::string& path, const Json& body) {
    return send(who, "PATCH", path, body).status;
  }
  static std::string at(std::string_view collection, std::string_view name) {
    return std::string(collection) + "/" + std::string(name);
  }
};

const Json kAccept{{"spec", {{"hubAcceptsClient", true}}}};
const Json kDeny{{"spec", {{"hubAcceptsClient", false}}}};

TEST_F(Admission, AcceptingNeedsTheRightForThatCluster) {
  const auto joiner = user("joiner", {{"cluster.open-cluster-management.io", "managedclustersets/join", "default", "create"}});
  const auto acceptor = user("acceptor", {{"cluster.open-cluster-management.io", "managedclustersets/join", "default", "create"},
                                          {"register.open-cluster-management.io", "managedclusters/accept", "a1", "update"}});
  EXPECT_EQ(create(joiner, kManagedClusters, cluster("a1", true)), 403);
  EXPECT_EQ(create(joiner, kManagedClusters, cluster("a1", false)), 201);
  EXPECT_EQ(create(joiner, kManagedClusters, cluster("a10", false)), 201);
  EXPECT_EQ(patch(joiner, at(kManagedClusters, "a1"), kAccept), 403);
  EXPECT_EQ(patch(acceptor, at(kManagedClusters, "a10"), kAccept), 403) << "the right is for a1 alone";
  EXPECT_EQ(patch(acceptor, at(kManagedClusters, "a1"), kAccept), 200);
  // An accepted cluster can be changed, and denied, with ordinary rights.
  EXPECT_EQ(patch(joiner, at(kManagedClusters, "a1"), {{"metadata", {{"labels", {{"tier", "gold"}}}}}}), 200);
  EXPECT_EQ(patch(joiner, at(kManagedClusters, "a1"), kDeny), 200);
}

TEST_F(Admission, JoiningASetNeedsTheRightForOldAndNewSet) {
  const auto nobody = user("set-nobody", {});
  const auto only_a = user("set-a", {{"cluster.open-cluster-management.io", "managedclustersets/join", "set-a", "create"}});
  const auto both = user("set-both", {{"cluster.open-cluster-management.io", "managedclustersets/join", "", "create"}});
  const Json to_b{{"metadata", {{"labels", {{"cluster.open-cluster-management.io/clusterset", "set-b"}}}}}};
  const Json to_none{{"metadata", {{"labels", {{"cluster.open-cluster-management.io/clusterset", nullptr}}}}}};
  EXPECT_EQ(create(nobody, kManagedClusters, cluster("s1", false)), 403) << "no label means the default set";
  EXPECT_EQ(create(nobody, kManagedClusters, cluster("s1", false, "set-a")), 403);
  EXPECT_EQ(create(only_a, kManagedClusters, cluster("s1", false, "set-b")), 403);
  EXPECT_EQ(create(only_a, kManagedClusters, cluster("s1", false, "set-a")), 201);
  EXPECT_EQ(patch(only_a, at(kManagedClusters, "s1"), to_b), 403) << "the new set";
  EXPECT_EQ(patch(only_a, at(kManagedClusters, "s1"), to_none), 403) << "the default set";
  EXPECT_EQ(patch(both, at(kManagedClusters, "s1"), to_b), 200);
  const Json to_a{{"metadata", {{"labels", {{"cluster.open-cluster-management.io/clusterset", "set-a"}}}}}};
  EXPECT_EQ(patch(only_a, at(kManagedClusters, "s1"), to_a), 403) << "the old set";
  EXPECT_EQ(patch(both, at(kManagedClusters, "s1"), to_none), 200);
}

TEST_F(Admission, ClustersHaveNamespaceNamesAndHttpsUrls) {
  const auto joiner = user("shape", {{"cluster.open-cluster-management.io", "managedclustersets/join", "", "create"}});
  EXPECT_EQ(create(joiner, kManagedClusters, cluster("with.dots", false)), 422);
  EXPECT_EQ(create(joiner, kManagedClusters, cluster(std::string(64, 'a'), false)), 422);
  EXPECT_EQ(create(joiner, kManagedClusters, cluster(std::string(63, 'a'), false)), 201);
  EXPECT_EQ(create(joiner, kManagedClusters, cluster("u1", false, "", "http://c1:6443")), 422);
  EXPECT_EQ(create(joiner, kManagedClusters, cluster("u1", false, "", "https://c1:6443")), 201);
}

TEST_F(Admission, BindingASetNeedsTheRightAndTheName) {
  const auto nobody = user("bind-nobody", {});
  const auto binder = user("binder", {{"cluster.open-cluster-management.io", "managedclustersets/bind", "prod", "create"}});
  EXPECT_EQ(create(nobody, kBindings, binding("prod", "prod")), 403);
  EXPECT_EQ(create(binder, kBindings, binding("other", "other")), 403);
  EXPECT_EQ(create(binder, kBindings, binding("alias", "prod")), 422);
  EXPECT_EQ(create(binder, kBindings, binding("prod", "prod")), 201);
}

TEST_F(Admission, AnExecutorNeedsTheRightToActAsIt) {
  const Json one = Json::array({config_map("x")});
  const auto nobody = user("work-nobody", {});
  const auto actor = user(
      "work-actor", {{"work.open-cluster-management.io", "manifestworks", "system:serviceaccount:apps:deployer", "execute-as"}});
  EXPECT_EQ(create(nobody, kWorks, work("w1", one)), 201);
  EXPECT_EQ(create(nobody, kWorks, work("w2", one, "deployer")), 403);
  EXPECT_EQ(create(actor, kWorks, work("w2", one, "root")), 403);
  EXPECT_EQ(create(actor, kWorks, work("w2", one, "deployer")), 201);
  // Whoever may edit works may change the rest of one that has an executor, but not the executor.
  EXPECT_EQ(patch(nobody, at(kWorks, "w2"), {{"metadata", {{"labels", {{"a", "b"}}}}}}), 200);
  EXPECT_EQ(patch(nobody, at(kWorks, "w2"), {{"spec", {{"executor", {{"subject", {{"serviceAccount", {{"name", "root"}}}}}}}}}}),
            403);
}

TEST_F(Admission, AReplicaSetsExecutorNeedsTheRightInEveryNamespace) {
  const auto nobody = user("set-author", {});
  const auto actor = user(
      "set-actor", {{"work.open-cluster-management.io", "manifestworks", "system:serviceaccount:apps:deployer", "execute-as"}});
  const Json other_manifests{
      {"spec", {{"manifestWorkTemplate", {{"workload", {{"manifests", Json::array({config_map("y")})}}}}}}}};
  EXPECT_EQ(create(nobody, kReplicaSets, replica_set("r1")), 201);
  EXPECT_EQ(create(nobody, kReplicaSets, replica_set("r2", "deployer")), 403);
  EXPECT_EQ(create(actor, kReplicaSets, replica_set("r2", "root")), 403);
  EXPECT_EQ(create(actor, kReplicaSets, replica_set("r2", "deployer")), 201);
  EXPECT_EQ(patch(nobody, at(kReplicaSets, "r2"), {{"metadata", {{"labels", {{"a", "b"}}}}}}), 200);
  EXPECT_EQ(patch(nobody, at(kReplicaSets, "r2"), other_manifests), 403) << "what the executor would apply";
  EXPECT_EQ(patch(actor, at(kReplicaSets, "r2"), other_manifests), 200);
}

TEST_F(Admission, ARequestWithAClustersLabelIsByItsAgentOrARegistrar) {
  const Right csrs{"certificates.k8s.io", "certificatesigningrequests", "", "create"};
  const auto agent = user("agent-of-c2", {csrs}, {"get"}, {"system:open-cluster-management:c2"});
  const auto registrar = user("registrar", {csrs});
  const std::string path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
  EXPECT_EQ(create(agent, path, request_for("c2", "of-c2")), 201);
  EXPECT_EQ(create(agent, path, request_for("c1", "of-c1")), 403);
  EXPECT_EQ(create(agent, path, request_for("c20", "of-c20")), 403);
  EXPECT_EQ(create(registrar, path, request_for("c1", "first-of-c1")), 201) << "it may create managedclusters";
  const auto by_aws = user("c3", {csrs}, {"get"}, {"open-cluster-management:c3"});
  const auto stranger = user("c4", {csrs}, {"get"}, {"open-cluster-management:c3"});
  EXPECT_EQ(create(by_aws, path, request_for("c3", "of-c3")), 201);
  EXPECT_EQ(create(by_aws, path, request_for("c1", "of-c1")), 403);
  EXPECT_EQ(create(stranger, path, request_for("c3", "again-of-c3")), 403) << "in the group, and not the user";
  Json unlabelled = request_for("c1", "unlabelled");
  erase_at(unlabelled, {"metadata", "labels"});
  EXPECT_EQ(create(agent, path, unlabelled), 201);
}

// Lifted at its end: the policy is for every namespace.
TEST_F(Admission, WorksWithoutAnExecutorCanBeForbidden) {
  const auto plain = user(
      "no-executor", {{"work.open-cluster-management.io", "manifestworks", "system:serviceaccount:apps:deployer", "execute-as"}});
  const auto admin =
      user("as-agent",
           {{"work.open-cluster-management.io", "manifestworks", "system:serviceaccount::klusterlet-work-sa", "execute-as"}});
  const Json one = Json::array({config_map("x")});
  ASSERT_EQ(create(plain, kWorks, work("before", one)), 201) << "off by default";
  const auto policy = templates::render("hub/require-executor.yaml", {});
  ASSERT_TRUE(policy) << policy.error().message;
  const std::string api = "/apis/admissionregistration.k8s.io/v1/";
  ASSERT_EQ(server()->create(api + "validatingadmissionpolicies", policy->at(0)).status, 201);
  ASSERT_EQ(server()->create(api + "validatingadmissionpolicybindings", policy->at(1)).status, 201);
  EXPECT_TRUE(eventually([&] { return create(plain, std::string(kWorks) + "?dryRun=All", work("no", one)) == 403; }));
  EXPECT_EQ(create(plain, kWorks, work("with", one, "deployer")), 201);
  EXPECT_EQ(create(plain, kReplicaSets, replica_set("none")), 403);
  EXPECT_EQ(create(plain, kReplicaSets, replica_set("with", "deployer")), 201);
  EXPECT_EQ(create(admin, kWorks, work("as-agent", one)), 201);
  EXPECT_EQ(create(admin, kReplicaSets, replica_set("as-agent")), 201);
  EXPECT_EQ(patch(plain, at(kWorks, "before"), {{"metadata", {{"labels", {{"a", "b"}}}}}}), 200) << "what is there stays";
  EXPECT_EQ(patch(plain, at(kWorks, "before"), {{"spec", {{"workload", {{"manifests", Json::array({config_map("y")})}}}}}}), 403);
  EXPECT_EQ(server()->request("DELETE", api + "validatingadmissionpolicybindings/require-executor.fleetadm.io").status, 200);
  EXPECT_TRUE(eventually([&] { return create(plain, kWorks, work("after", one)) == 201; }));
}

TEST_F(Admission, AWorkHasManifestsWithNames) {
  const auto author = user("author", {});
  EXPECT_EQ(create(author, kWorks, work("m1", Json::array())), 422);
  Json unnamed = config_map("x");
  unnamed["metadata"] = {{"generateName", "x-"}};
  EXPECT_EQ(create(author, kWorks, work("m1", Json::array({unnamed}))), 422);
  Json many = Json::array();
  for (int i = 0; i < 500; ++i) many.push_back(config_map("cm-" + std::to_string(i)));
  EXPECT_EQ(create(author, kWorks, work("m1", many)), 201) << "a large work stays within the cost limit of the policy";
}

}  // namespace
}  // namespace fleetadm::testkit
