#include "kubeclient/base/yaml.h"
#include "tests/unit/kubeclient/config/fixture.h"

namespace fleetadm::kube {
namespace {

class Load : public ConfigFixture {};

TEST_F(Load, ExplicitFileMustExist) {
  ConfigOverrides overrides;
  overrides.kubeconfig = path("none");
  const auto loaded = Kubeconfig::load(overrides);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().category, Category::kNotFound);
  EXPECT_NE(loaded.error().message.find(path("none")), std::string::npos);
}

TEST_F(Load, NothingAtAllIsEmptyAndSaysSo) {
  const auto loaded = Kubeconfig::load({});
  ASSERT_TRUE(loaded);
  EXPECT_TRUE(loaded->empty());
  const auto resolved = load_rest_config({});
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().reason, "EmptyConfig");
  EXPECT_EQ(resolved.error().message, "invalid configuration: no configuration has been provided");
  write("empty", "");
  ConfigOverrides overrides;
  overrides.kubeconfig = path("empty");
  EXPECT_TRUE(Kubeconfig::load(overrides)->empty());
}

TEST_F(Load, HomesConfigIsTheDefault) {
  write(".kube/config", config("server: 'https://home:1'", "token: t"));
  EXPECT_EQ(load_rest_config({})->server, "https://home:1");
}

TEST_F(Load, FirstFileWinsPerEntryAsAWhole) {
  write("a", "clusters: [{name: k, cluster: {server: 'https://a:1'}}]\nusers: [{name: u, user: {token: a}}]\n");
  write(
      "b",
      "clusters: [{name: k, cluster: {server: 'https://b:1', tls-server-name: b}}, {name: l, cluster: {server: 'https://l:1'}}]\n"
      "contexts: [{name: c, context: {cluster: k, user: u}}]\ncurrent-context: c\n");
  write("c", "current-context: other\ncontexts: [{name: other, context: {cluster: l}}]\n");
  set("KUBECONFIG", (path("missing") + "::" + path("a") + ":" + path("b") + ":" + path("a") + ":" + path("c")).c_str());
  const auto loaded = Kubeconfig::load({});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->current_context(), "c");
  EXPECT_EQ(loaded->contexts(), (std::vector<std::string>{"c", "other"}));
  const auto rest = loaded->resolve({});
  ASSERT_TRUE(rest) << rest.error().message;
  EXPECT_EQ(rest->server, "https://a:1");
  EXPECT_EQ(rest->tls_server_name, "");
  EXPECT_EQ(rest->credentials->current()->token, "a");
}

TEST_F(Load, ManyEntriesAreMergedInTheTimeOfReadingThem) {
  constexpr int kEntries = 20'000;
  const auto list = [](const std::string& prefix) {
    std::string text = "{\"users\":[";
    for (int i = 0; i < kEntries; ++i)
      text += std::string(i > 0 ? "," : "") + "{\"name\":\"" + prefix + std::to_string(i) + "\",\"user\":{}}";
    return text + "]}";
  };
  write("a", list("a"));
  write("b", list("b"));
  set("KUBECONFIG", (path("a") + ":" + path("b") + ":" + path("a")).c_str());
  const auto begun = std::chrono::steady_clock::now();
  const auto loaded = Kubeconfig::load({});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(list_at(loaded->document(), {"users"}).size(), 2U * kEntries);
  // Each compared with all before it would be 1.6 thousand million comparisons: minutes.
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));
}

TEST_F(Load, ExecPluginsCanBeForbidden) {
  const auto text = config("server: 'https://a:1'",
                           "exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/true, interactiveMode: Never}");
  EXPECT_TRUE(Kubeconfig::from_text(text)->resolve({}));
  set("FLEETADM_CREDENTIAL_PLUGIN_POLICY", "DenyAll");
  const auto refused = Kubeconfig::from_text(text)->resolve({});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().category, Category::kUsage);
  EXPECT_NE(refused.error().message.find("policy is DenyAll"), std::string::npos) << refused.error().message;
}

TEST_F(Load, PathsAreRelativeToTheFileThatNamesThem) {
  write("sub/ca.crt", ca().certificate);
  write("sub/token", "abc\n");
  write("sub/config", config("server: 'https://a:1', certificate-authority: ca.crt", "tokenFile: ./token"));
  ConfigOverrides overrides;
  overrides.kubeconfig = path("sub/config");
  const auto rest = load_rest_config(overrides);
  ASSERT_TRUE(rest) << rest.error().message;
  EXPECT_EQ(rest->ca_data, ca().certificate);
  EXPECT_EQ(rest->credentials->current()->token, "abc");
}

TEST_F(Load, AllMissingFilesOfTheVariableAreAWarning) {
  set("KUBECONFIG", path("x").c_str());
  testing::internal::CaptureStderr();
  EXPECT_TRUE(Kubeconfig::load({})->empty());
  EXPECT_NE(testing::internal::GetCapturedStderr().find(path("x")), std::string::npos);
}

struct BadCase {
  const char* yaml;
  const char* message;
};
class BadShapes : public ConfigFixture, public testing::WithParamInterface<BadCase> {};
TEST_P(BadShapes, NameFileAndField) {
  const auto loaded = Kubeconfig::from_text(GetParam().yaml, "the-file");
  ASSERT_FALSE(loaded) << GetParam().yaml;
  EXPECT_EQ(loaded.error().category, Category::kUsage);
  EXPECT_TRUE(loaded.error().message.starts_with("the-file: ")) << loaded.error().message;
  EXPECT_NE(loaded.error().message.find(GetParam().message), std::string::npos) << loaded.error().message;
}
INSTANTIATE_TEST_SUITE_P(
    Table, BadShapes,
    testing::Values(BadCase{"a: \"x\n", "line 2"}, BadCase{"- a\n", "not a mapping"}, BadCase{"just text", "not a mapping"},
                    BadCase{"kind: Secret\napiVersion: v1\n", "not a kubeconfig but v1 Secret"},
                    BadCase{"clusters: {}\n", "clusters is not a list"},
                    BadCase{"clusters: [3]\n", "clusters[0] is not a mapping"},
                    BadCase{"users: [{name: 1}]\n", "users[0].name is not text"},
                    BadCase{"users: [{name: a},{name: a}]\n", "users holds the name \"a\" twice"},
                    BadCase{"clusters: [{name: a, cluster: {server: 1}}]\n", "clusters[0].cluster.server is not text"},
                    BadCase{"clusters: [{name: a, cluster: {insecure-skip-tls-verify: 'x'}}]\n", "is not true or false"},
                    BadCase{"users: [{name: a, user: {as-groups: [1]}}]\n", "users[0].user.as-groups is not a list of texts"},
                    BadCase{"users: [{name: a, user: {as-user-extra: {x: y}}}]\n", "as-user-extra is not a mapping of lists"},
                    BadCase{"users: [{name: a, user: {exec: {args: x}}}]\n", "users[0].user.exec.args is not a list of texts"},
                    BadCase{"contexts: [{name: a, context: []}]\n", "contexts[0].context is not a mapping"},
                    BadCase{"current-context: 5\n", "current-context is not text"},
                    BadCase{"a: 1\n---\nb: 2\n", "more than one document"}));

TEST_F(Load, NullsAreAbsent) {
  EXPECT_TRUE(
      Kubeconfig::from_text("clusters: null\nusers:\ncontexts: ~\ncurrent-context:\nkind: Config\napiVersion: v1\n")->empty());
}

}  // namespace
}  // namespace fleetadm::kube
