// What people get wrong, on real servers: each ends in an error that names the thing and the next step, with the exit code that
// belongs to it, and with nothing half-written.
#include <gtest/gtest.h>

#include "kubeclient/base/encoding.h"
#include "kubeclient/config/kubeconfig.h"
#include "kubeclient/pki/pki.h"
#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

class BadInput : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(1, false));
    const Ran init = fleet()->run({"init", "--context", "hub", "-o", "json"});
    ASSERT_EQ(init.code, 0) << init.both();
    before() = inventory(fleet()->hub());
  }
  static std::set<std::string>& before() {
    static std::set<std::string> names;
    return names;
  }
  static Ran with_kubeconfig(const std::string& text, const std::vector<std::string>& args) {
    RunOptions options;
    options.environment["KUBECONFIG"] = fleet()->folder().write("other.kubeconfig", text);
    return fleet()->run(args, options);
  }
  // The error names what went wrong, and something says what to do.
  static void expect(const Ran& ran, int code, const std::string& names) {
    EXPECT_EQ(ran.code, code) << ran.both();
    EXPECT_NE(ran.err.find("error"), std::string::npos) << ran.both();
    EXPECT_NE(ran.err.find(names), std::string::npos) << ran.both();
    EXPECT_EQ(inventory(fleet()->hub()), before());
  }
  static std::string replaced(std::string text, const std::string& what, const std::string& by) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
      text.replace(at, what.size(), by);
    return text;
  }
};

TEST_F(BadInput, AServerThatIsNotThere) {
  const std::string url = "https://127.0.0.1:" + std::to_string(free_port());
  expect(with_kubeconfig(replaced(fleet()->hub().kubeconfig(), fleet()->hub().url(), url),
                         {"get", "clusters", "--request-timeout", "5s"}),
         1, url.substr(8));
}

TEST_F(BadInput, AServerOfAnotherCa) {
  // The hub's address with the spoke's CA: whoever answers there is not believed.
  expect(with_kubeconfig(replaced(fleet()->spoke(1).kubeconfig(), fleet()->spoke(1).url(), fleet()->hub().url()),
                         {"get", "clusters"}),
         1, "certificate");
}

TEST_F(BadInput, AnExpiredClientCertificate) {
  pki::LeafOptions expired{.subject = {.common_name = "late", .organizations = {"system:masters"}}, .client = true};
  expired.validity = -std::chrono::minutes(5);
  expired.backdate = std::chrono::hours(1);
  const auto pair = pki::issue(fleet()->hub().ca(), expired);
  ASSERT_TRUE(pair) << pair.error().message;
  const Json config = kube::make_kubeconfig(
      fleet()->hub().url(), fleet()->hub().ca().certificate,
      {{"client-certificate-data", base64_encode(pair->certificate)}, {"client-key-data", base64_encode(pair->key)}});
  const Ran ran = with_kubeconfig(dump_json(config), {"get", "clusters"});
  EXPECT_NE(ran.code, 0) << ran.both();
  EXPECT_NE(ran.err.find("error"), std::string::npos) << ran.both();
  EXPECT_EQ(ran.err.find("PRIVATE KEY"), std::string::npos);
}

TEST_F(BadInput, AWrongToken) {
  const Ran ran = with_kubeconfig(fleet()->hub().kubeconfig_with_token("sesame-open"), {"get", "clusters"});
  expect(ran, 4, "hub");
  EXPECT_EQ((ran.out + ran.err).find("sesame-open"), std::string::npos) << "a token is never printed";
}

TEST_F(BadInput, AUserWithoutRights) {
  const std::string nobody = fleet()->hub().kubeconfig_for("nobody");
  expect(with_kubeconfig(nobody, {"get", "clusters"}), 4, "managedclusters");
  expect(with_kubeconfig(nobody, {"accept", "c1", "--yes"}), 4, "c1");
  expect(with_kubeconfig(nobody, {"init"}), 4, "customresourcedefinitions");
}

TEST_F(BadInput, KubeconfigsThatAreNone) {
  expect(with_kubeconfig("clusters: [", {"get", "clusters"}), 64, "other.kubeconfig");
  expect(with_kubeconfig("clusters: 7\n", {"get", "clusters"}), 64, "clusters");
  const Ran missing = fleet()->run({"get", "clusters", "--kubeconfig", "/nonexistent/kubeconfig"});
  expect(missing, 64, "/nonexistent/kubeconfig");
  expect(fleet()->run({"get", "clusters", "--context", "nowhere"}), 64, "nowhere");
}

TEST_F(BadInput, ManifestsThatAreNone) {
  const auto create = [](const std::string& file) {
    return fleet()->run({"work", "create", "w", "-f", file, "--clusters", "c1", "--context", "hub"});
  };
  expect(create(fleet()->folder().write("broken.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"x\n")), 64,
         "broken.yaml");
  expect(create(fleet()->folder().write("nameless.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: x}\n")), 64,
         "nameless.yaml:1");
  expect(create(fleet()->folder().write("empty.yaml", "\n")), 64, "manifest");
  expect(create("/nonexistent.yaml"), 64, "/nonexistent.yaml");
  std::string large = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: large, namespace: default}\ndata:\n  a: " +
                      std::string(600UL * 1024, 'x') + "\n";
  expect(create(fleet()->folder().write("large.yaml", large)), 1, "500");
}

TEST_F(BadInput, NamesThatAreNone) {
  expect(fleet()->run({"join", "--context", "c1", "--cluster-name", "Not_A_Label", "--hub-apiserver", "https://x", "--hub-token",
                       "t", "--ca-cert-hash", "sha256:0"}),
         64, "Not_A_Label");
  expect(fleet()->run({"accept", "Not_A_Label", "--context", "hub", "--yes"}), 64, "Not_A_Label");
  expect(fleet()->run({"accept", "unknown", "--context", "hub", "--yes"}), 5, "unknown");
}

TEST_F(BadInput, AHubThatIsNoHub) {
  const Ran ran = fleet()->run({"get", "clusters", "--context", "c1"});
  EXPECT_NE(ran.code, 0) << ran.both();
  EXPECT_NE(ran.err.find("init"), std::string::npos) << "the next step is named: " << ran.both();
  const Ran token = fleet()->run({"get", "token", "--context", "c1"});
  EXPECT_EQ(token.code, 5) << token.both();
  EXPECT_NE(token.err.find("init"), std::string::npos) << token.both();
}

}  // namespace
}  // namespace fleetadm::testkit
