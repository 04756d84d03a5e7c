// proxy kubectl and proxy kubeconfig: what other programs are given.
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sys/stat.h>

#include "commands/proxy/child.h"
#include "commands/proxy/proxy.h"
#include "core/api/gateway.h"
#include "core/api/kinds.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/config/kubeconfig.h"
#include "tests/support/fake_context.h"
#include "tests/support/fake_gateway.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::commands {
namespace {

class ProxyPrograms : public testing::Test {
 protected:
  void SetUp() override {
    register_proxy(registry);
    hub->put(kube::resources::config_maps(),
             {{"metadata", {{"name", std::string(api::kGatewayConfigMap)}, {"namespace", std::string(api::kHubNamespace)}}},
              {"data", {{"server", "https://gateway:8443"}, {"ca.crt", "PEM"}}}});
    for (const char* name : {"c1", "c2"}) hub->put(api::managed_clusters(), {{"metadata", {{"name", name}}}});
    write("hub.kubeconfig", R"(
apiVersion: v1
kind: Config
current-context: hub
clusters: [{name: h, cluster: {server: "https://hub:6443"}}]
users:
- {name: u, user: {tokenFile: token, as: somebody}}
- {name: other, user: {token: not-this-one}}
contexts: [{name: hub, context: {cluster: h, user: u, namespace: of-the-hub}}]
)");
    context.globals.config.kubeconfig = folder.path().string() + "/hub.kubeconfig";
    context.config.name = "hub";
    context.variables["PATH"] = folder.path().string();
  }
  void write(const std::string& name, const std::string& text, bool executable = false) const {
    const std::string path = folder.path().string() + "/" + name;
    std::ofstream(path) << text;
    if (executable) ::chmod(path.c_str(), 0700);
  }
  std::string read(const std::string& name) const {
    std::ifstream in(folder.path().string() + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  Result<Report> run(const std::string& verb, const std::vector<std::pair<std::string, std::string>>& flags,
                     const std::vector<std::string>& args = {}) {
    return testkit::run_command(registry, "proxy " + verb, context, flags, args);
  }
  /// A kubectl that keeps what it was given.
  void fake_kubectl(const std::string& and_then) {
    write("kubectl",
          "#!/bin/sh\ncd '" + folder.path().string() +
              "'\n/bin/cat \"$KUBECONFIG\" >seen.kubeconfig\n/bin/stat -Lc %a \"$KUBECONFIG\" >mode\n" +
              "printf '%s\\n' \"$KUBECONFIG\" >place\n: >args\nfor arg in \"$@\"; do printf '[%s]' \"$arg\" >>args; done\n" +
              and_then + "\n",
          true);
  }

  testkit::TemporaryFolder folder;
  std::shared_ptr<testkit::FakeApi> hub = testkit::FakeApi::make();
  Registry registry;
  testkit::FakeContext context{hub->client()};
};

TEST_F(ProxyPrograms, KubectlGetsItsArgumentsAndAKubeconfigThatIsNowhere) {
  fake_kubectl("exit 7");
  context.globals.config.ns = "apps";
  const auto report = run("kubectl", {{"cluster", "c1"}}, {"get", "pods", "-l", "a b", "", "--", "-x"});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->exit_code, 7);
  EXPECT_EQ(read("args"), "[get][pods][-l][a b][][--][-x]");
  EXPECT_EQ(read("mode"), "600\n");
  EXPECT_TRUE(read("place").starts_with("/proc/self/fd/"));
  const auto seen = parse_yaml(read("seen.kubeconfig"));
  ASSERT_TRUE(seen);
  const Json& cluster = (*seen)["clusters"][0]["cluster"];
  EXPECT_EQ(cluster["server"], "https://gateway:8443/clusters/c1/proxy");
  EXPECT_EQ(cluster["certificate-authority-data"], base64_encode("PEM"));
  const Json& user = (*seen)["users"][0]["user"];
  EXPECT_EQ(user["tokenFile"], folder.path().string() + "/token") << "read again when it changes";
  EXPECT_EQ(user["as"], "somebody");
  EXPECT_EQ((*seen)["contexts"][0]["context"]["namespace"], "apps");
  EXPECT_EQ(read("seen.kubeconfig").find("not-this-one"), std::string::npos);
}

TEST_F(ProxyPrograms, KubectlIsNotRunForNothing) {
  fake_kubectl("");
  EXPECT_EQ(run("kubectl", {{"cluster", "c1"}}, {}).error().category, Category::kUsage);
  EXPECT_EQ(run("kubectl", {{"cluster", "c9"}}, {"get"}).error().category, Category::kNotFound);
  context.globals.dry_run = kube::DryRun::kClient;
  EXPECT_EQ(run("kubectl", {{"cluster", "c1"}}, {"delete", "pod", "x"}).error().category, Category::kUsage);
  context.globals.dry_run = kube::DryRun::kNone;
  context.variables["FLEETADM_PLUGINS"] = "false";
  EXPECT_EQ(run("kubectl", {{"cluster", "c1"}}, {"get"}).error().category, Category::kUsage);
  context.variables.erase("FLEETADM_PLUGINS");
  context.variables["PATH"] = "/nowhere";
  EXPECT_EQ(run("kubectl", {{"cluster", "c1"}}, {"get"}).error().category, Category::kNotFound);
  EXPECT_EQ(read("args"), "") << "it never ran";
  context.variables["FLEETADM_KUBECTL"] = folder.path().string() + "/kubectl";
  EXPECT_TRUE(run("kubectl", {{"cluster", "c1"}}, {"get"}));
}

TEST_F(ProxyPrograms, LinesOfAScriptAreRunOneByOne) {
  context.screen.input = "get pods\n\n# a remark\nkubectl describe 'pod a'\nfail\nget nodes\nexit\nnever\n";
  write("kubectl",
        "#!/bin/sh\ncd '" + folder.path().string() +
            "'\nfor arg in \"$@\"; do printf '[%s]' \"$arg\" >>args; done\n[ \"$1\" != nodes ] || exit 1\n"
            "[ \"$1\" != fail ] || exit 9\nprintf '\\n' >>args\n",
        true);
  const auto report = run("kubectl", {{"cluster", "c1"}, {"interactive", "true"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(read("args"), "[get][pods]\n[describe][pod a]\n[fail][get][nodes]\n");
  EXPECT_EQ(report->exit_code, 0) << "of the last one";
  context.screen.input_read = false;
  context.screen.input = "fail";
  EXPECT_EQ(run("kubectl", {{"cluster", "c1"}, {"interactive", "true"}})->exit_code, 9);
  EXPECT_EQ(run("kubectl", {{"cluster", "c1"}, {"interactive", "true"}}, {"get"}).error().category, Category::kUsage);
}

TEST_F(ProxyPrograms, TypedLinesHaveHistoryAndTheCompletionOfKubectl) {
  write("kubectl",
        "#!/bin/sh\ncd '" + folder.path().string() +
            "'\n[ \"$1 $2\" != '__complete ge' ] || { printf 'get\\tDisplay\\n:4\\n'; exit 0; }\n"
            "[ \"$1 $2 $3\" != '__complete get po' ] || { printf 'pods\\npodtemplates\\n:4\\n'; exit 0; }\n"
            "for arg in \"$@\"; do printf '[%s]' \"$arg\" >>args; done\nprintf '\\n' >>args\n",
        true);
  context.screen.terminal = true;
  context.screen.input =
      "ge\tpo\t\r"           // as far as it is clear, and what it may be
      "kubectl ge\tnodes\r"  // kubectl may be written, too
      "\x1b[A\x1b[A -A\r"    // two lines up
      "\x04";
  const auto report = run("kubectl", {{"cluster", "c1"}, {"interactive", "true"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(read("args"), "[get][pod]\n[get][nodes]\n[get][pod][-A]\n");
  EXPECT_NE(context.screen.errors.find("pods  podtemplates"), std::string::npos) << context.screen.errors;
}

TEST_F(ProxyPrograms, AChildThatASignalEndsTellsSo) {
  const auto code = run_in_foreground({"/bin/sh", {"-c", "kill -TERM $$"}, {}});
  ASSERT_TRUE(code) << code.error().message;
  EXPECT_EQ(*code, 128 + 15);
}

TEST_F(ProxyPrograms, AProgramThatCannotBeStartedIsAnError) {
  const auto code = run_in_foreground({"/nowhere/at/all", {}, {}});
  ASSERT_FALSE(code);
  EXPECT_NE(code.error().message.find("/nowhere/at/all"), std::string::npos) << code.error().message;
}

TEST_F(ProxyPrograms, SignalsToTheParentReachTheChildAndItsCodeCounts) {
  const auto code =
      run_in_foreground({"/bin/sh", {"-c", "trap 'exit 5' TERM; kill -TERM $PPID; while :; do sleep 0.05; done"}, {}});
  ASSERT_TRUE(code) << code.error().message;
  EXPECT_EQ(*code, 5);
}

TEST_F(ProxyPrograms, KubeconfigHasAContextForEachCluster) {
  auto report = run("kubeconfig", {{"clusters", "c2"}, {"clusters", "c1"}});
  ASSERT_TRUE(report) << report.error().message;
  const auto printed = kube::Kubeconfig::from_text(context.screen.output);
  ASSERT_TRUE(printed) << printed.error().message;
  EXPECT_EQ(printed->contexts(), (std::vector<std::string>{"hub/c1", "hub/c2"}));
  EXPECT_EQ(printed->document()["users"].size(), 1U);
  kube::ConfigOverrides overrides;
  overrides.context = "hub/c2";
  EXPECT_EQ(printed->document()["clusters"][1]["cluster"]["server"], "https://gateway:8443/clusters/c2/proxy");
  EXPECT_EQ(run("kubeconfig", {{"clusters", "c9"}}).error().category, Category::kNotFound);
  EXPECT_EQ(run("kubeconfig", {}).error().category, Category::kUsage);
}

TEST_F(ProxyPrograms, KubeconfigMergesAndKeepsWhatIsThere) {
  write("mine",
        "apiVersion: v1\nkind: Config\ncurrent-context: mine\nclusters: [{name: mine, cluster: {server: 'https://m'}}]\n"
        "contexts: [{name: mine, context: {cluster: mine}}, {name: hub/c1, context: {cluster: old}}]\nusers: []\n");
  const std::string file = folder.path().string() + "/mine";
  for (int i = 0; i < 2; ++i) {
    const auto report = run("kubeconfig", {{"all-clusters", "true"}, {"merge", file}});
    ASSERT_TRUE(report) << report.error().message;
  }
  const auto merged = kube::Kubeconfig::from_text(read("mine"));
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(merged->contexts(), (std::vector<std::string>{"hub/c1", "hub/c2", "mine"}));
  EXPECT_EQ(merged->current_context(), "mine");
  EXPECT_EQ(str(merged->document()["contexts"][1], {"context", "user"}), "hub/proxy");
  EXPECT_EQ(context.screen.output, "");
  context.globals.dry_run = kube::DryRun::kServer;
  EXPECT_EQ(run("kubeconfig", {{"all-clusters", "true"}, {"merge", file}}).error().category, Category::kUsage);
}

}  // namespace
}  // namespace fleetadm::commands
