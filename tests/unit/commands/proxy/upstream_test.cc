// Commands for members on a hub with upstream's cluster-proxy instead of a gateway.
#include <gtest/gtest.h>
#include <map>

#include "commands/get/get.h"
#include "commands/proxy/proxy.h"
#include "core/api/kinds.h"
#include "core/api/managed_service_account.h"
#include "core/msa/rules/token_secret.h"
#include "kubeclient/base/encoding.h"
#include "tests/support/fake_context.h"
#include "tests/support/stream_lab.h"
#include "tests/support/upstream_lab.h"

namespace fleetadm::commands {
namespace {

class BehindClusterProxy : public testing::Test {
 protected:
  BehindClusterProxy() {
    register_proxy(registry);
    register_get_members(registry);
    lab.add_pod("p", "exec sleep 1000");
    for (const char* name : {"c1", "c2"}) hub->put(api::managed_clusters(), {{"metadata", {{"name", name}}}});
    add_account("c1", "app");
    context.config.credentials = kube::static_credentials({.token = "of-the-hub"});
    context.variables["FLEETADM_KUBECTL"] = "/bin/true";
    context.connect = [](const kube::RestConfig& to) { return kube::Client::connect(to); };
  }
  void add_account(const std::string& cluster, const std::string& name) {
    token = "e30." +
            base64url_encode(
                dump_json({{"iat", 1700000000}, {"exp", 4000000000}, {"kubernetes.io", {{"serviceaccount", {{"uid", "u"}}}}}})) +
            ".c2ln";
    const Json object = hub->put(api::managed_service_accounts(), {{"metadata", {{"name", name}, {"namespace", cluster}}},
                                                                   {"status", {{"tokenSecretRef", {{"name", name}}}}}});
    hub->put(kube::resources::secrets(), msa::secret_object(Json(), object, token, upstream.member_ca()));
  }
  Result<Report> run(const std::string& path, const std::vector<std::pair<std::string, std::string>>& flags,
                     const std::vector<std::string>& args = {}) {
    return testkit::run_command(registry, path, context, flags, args);
  }
  /// The hub's credential went to nobody.
  void expect_nothing_of_the_hub() const {
    for (const auto& seen : upstream.seen()) {
      EXPECT_EQ(seen.authorization.find("of-the-hub"), std::string::npos) << seen.at << " " << seen.path;
      EXPECT_FALSE(seen.impersonates);
    }
  }

  testkit::StreamLab lab;
  testkit::UpstreamLab upstream{lab.config()};
  std::shared_ptr<testkit::FakeApi> hub = testkit::FakeApi::make();
  std::string token;
  Registry registry;
  testkit::FakeContext context{hub->client()};
};

TEST_F(BehindClusterProxy, NobodysCredentialsOfTheHubAreShownToMembers) {
  upstream.publish(*hub, true);
  for (const auto& [path, args] : std::map<std::string, std::vector<std::string>>{
           {"exec", {"p", "true"}}, {"logs", {"p"}}, {"proxy port-forward", {"p", ":80"}}, {"proxy kubectl", {"get", "pods"}}}) {
    const auto report = run(path, {{"cluster", "c1"}}, args);
    ASSERT_FALSE(report) << path;
    EXPECT_EQ(report.error().category, Category::kUsage) << path << ": " << report.error().message;
    EXPECT_NE(report.error().hint.find("--sa"), std::string::npos) << path;
  }
  EXPECT_TRUE(upstream.seen().empty());
  EXPECT_TRUE(upstream.dialed().empty());
}

TEST_F(BehindClusterProxy, CommandsActAsTheAccountByEitherServer) {
  for (const bool user_server : {false, true}) {
    upstream.publish(*hub, user_server);
    context.screen.output.clear();
    context.config.impersonate_user = "somebody";
    const auto ran = run("exec", {{"cluster", "c1"}, {"sa", "app"}}, {"p", "echo", "heard"});
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_EQ(context.screen.output, "heard\n");
    ASSERT_FALSE(upstream.seen().empty());
    EXPECT_EQ(upstream.seen().back().at, user_server ? "user-server" : "member");
    EXPECT_EQ(upstream.seen().back().authorization, "Bearer " + token);
  }
  expect_nothing_of_the_hub();
}

TEST_F(BehindClusterProxy, AnAccountThatIsNotThereIsSaid) {
  upstream.publish(*hub, true);
  const auto report = run("logs", {{"cluster", "c2"}, {"sa", "app"}}, {"p"});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().category, Category::kNotFound) << report.error().message;
  EXPECT_EQ(run("logs", {{"cluster", "c1"}, {"sa", "../app"}}, {"p"}).error().category, Category::kUsage);
  EXPECT_TRUE(upstream.seen().empty());
}

TEST_F(BehindClusterProxy, GetReadsFromThoseThatHaveTheAccountAndNamesTheOthers) {
  upstream.publish(*hub, true);
  // Types are looked up on the hub.
  const auto types = [](const std::string& items) {
    return kube::Response{200,
                          {{"content-type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}},
                          R"({"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[)" + items + "]}"};
  };
  hub->route("/api", types(R"({"metadata":{},"versions":[{"version":"v1","freshness":"Current","resources":[
      {"resource":"pods","responseKind":{"group":"","version":"v1","kind":"Pod"},"scope":"Namespaced","singularResource":"pod",
       "verbs":["get","list"]}]}]})"));
  hub->route("/apis", types(""));
  const auto report = run("get", {{"all-clusters", "true"}, {"sa", "app"}}, {"pods"});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->exit_code, kPartialExitCode);
  ASSERT_TRUE(report->table);
  ASSERT_EQ(report->table->rows.size(), 1U);
  EXPECT_EQ(report->table->rows[0][0], "c1");
  ASSERT_EQ(report->failures.size(), 1U);
  EXPECT_EQ(report->failures[0].cluster, "c2");
  expect_nothing_of_the_hub();
}

TEST_F(BehindClusterProxy, HealthSaysByWhichWayAndWhatThatCannotMakeSafe) {
  upstream.publish(*hub, true);
  const auto report = run("proxy health", {{"sa", "app"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->exit_code, kPartialExitCode);
  EXPECT_EQ(report->data["way"], "user-server");
  EXPECT_EQ(report->table->rows[0][1], "Healthy");
  EXPECT_EQ(report->table->rows[1][1] + " " + report->table->rows[1][3], "NoRoute hub");
  ASSERT_EQ(report->notes.size(), 2U);
  EXPECT_NE(report->notes[0].find("not here"), std::string::npos);
  EXPECT_EQ(report->data["cautions"].size(), 2U);
  expect_nothing_of_the_hub();
}

TEST_F(BehindClusterProxy, HealthOfAnybodyShowsNoCredential) {
  upstream.publish(*hub, true);
  hub->put(api::managed_clusters(),
           {{"metadata", {{"name", "c1"}}},
            {"spec", {{"managedClusterClientConfigs", Json::array({{{"caBundle", base64_encode(upstream.member_ca())}}})}}}});
  const auto report = run("proxy health", {});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->data["way"], "konnectivity");
  EXPECT_EQ(report->table->rows[0][1], "Healthy") << report->table->rows[0][4];
  ASSERT_EQ(upstream.seen().size(), 1U);
  EXPECT_EQ(upstream.seen()[0].at + upstream.seen()[0].authorization, "member");
}

TEST_F(BehindClusterProxy, OtherProgramsAreNotToldOfAWayThatTheyCannotGo) {
  upstream.publish(*hub, true);
  const auto report = run("proxy kubeconfig", {{"cluster", "c1"}});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().category, Category::kUnsupported) << report.error().message;
  EXPECT_NE(report.error().hint.find("proxy kubectl"), std::string::npos);
}

}  // namespace
}  // namespace fleetadm::commands
