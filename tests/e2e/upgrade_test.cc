// Upgrades of a running fleet on real servers: from the objects that the former release has installed to this version's, and
// back. The programs are this version's throughout (the process node runs the binary under test whatever the tag says).
#include <fstream>
#include <gtest/gtest.h>

#include "core/api/agent_version.h"
#include "core/api/kinds.h"
#include "core/install/install.h"
#include "core/upgrade/agent_work.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/config/kubeconfig.h"
#include "tests/support/fleet_test.h"
#include "tests/support/vectors.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kHubPath = "/apis/apps/v1/namespaces/open-cluster-management-hub/deployments/fleetadm-hub";
constexpr std::string_view kAgentPath = "/apis/apps/v1/namespaces/open-cluster-management-agent/deployments/fleetadm-agent";
constexpr const char* kFormerImage = "fleetadm:v0.0.9";
constexpr const char* kThisImage = "fleetadm:" FLEETADM_VERSION;
constexpr const char* kBrokenImage = "registry.invalid/fleetadm:broken";
constexpr int kSpokes = 3;

class Upgrade : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(kSpokes, true));
    ASSERT_NO_FATAL_FAILURE(install_former());
  }

  static kube::Client admin(const KubeServer& server) {
    const auto kubeconfig = kube::Kubeconfig::from_text(server.kubeconfig(), "test");
    return kube::Client::connect(kubeconfig->resolve({}).value());
  }

  static void apply(const KubeServer& server, std::vector<Json> objects, std::string_view part) {
    install::Options options;
    options.part = part;
    const auto applied = install::apply_all(admin(server), std::move(objects), options);
    ASSERT_TRUE(applied) << applied.error().message;
  }

  /// The recorded objects, with the image of a version before this one.
  static std::vector<Json> recorded(const Json& release, const char* part) {
    std::vector<Json> objects;
    for (const Json& object : list_at(release, {part})) {
      objects.push_back(object);
      Json* containers = str(object, {"kind"}) == "Deployment"
                             ? &at_or_make(objects.back(), {"spec", "template", "spec", "containers"})
                             : nullptr;
      if (containers != nullptr) (*containers)[0]["image"] = kFormerImage;
    }
    return objects;
  }

  /// A hub and three clusters as the former release leaves them, with options that an upgrade has to keep.
  static void install_former() {
    const auto release = test::read_recorded("installed-v0.1.0.json.gz");
    ASSERT_TRUE(release) << release.error().message;
    std::vector<Json> hub = recorded(*release, "hub");
    for (Json& object : hub) {
      if (name_of(object) != "fleetadm-hub" || str(object, {"kind"}) != "Deployment") continue;
      object["spec"]["template"]["spec"]["containers"][0]["args"].push_back("--auto-approve-user=carol");
      object["spec"]["template"]["spec"]["tolerations"] = Json::array({{{"key", "hub"}, {"operator", "Exists"}}});
    }
    // What this version does not have any more.
    hub.push_back({{"apiVersion", "rbac.authorization.k8s.io/v1"},
                   {"kind", "ClusterRole"},
                   {"metadata", {{"name", "open-cluster-management:fleetadm-retired"}}},
                   {"rules", Json::array()}});
    ASSERT_NO_FATAL_FAILURE(apply(fleet()->hub(), std::move(hub), install::kHubPart));
    ASSERT_TRUE(fleet()->hub().eventually(
        kHubPath,
        [](const Json& one) {
          return num(one, {"status", "availableReplicas"}) == 1;
        },
        std::chrono::seconds(60)));
    const Ran token = run({"get", "token", "--context", "hub", "-o", "json"});
    ASSERT_EQ(token.code, 0) << token.both();
    const Json ticket = token.json();
    std::string names;
    for (int i = 1; i <= kSpokes; ++i) {
      const std::string name = "c" + std::to_string(i);
      names += (names.empty() ? "" : ",") + name;
      std::vector<Json> agent = recorded(*release, "agent");
      for (Json& object : agent) {
        if (str(object, {"kind"}) == "Deployment")
          object["spec"]["template"]["spec"]["containers"][0]["args"][2] = "--cluster-name=" + name;
      }
      const Json kubeconfig = kube::make_kubeconfig(str(ticket, {"hub-apiserver"}), fleet()->hub().ca().certificate,
                                                    Json{{"token", str(ticket, {"hub-token"})}}, "bootstrap");
      agent.insert(
          agent.end() - 1,
          Json{{"apiVersion", "v1"},
               {"kind", "Secret"},
               {"metadata", {{"name", std::string(api::kBootstrapSecret)}, {"namespace", std::string(api::kAgentNamespace)}}},
               {"data", {{"kubeconfig", base64_encode(dump_yaml(kubeconfig))}}}});
      ASSERT_NO_FATAL_FAILURE(apply(fleet()->spoke(i), std::move(agent), install::kAgentPart));
    }
    const Ran accepted = run({"accept", "c1", "c2", "c3", "--context", "hub", "--wait=available", "--yes"});
    ASSERT_EQ(accepted.code, 0) << accepted.both();
    const std::string file = fleet()->folder().write(
        "page.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: page, namespace: default}\ndata: {a: b}\n");
    const Ran work = run({"work", "create", "page", "-f", file, "--clusters", names, "--wait=applied", "--context", "hub"});
    ASSERT_EQ(work.code, 0) << work.both();
  }

  static std::string image(const KubeServer& server, std::string_view path) {
    const Json deployment = server.get(path);
    const Json& containers = list_at(deployment, {"spec", "template", "spec", "containers"});
    return containers.empty() ? "" : str(containers.front(), {"image"});
  }
  static std::vector<std::string> agent_images() {
    std::vector<std::string> images;
    for (int i = 1; i <= kSpokes; ++i) images.push_back(image(fleet()->spoke(i), kAgentPath));
    return images;
  }
  static Json cluster(int i) { return fleet()->hub().get(std::string(kManagedClusters) + "/c" + std::to_string(i)); }
  static bool has_upgrade_work(int i) {
    return !fleet()
                ->hub()
                .get("/apis/work.open-cluster-management.io/v1/namespaces/c" + std::to_string(i) + "/manifestworks/" +
                     std::string(upgrade::kAgentWork))
                .is_null();
  }
  static std::map<std::string, std::string> states(const Ran& ran) {
    std::map<std::string, std::string> all;
    const Json report = ran.json();
    for (const Json& one : list_at(report, {"clusters"})) all[str(one, {"cluster"})] = str(one, {"state"});
    return all;
  }
  /// What an upgrade must not touch.
  static void expect_healthy() {
    for (int i = 1; i <= kSpokes; ++i) {
      const std::string path = std::string(kManagedClusters) + "/c" + std::to_string(i);
      EXPECT_EQ(condition(fleet()->hub(), path, "ManagedClusterConditionAvailable"), "True") << i;
      EXPECT_EQ(str(fleet()->spoke(i).get("/api/v1/namespaces/default/configmaps/page"), {"data", "a"}), "b") << i;
      EXPECT_FALSE(has_upgrade_work(i)) << i;
    }
  }
  static Ran upgrade_agents(std::vector<std::string> more) {
    std::vector<std::string> args{"upgrade", "agent", "--context", "hub", "-c", "c1,c2,c3", "--yes", "-o", "json"};
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  }
  static inline const std::map<std::string, std::string> kAllSucceeded = {
      {"c1", "Succeeded"}, {"c2", "Succeeded"}, {"c3", "Succeeded"}};
};

TEST_F(Upgrade, A_APlanTellsAllAndWritesNothing) {
  const auto from = fleet()->hub().audit_position();
  const Ran ran = run({"upgrade", "hub", "--context", "hub", "--plan", "-o", "json"});
  ASSERT_EQ(ran.code, 0) << ran.both();
  const Json plan = ran.json();
  EXPECT_EQ(str(plan, {"version", "from"}), "v0.0.9");
  EXPECT_EQ(str(plan, {"version", "to"}), FLEETADM_VERSION);
  EXPECT_EQ(str(plan, {"image", "to"}), kThisImage);
  std::map<std::string, std::string> changes;
  for (const Json& change : list_at(plan, {"changes"}))
    changes[str(change, {"kind"}) + "/" + str(change, {"name"})] = str(change, {"action"});
  EXPECT_EQ(changes["Deployment/fleetadm-hub"], "configured");
  EXPECT_EQ(changes["ClusterRole/open-cluster-management:fleetadm-retired"], "deleted");
  EXPECT_FALSE(changes.contains("ClusterRole/fleetadm:cluster-info"));
  ASSERT_EQ(list_at(plan, {"agents"}).size(), 1U) << dump_json(plan);
  EXPECT_EQ(image(fleet()->hub(), kHubPath), kFormerImage);
  // The controllers go on writing; the person at the command line has not written.
  for (const AuditEntry& entry : writes_since(fleet()->hub(), from))
    EXPECT_TRUE(entry.user.starts_with("system:")) << entry.verb << " " << entry.uri << " by " << entry.user;
}

TEST_F(Upgrade, B_AgentsNewerThanTheHubAreRefused) {
  const Ran ran = upgrade_agents({"--to", FLEETADM_VERSION});
  EXPECT_NE(ran.code, 0) << ran.both();
  EXPECT_NE(ran.err.find("upgrade hub"), std::string::npos) << ran.both();
  EXPECT_EQ(agent_images(), (std::vector<std::string>{kFormerImage, kFormerImage, kFormerImage}));
}

TEST_F(Upgrade, C_TheHubIsReplacedWithItsOptions) {
  const std::string uid = uid_of(fleet()->hub().get(kHubPath));
  const Ran ran = run({"upgrade", "hub", "--context", "hub", "--yes", "--wait", "-o", "json"});
  ASSERT_EQ(ran.code, 0) << ran.both();
  const Json live = fleet()->hub().get(kHubPath);
  EXPECT_EQ(uid_of(live), uid);
  EXPECT_EQ(image(fleet()->hub(), kHubPath), kThisImage);
  EXPECT_NE(dump_json(live).find("--auto-approve-user=carol"), std::string::npos);
  EXPECT_EQ(str(list_at(live, {"spec", "template", "spec", "tolerations"}).at(0), {"key"}), "hub");
  EXPECT_TRUE(
      fleet()->hub().get("/apis/rbac.authorization.k8s.io/v1/clusterroles/open-cluster-management:fleetadm-retired").is_null());
  const Ran again = run({"upgrade", "hub", "--context", "hub", "--yes"});
  EXPECT_EQ(again.code, 0) << again.both();
  EXPECT_NE(again.out.find("nothing changed"), std::string::npos) << again.both();
  expect_healthy();
}

TEST_F(Upgrade, D_AgentsFollowInBatches) {
  const Ran ran = upgrade_agents({"--image", kThisImage, "--max-concurrency", "1"});
  ASSERT_EQ(ran.code, 0) << ran.both();
  EXPECT_EQ(states(ran), kAllSucceeded) << ran.both();
  EXPECT_EQ(agent_images(), (std::vector<std::string>{kThisImage, kThisImage, kThisImage}));
  for (int i = 1; i <= kSpokes; ++i) EXPECT_EQ(api::agent_version(cluster(i)), FLEETADM_VERSION) << i;
  expect_healthy();
  const Ran shown = run({"get", "clusters", "--context", "hub", "-o", "wide"});
  EXPECT_NE(shown.out.find(FLEETADM_VERSION), std::string::npos) << shown.both();
}

TEST_F(Upgrade, E_OneClusterByItselfBringsTheRest) {
  const Ran ran = run({"upgrade", "agent", "--context", "c1", "--yes", "--wait", "-o", "json"});
  ASSERT_EQ(ran.code, 0) << ran.both();
  EXPECT_EQ(image(fleet()->spoke(1), kAgentPath), kThisImage);
  const Ran again = run({"upgrade", "agent", "--context", "c1", "--yes"});
  EXPECT_NE(again.out.find("nothing changed"), std::string::npos) << again.both();
  expect_healthy();
}

TEST_F(Upgrade, F_AnImageThatCannotBePulledStopsAtTheFirst) {
  const Ran ran = upgrade_agents({"--image", kBrokenImage, "--max-concurrency", "1", "--timeout", "3s"});
  EXPECT_NE(ran.code, 0) << ran.both();
  EXPECT_EQ(states(ran), (std::map<std::string, std::string>{{"c1", "TimedOut"}, {"c2", "NotStarted"}, {"c3", "NotStarted"}}))
      << ran.both();
  EXPECT_EQ(agent_images(), (std::vector<std::string>{kBrokenImage, kThisImage, kThisImage}));
  const Json live = fleet()->spoke(1).get(kAgentPath);
  EXPECT_EQ(num(live, {"status", "availableReplicas"}), 1) << "the former agent runs on";
  // It still does what the hub says, so it can be told to go back.
  const Ran back = upgrade_agents({"--image", kThisImage});
  ASSERT_EQ(back.code, 0) << back.both();
  EXPECT_EQ(states(back), kAllSucceeded) << back.both();
  EXPECT_EQ(agent_images(), (std::vector<std::string>{kThisImage, kThisImage, kThisImage}));
  expect_healthy();
}

TEST_F(Upgrade, G_AKilledRunIsContinued) {
  sandbox::ChildSpec spec;
  spec.program = Fleet::binary();
  spec.args = {"upgrade", "agent",   "--kubeconfig",   fleet()->hub().kubeconfig_file(), "-c", "c1,c2,c3",
               "--yes",   "--image", "fleetadm:former"};
  spec.environment = {"HOME=" + fleet()->folder().path().string(), "PATH=/usr/bin:/bin"};
  spec.output_file = (fleet()->folder().path() / "killed.log").string();
  auto child = sandbox::Child::start(spec);
  ASSERT_TRUE(child) << child.error().message;
  ASSERT_TRUE(eventually([] { return has_upgrade_work(1); })) << read_file(spec.output_file);
  child->signal(SIGKILL);
  EXPECT_NE(agent_images().back(), "fleetadm:former") << "it was killed before the end";
  const Ran ran = upgrade_agents({"--image", "fleetadm:former"});
  ASSERT_EQ(ran.code, 0) << ran.both();
  EXPECT_EQ(agent_images(), (std::vector<std::string>{"fleetadm:former", "fleetadm:former", "fleetadm:former"}));
  expect_healthy();
}

TEST_F(Upgrade, H_TheHubGoesBackWithItsImageAlone) {
  const Json before = fleet()->hub().get(kHubPath);
  const Ran ran = run({"upgrade", "hub", "--context", "hub", "--to", "v0.0.9", "--yes", "--wait", "-o", "json"});
  ASSERT_EQ(ran.code, 0) << ran.both();
  Json after = fleet()->hub().get(kHubPath);
  EXPECT_EQ(image(fleet()->hub(), kHubPath), kFormerImage);
  after["spec"]["template"]["spec"]["containers"][0]["image"] = kThisImage;
  EXPECT_EQ(after["spec"], before.at("spec"));
  const Ran agent = run({"upgrade", "agent", "--context", "c2", "--to", "v0.0.9", "--yes", "--wait"});
  ASSERT_EQ(agent.code, 0) << agent.both();
  EXPECT_EQ(image(fleet()->spoke(2), kAgentPath), kFormerImage);
  expect_healthy();
}

}  // namespace
}  // namespace fleetadm::testkit
