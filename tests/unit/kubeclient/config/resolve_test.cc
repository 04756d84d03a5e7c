#include "kubeclient/base/encoding.h"
#include "tests/unit/kubeclient/config/fixture.h"

namespace fleetadm::kube {
namespace {

class Resolve : public ConfigFixture {
 protected:
  static std::string data(const std::string& pem) { return base64_encode(pem); }
};

TEST_F(Resolve, TakesEveryFieldOver) {
  const auto pair = client("me");
  const auto rest = resolve(config(
      "server: 'https://h:6443/prefix/?x#y', tls-server-name: sni, proxy-url: 'socks5://p:1', certificate-authority-data: " +
          data(ca().certificate),
      "client-certificate-data: " + data(pair.certificate) + ", client-key-data: " + data(pair.key) +
          ", token: t, as: admin, as-uid: '7', as-groups: [g1, g2], as-user-extra: {k: [v1, v2]}"));
  ASSERT_TRUE(rest) << rest.error().message;
  EXPECT_EQ(rest->server, "https://h:6443/prefix");
  EXPECT_EQ(rest->tls_server_name, "sni");
  EXPECT_EQ(rest->proxy_url, "socks5://p:1");
  EXPECT_EQ(rest->ca_data, ca().certificate);
  EXPECT_EQ(rest->name, "c");
  EXPECT_FALSE(rest->insecure);
  const auto credentials = rest->credentials->current();
  EXPECT_EQ(credentials->client_certificate, pair.certificate);
  EXPECT_EQ(credentials->client_key, pair.key);
  EXPECT_EQ(credentials->token, "t");
  EXPECT_FALSE(rest->credentials->refresh());
  EXPECT_EQ(rest->impersonate_user, "admin");
  EXPECT_EQ(rest->impersonate_uid, "7");
  EXPECT_EQ(rest->impersonate_groups, (std::vector<std::string>{"g1", "g2"}));
  ASSERT_EQ(rest->impersonate_extra.size(), 1U);
  EXPECT_EQ(rest->impersonate_extra[0].second, (std::vector<std::string>{"v1", "v2"}));
}

TEST_F(Resolve, OverridesWin) {
  const std::string yaml =
      "clusters: [{name: k, cluster: {server: 'https://k:1'}}, {name: l, cluster: {server: 'https://l:1'}}]\n"
      "users: [{name: u, user: {token: tu}}, {name: v, user: {token: tv, as: x}}]\n"
      "contexts: [{name: c, context: {cluster: k, user: u, namespace: nc}}, {name: d, context: {cluster: l, user: "
      "v}}]\ncurrent-context: c\n";
  EXPECT_EQ(resolve(yaml)->default_namespace, "nc");
  ConfigOverrides overrides;
  overrides.context = "d";
  overrides.ns = "given";
  overrides.as = "boss";
  overrides.as_groups = {"g"};
  overrides.tls_server_name = "name";
  auto rest = resolve(yaml, overrides);
  EXPECT_EQ(rest->server, "https://l:1");
  EXPECT_EQ(rest->default_namespace, "given");
  EXPECT_EQ(rest->impersonate_user, "boss");
  EXPECT_EQ(rest->impersonate_groups, std::vector<std::string>{"g"});
  EXPECT_EQ(rest->tls_server_name, "name");
  overrides.cluster = "k";
  overrides.user = "u";
  rest = resolve(yaml, overrides);
  EXPECT_EQ(rest->server, "https://k:1");
  EXPECT_EQ(rest->credentials->current()->token, "tu");
}

TEST_F(Resolve, WhatIsNamedMustExist) {
  const std::string yaml = config("server: 'https://h'", "token: t");
  ConfigOverrides context, cluster, user;
  context.context = "x";
  cluster.cluster = "x";
  user.user = "x";
  for (const auto& [overrides, kind] :
       std::vector<std::pair<ConfigOverrides, std::string>>{{context, "context"}, {cluster, "cluster"}, {user, "user"}}) {
    const auto rest = resolve(yaml, overrides);
    ASSERT_FALSE(rest);
    EXPECT_EQ(rest.error().category, Category::kNotFound);
    EXPECT_TRUE(rest.error().message.starts_with(kind + " \"x\" does not exist")) << rest.error().message;
  }
  EXPECT_EQ(resolve(yaml, context).error().hint, "contexts: c");
  const auto none = resolve("clusters: [{name: k, cluster: {server: h}}]\ncontexts: [{name: c, context: {cluster: k}}]\n");
  EXPECT_EQ(none.error().message, "the kubeconfig has no current context");
}

TEST_F(Resolve, SchemesAndCredentials) {
  const std::string ca_field = ", certificate-authority-data: " + data(ca().certificate);
  EXPECT_EQ(resolve(config("server: host", "token: t"))->server, "http://host");
  EXPECT_EQ(resolve(config("server: 'h:1'" + ca_field, "token: t"))->server, "https://h:1");
  EXPECT_EQ(resolve(config("server: h, insecure-skip-tls-verify: true", ""))->server, "https://h");
  EXPECT_TRUE(resolve(config("server: h, insecure-skip-tls-verify: true", ""))->insecure);
  EXPECT_FALSE(resolve(config("server: h", ""))->disable_compression);
  EXPECT_TRUE(resolve(config("server: h, disable-compression: true", ""))->disable_compression);
  // Nothing secret goes over plain http.
  EXPECT_EQ(resolve(config("server: 'http://127.0.0.1:1'", "token: t, as: x"))->credentials, nullptr);
  EXPECT_EQ(resolve(config("server: 'http://127.0.0.1:1'", "token: t, as: x"))->impersonate_user, "x");
  EXPECT_EQ(resolve(config("server: 'https://h'", ""))->credentials, nullptr);
}

struct InvalidCase {
  std::string cluster;
  std::string user;
  std::string message;
};
class Invalid : public ConfigFixture, public testing::WithParamInterface<InvalidCase> {};
TEST_P(Invalid, IsNamed) {
  const auto rest = resolve(config(GetParam().cluster, GetParam().user));
  ASSERT_FALSE(rest) << GetParam().cluster << GetParam().user;
  EXPECT_EQ(rest.error().category, Category::kUsage);
  EXPECT_TRUE(rest.error().message.starts_with("invalid configuration: ")) << rest.error().message;
  EXPECT_NE(rest.error().message.find(GetParam().message), std::string::npos) << rest.error().message;
}
constexpr const char* kServer = "server: 'https://h'";
INSTANTIATE_TEST_SUITE_P(
    Table, Invalid,
    testing::Values(
        InvalidCase{"", "token: t", "no server found for cluster \"k\""},
        InvalidCase{"server: 'h/path'", "", "neither a URL nor a host"},
        InvalidCase{"server: 'https://h', certificate-authority: /x, certificate-authority-data: eA==", "",
                    "are both given for cluster \"k\""},
        InvalidCase{"server: 'https://h', certificate-authority: /no/such/file", "", "reading /no/such/file"},
        InvalidCase{"server: 'https://h', certificate-authority-data: '!!'", "",
                    "certificate-authority-data of cluster \"k\" is not base64"},
        InvalidCase{"server: 'https://h', certificate-authority-data: eA==", "", "holds no readable certificate"},
        InvalidCase{"server: 'https://h', certificate-authority-data: eA==, insecure-skip-tls-verify: true", "",
                    "insecure-skip-tls-verify"},
        InvalidCase{"server: 'https://h', proxy-url: 'ftp://x'", "", "proxy-url of cluster \"k\""},
        InvalidCase{kServer, "client-certificate: /x, client-certificate-data: eA==",
                    "client-certificate and client-certificate-data are both"},
        InvalidCase{kServer, "client-key: /x, client-key-data: eA==", "client-key and client-key-data are both"},
        InvalidCase{kServer, "client-certificate-data: eA==", "client-key or client-key-data is missing"},
        InvalidCase{kServer, "client-key-data: eA==", "client-certificate or client-certificate-data is missing"},
        InvalidCase{kServer, "client-certificate-data: eA==, client-key-data: eA==", "does not belong to its key"},
        InvalidCase{kServer, "token: t, username: a, password: b", "more than one way of authentication"},
        InvalidCase{kServer, "as-groups: [g]", "without a user"}, InvalidCase{kServer, "as-uid: x", "without a user"},
        InvalidCase{kServer, "as-user-extra: {a: [b]}", "without a user"},
        InvalidCase{kServer, "auth-provider: {name: gcp}", "auth-provider \"gcp\" of user \"u\" is not supported"},
        InvalidCase{kServer, "auth-provider: {name: oidc}, exec: {command: x, apiVersion: client.authentication.k8s.io/v1beta1}",
                    "auth-provider and exec"},
        InvalidCase{kServer, "exec: {apiVersion: client.authentication.k8s.io/v1beta1}", "has no command"},
        InvalidCase{kServer, "exec: {command: x, interactiveMode: Never}", "has no apiVersion"},
        InvalidCase{kServer, "exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1, interactiveMode: Never}",
                    "invalid apiVersion"},
        InvalidCase{kServer, "exec: {command: x, apiVersion: client.authentication.k8s.io/v1}", "has no interactiveMode"},
        InvalidCase{kServer, "exec: {command: x, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Some}",
                    "is not Never"},
        InvalidCase{kServer, "exec: {command: x, apiVersion: client.authentication.k8s.io/v1beta1, env: [{value: x}]}",
                    "without a name"},
        InvalidCase{"", "as-uid: x", "[no server found for cluster \"k\", a uid"}));

TEST_F(Resolve, ErrorsHoldNoSecret) {
  const auto rest = resolve(config("", "token: s3cr3t, username: a, password: hunter2"));
  ASSERT_FALSE(rest);
  EXPECT_EQ(rest.error().message.find("s3cr3t"), std::string::npos);
  EXPECT_EQ(rest.error().message.find("hunter2"), std::string::npos);
}

TEST_F(Resolve, FlattenIsSelfContained) {
  const auto pair = client("me");
  write("ca", ca().certificate);
  write("crt", pair.certificate);
  write("key", pair.key);
  write("tok", "abc\n");
  write("config",
        config("server: 'https://h', certificate-authority: ca", "client-certificate: crt, client-key: key, tokenFile: tok") +
            "preferences: {}\n");
  ConfigOverrides overrides;
  overrides.kubeconfig = path("config");
  const auto flat = Kubeconfig::load(overrides)->flatten("c");
  ASSERT_TRUE(flat) << flat.error().message;
  EXPECT_EQ(dump_json(*flat).find(folder_), std::string::npos) << dump_json(*flat);
  std::filesystem::remove_all(folder_);
  const auto rest = resolve(dump_json(*flat));
  ASSERT_TRUE(rest) << rest.error().message;
  EXPECT_EQ(rest->ca_data, ca().certificate);
  EXPECT_EQ(rest->credentials->current()->client_key, pair.key);
  EXPECT_EQ(rest->credentials->current()->token, "abc");
}

TEST_F(Resolve, InClusterIsTheFallback) {
  write("sa/token", "sa-token\n");
  write("sa/ca.crt", ca().certificate);
  write("sa/namespace", "kube-thing\n");
  set("FLEETADM_SERVICEACCOUNT_DIR", path("sa").c_str());
  EXPECT_FALSE(in_cluster());
  EXPECT_EQ(in_cluster_config().error().category, Category::kUsage);
  set("KUBERNETES_SERVICE_HOST", "fd00::1");
  set("KUBERNETES_SERVICE_PORT", "443");
  EXPECT_TRUE(in_cluster());
  ConfigOverrides overrides;
  overrides.as = "someone";
  const auto rest = load_rest_config(overrides);
  ASSERT_TRUE(rest) << rest.error().message;
  EXPECT_EQ(rest->server, "https://[fd00::1]:443");
  EXPECT_EQ(rest->ca_data, ca().certificate);
  EXPECT_EQ(rest->default_namespace, "kube-thing");
  EXPECT_EQ(rest->credentials->current()->token, "sa-token");
  EXPECT_EQ(rest->impersonate_user, "someone");
  set("POD_NAMESPACE", "other");
  EXPECT_EQ(in_cluster_namespace(), "other");
  write(".kube/config", config("server: 'https://home:1'", "token: t"));
  EXPECT_EQ(load_rest_config({})->server, "https://home:1");
  std::filesystem::remove(path(".kube/config"));
  write("sa/token", "");
  EXPECT_EQ(load_rest_config({}).error().category, Category::kAuth);
}

class InPod : public Resolve {
 protected:
  void SetUp() override {
    Resolve::SetUp();
    write("sa/token", "sa-token\n");
    write("sa/ca.crt", ca().certificate);
    set("FLEETADM_SERVICEACCOUNT_DIR", path("sa").c_str());
    set("KUBERNETES_SERVICE_HOST", "10.0.0.1");
    set("KUBERNETES_SERVICE_PORT", "443");
  }

  // The error of choosing a connection; a category of kInternal stands for success.
  static Error refusal(const ConfigOverrides& overrides) {
    const auto rest = load_rest_config(overrides);
    return rest ? Error{} : rest.error();
  }
};

TEST_F(InPod, ANamedEntryThatNoKubeconfigHasIsAnError) {
  ASSERT_TRUE(load_rest_config({}));
  ConfigOverrides context, cluster, user;
  context.context = "staging";
  cluster.cluster = "staging";
  user.user = "staging";
  for (const std::string& list : {std::string(), path("missing") + ":" + path("missing-too")}) {
    set("KUBECONFIG", list.c_str());
    EXPECT_EQ(refusal(context).category, Category::kUsage);
    EXPECT_EQ(refusal(context).message, "context \"staging\" does not exist in the kubeconfig");
    EXPECT_EQ(refusal(cluster).message, "cluster \"staging\" does not exist in the kubeconfig");
    EXPECT_EQ(refusal(user).message, "user \"staging\" does not exist in the kubeconfig");
  }
  write(".kube/config", config("server: 'https://home:1'", "token: t"));
  set("KUBECONFIG", "");
  EXPECT_EQ(refusal(context).message, "context \"staging\" does not exist in the kubeconfig");
  EXPECT_EQ(refusal(context).category, Category::kUsage);
}

TEST_F(InPod, AnExplicitFileThatIsMissingIsAnError) {
  ConfigOverrides overrides;
  overrides.kubeconfig = path("missing");
  EXPECT_EQ(refusal(overrides).category, Category::kUsage);
}

TEST_F(InPod, TheClustersCaIsNeeded) {
  for (const std::string content : {"", "no certificate"}) {
    write("sa/ca.crt", content);
    EXPECT_EQ(refusal({}).category, Category::kUsage) << content;
    EXPECT_NE(refusal({}).message.find(path("sa/ca.crt")), std::string::npos) << refusal({}).message;
  }
  std::filesystem::remove(path("sa/ca.crt"));
  EXPECT_EQ(refusal({}).category, Category::kUsage);
  EXPECT_NE(refusal({}).message.find(path("sa/ca.crt")), std::string::npos) << refusal({}).message;
}

TEST_F(InPod, AMissingTokenIsNamed) {
  std::filesystem::remove(path("sa/token"));
  EXPECT_EQ(refusal({}).category, Category::kAuth);
  EXPECT_NE(refusal({}).message.find(path("sa/token")), std::string::npos) << refusal({}).message;
}

TEST_F(Resolve, ACaFileThatIsEmptyIsNotTheSystemsRoots) {
  write("ca", "");
  const auto rest = resolve(config("server: 'https://h', certificate-authority: " + path("ca"), "token: t"));
  ASSERT_FALSE(rest);
  EXPECT_NE(rest.error().message.find("certificate-authority of cluster \"k\" is empty"), std::string::npos)
      << rest.error().message;
}

}  // namespace
}  // namespace fleetadm::kube
