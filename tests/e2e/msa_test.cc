// The life of a ManagedServiceAccount, with the add-on as people install it: an account whose token on the hub opens what its
// role allows and nothing else, is replaced with the account, and ends with the object or the add-on.
#include <functional>
#include <gtest/gtest.h>
#include <thread>

#include "core/controller/controller.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/rest/client.h"
#include "tests/support/cluster_profiles.h"
#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kAccounts =
    "/apis/authentication.open-cluster-management.io/v1beta1/namespaces/c1/managedserviceaccounts/";
constexpr std::string_view kSpokeAccounts = "/api/v1/namespaces/open-cluster-management-agent-addon/serviceaccounts/";
constexpr std::string_view kSecrets = "/api/v1/namespaces/c1/secrets/";

class ManagedServiceAccounts : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(1, true));
    const Ran init = run({"init", "--context", "hub", "--cluster-profiles", "--wait", "-o", "json"});
    ASSERT_EQ(init.code, 0) << init.both();
    std::vector<std::string> join = join_args(init.json());
    join.insert(join.end(), {"--external-server-urls", spoke().url()});
    const Ran joined = run(join);
    ASSERT_EQ(joined.code, 0) << joined.both();
    const Ran accepted = run({"accept", "c1", "--context", "hub", "--yes", "--wait=available"});
    ASSERT_EQ(accepted.code, 0) << accepted.both();
    const Ran installed = run({"addon", "install", "managed-serviceaccount", "--image", "fleetadm:test", "--context", "hub"});
    ASSERT_EQ(installed.code, 0) << installed.both();
    const Ran enabled = run({"addon", "enable", "managed-serviceaccount", "--clusters", "c1", "--context", "hub"});
    ASSERT_EQ(enabled.code, 0) << enabled.both();
  }
  static KubeServer& hub() { return fleet()->hub(); }
  static KubeServer& spoke() { return fleet()->spoke(1); }
  static Ran msa(std::vector<std::string> args) {
    args.insert(args.begin(), "msa");
    for (const char* more : {"--cluster", "c1", "--context", "hub"}) args.emplace_back(more);
    return run(args);
  }
  static std::string token_of(const std::string& name) {
    const Ran printed = msa({"token", name});
    EXPECT_EQ(printed.code, 0) << printed.err;
    EXPECT_EQ(printed.err, "");
    EXPECT_TRUE(printed.out.ends_with("\n"));
    return printed.out.substr(0, printed.out.size() - 1);
  }
  /// What the managed cluster answers to the holder of a token: an HTTP code, 200 if it is allowed.
  static int answer_to(const std::string& token, const kube::Resource& what, const std::string& ca = {}) {
    kube::RestConfig config;
    config.server = spoke().url();
    config.ca_data = ca.empty() ? spoke().ca().certificate : ca;
    kube::Credentials credentials;
    credentials.token = token;
    config.credentials = kube::static_credentials(credentials);
    const auto listed = kube::Client::connect(config).list(what, "default");
    return listed ? 200 : listed.error().code;
  }
  static void allow_deployments(const std::string& account) {
    const Json role{{"apiVersion", "rbac.authorization.k8s.io/v1"},
                    {"kind", "Role"},
                    {"metadata", {{"name", account}, {"namespace", "default"}}},
                    {"rules", Json::array({{{"apiGroups", {"apps"}}, {"resources", {"deployments"}}, {"verbs", {"list"}}}})}};
    ASSERT_EQ(spoke().create("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", role).status, 201);
    const Json binding{
        {"apiVersion", "rbac.authorization.k8s.io/v1"},
        {"kind", "RoleBinding"},
        {"metadata", {{"name", account}, {"namespace", "default"}}},
        {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", account}}},
        {"subjects",
         Json::array({{{"kind", "ServiceAccount"}, {"name", account}, {"namespace", "open-cluster-management-agent-addon"}}})}};
    ASSERT_EQ(spoke().create("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", binding).status, 201);
  }
  static bool becomes(const std::function<bool()>& done, Duration timeout = std::chrono::seconds(40)) {
    const auto until = std::chrono::steady_clock::now() + timeout;
    while (!done() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return done();
  }
};

TEST_F(ManagedServiceAccounts, AreCopiedForTheProgramsOfClusterProfiles) {
  ASSERT_EQ(make_cluster_profile(hub()), "");
  const Ran created = msa({"create", "shared", "--validity", "1h", "--wait", "--timeout", "100s"});
  ASSERT_EQ(created.code, 0) << created.both() << run({"addon", "status", "managed-serviceaccount", "--context", "hub"}).both();
  const auto on_hub = hub().audit_position();
  const auto labeled =
      hub().request("PATCH", std::string(kAccounts) + "shared",
                    R"({"metadata": {"labels": {"authentication.open-cluster-management.io/sync-to-clusterprofile": "true"}}})",
                    "application/merge-patch+json");
  ASSERT_EQ(labeled.status, 200) << labeled.body;
  const std::string copy = "/api/v1/namespaces/apps/secrets/c1-shared";
  // The hub looks for the kind, which is younger than itself, with growing delays.
  ASSERT_TRUE(hub().eventually(
      copy, [](const Json& object) { return !object.is_null(); }, std::chrono::seconds(90)));
  EXPECT_EQ(hub().get(copy)["data"], hub().get(std::string(kSecrets) + "shared")["data"]);
  const std::string profile = std::string(kProfilesOfApps) + "/c1";
  EXPECT_TRUE(hub().eventually(
      profile,
      [](const Json& object) {
        return controller::condition_is(object, "Joined", "True") &&
               controller::condition_is(object, "ControlPlaneHealthy", "True") &&
               !str(object, {"status", "version", "kubernetes"}).empty() && !list_at(object, {"status", "properties"}).empty();
      },
      std::chrono::seconds(60)))
      << hub().get(profile);

  // What the profile tells is all that a program needs: the address, its CA, and what the plugin is asked with.
  const Json ways = list_at(hub().get(profile), {"status", "accessProviders"});
  ASSERT_EQ(ways.size(), 1U) << hub().get(profile);
  const Json& way = object_at(ways.front(), {"cluster"});
  EXPECT_EQ(str(way, {"server"}), spoke().url());
  RunOptions as_plugin;
  as_plugin.environment["NAMESPACE"] = "apps";
  as_plugin.environment["KUBERNETES_EXEC_INFO"] = dump_json(
      {{"apiVersion", "client.authentication.k8s.io/v1"},
       {"kind", "ExecCredential"},
       {"spec",
        {{"interactive", false},
         {"cluster",
          {{"server", str(way, {"server"})}, {"config", object_at(list_at(way, {"extensions"}).front(), {"extension"})}}}}}});
  const Ran answered = run({"--managed-serviceaccount", "shared", "--context", "hub"}, as_plugin);
  ASSERT_EQ(answered.code, 0) << answered.both();
  const std::string ca = base64_decode(str(way, {"certificate-authority-data"})).value_or("");
  ASSERT_FALSE(ca.empty());
  EXPECT_EQ(answer_to(str(answered.json(), {"status", "token"}), kube::resources::pods(), ca), 403);
  EXPECT_FALSE(str(answered.json(), {"status", "expirationTimestamp"}).empty());

  // The account is replaced: so is the copy's token.
  const Json before = hub().get(copy)["data"];
  ASSERT_EQ(spoke().request("DELETE", std::string(kSpokeAccounts) + "shared").status, 200);
  EXPECT_TRUE(hub().eventually(
      copy, [&](const Json& object) { return object["data"] != before; }, std::chrono::seconds(60)));
  ASSERT_EQ(msa({"delete", "shared"}).code, 0);
  EXPECT_TRUE(hub().eventually(
      copy, [](const Json& object) { return object.is_null(); }, std::chrono::seconds(60)));
  ASSERT_EQ(run({"clusterset", "unbind", "default", "-n", "apps", "--context", "hub"}).code, 0);
  EXPECT_TRUE(hub().eventually(
      profile, [](const Json& object) { return object.is_null(); }, std::chrono::seconds(60)));
  for (const AuditEntry& one : hub().audit_since(on_hub)) {
    if (one.user != "system:serviceaccount:open-cluster-management-hub:fleetadm-hub") continue;
    EXPECT_NE(one.code, 403) << one.verb << " " << one.uri;
    if (one.resource == "secrets") {
      EXPECT_TRUE(one.verb != "list" && one.verb != "watch") << one.uri;
    }
  }
}

TEST_F(ManagedServiceAccounts, LiveFromCreateToUninstall) {
  const auto on_hub = hub().audit_position();
  const auto on_spoke = spoke().audit_position();
  const Ran created = msa({"create", "viewer", "--validity", "1h", "--wait", "--timeout", "100s"});
  ASSERT_EQ(created.code, 0) << created.both() << run({"addon", "status", "managed-serviceaccount", "--context", "hub"}).both();
  const Json secret = hub().get(std::string(kSecrets) + "viewer");
  EXPECT_EQ(str(secret, {"type"}), "Opaque");
  EXPECT_EQ(object_at(secret, {"data"}).size(), 2U);

  const std::string token = token_of("viewer");
  EXPECT_EQ(created.both().find(token), std::string::npos);
  EXPECT_EQ(answer_to(token, kube::resources::deployments()), 403) << "a new account may nothing";
  ASSERT_NO_FATAL_FAILURE(allow_deployments("viewer"));
  EXPECT_TRUE(becomes([&] { return answer_to(token, kube::resources::deployments()) == 200; }));
  EXPECT_EQ(answer_to(token, kube::resources::pods()), 403);
  EXPECT_EQ(answer_to("e30.e30.e30", kube::resources::pods()), 401);

  // One request of each kind, and none refused.
  const auto asked = [](const KubeServer& server, std::uintmax_t since, std::string_view resource, std::string_view subresource) {
    std::vector<int> codes;
    for (const AuditEntry& one : server.audit_since(since)) {
      if (one.is_write() && one.resource == resource && one.subresource == subresource && one.name == "viewer")
        codes.push_back(one.code);
    }
    return codes;
  };
  EXPECT_EQ(asked(spoke(), on_spoke, "serviceaccounts", "token"), std::vector<int>{201});
  EXPECT_EQ(asked(hub(), on_hub, "managedserviceaccounts", "status"), std::vector<int>{200});
  for (const AuditEntry& one : hub().audit_since(on_hub, [](const AuditEntry& entry) {
         return entry.resource == "secrets" && entry.user.find("managed-serviceaccount") != std::string::npos;
       })) {
    EXPECT_TRUE(one.verb == "get" || one.verb == "create") << one.verb << " " << one.uri;
    EXPECT_EQ(one.ns, "c1") << one.uri;
  }

  // Another account of that name: the token of the first is worth nothing any more, and the hub has a new one.
  ASSERT_EQ(spoke().request("DELETE", std::string(kSpokeAccounts) + "viewer").status, 200);
  EXPECT_TRUE(becomes([&] { return token_of("viewer") != token; }));
  EXPECT_TRUE(becomes([&] { return answer_to(token_of("viewer"), kube::resources::deployments()) == 200; }));
  EXPECT_TRUE(becomes([&] { return answer_to(token, kube::resources::deployments()) == 401; })) << "it is cached for seconds";

  // What has the name and is not ours stays as it is.
  const Json own = spoke().get(std::string(kSpokeAccounts) + "managed-serviceaccount");
  const Ran grab = msa({"create", "managed-serviceaccount", "--wait", "--timeout", "60s"});
  EXPECT_NE(grab.code, 0);
  EXPECT_NE(grab.err.find("does not have the label"), std::string::npos) << grab.both();
  EXPECT_EQ(uid_of(spoke().get(std::string(kSpokeAccounts) + "managed-serviceaccount")), uid_of(own));
  EXPECT_TRUE(hub().get(std::string(kSecrets) + "managed-serviceaccount").is_null());

  const Ran refused = msa({"create", "short", "--validity", "1m"});
  EXPECT_EQ(refused.code, 64) << refused.both();

  ASSERT_EQ(msa({"delete", "viewer", "managed-serviceaccount"}).code, 0);
  EXPECT_TRUE(spoke().eventually(std::string(kSpokeAccounts) + "viewer", [](const Json& object) { return object.is_null(); }));
  // The garbage collector deletes the Secret. It looks for new kinds, such as its owner's, every half a minute.
  EXPECT_TRUE(hub().eventually(
      std::string(kSecrets) + "viewer", [](const Json& object) { return object.is_null(); }, std::chrono::seconds(120)));
  EXPECT_EQ(uid_of(spoke().get(std::string(kSpokeAccounts) + "managed-serviceaccount")), uid_of(own));

  const Ran brief = msa({"create", "brief", "--validity", "10m", "--ttl", "15s", "--wait"});
  ASSERT_EQ(brief.code, 0) << brief.both();
  EXPECT_TRUE(hub().eventually(std::string(kAccounts) + "brief", [](const Json& object) { return object.is_null(); }));
  EXPECT_TRUE(spoke().eventually(std::string(kSpokeAccounts) + "brief", [](const Json& object) { return object.is_null(); }));

  // Without the add-on no token lives on; the namespace is not its own.
  ASSERT_EQ(msa({"create", "last", "--validity", "1h", "--wait"}).code, 0);
  const std::string last = token_of("last");
  EXPECT_EQ(answer_to(last, kube::resources::deployments()), 403);
  const Ran uninstalled =
      run({"addon", "uninstall", "managed-serviceaccount", "--allow-removals", "--context", "hub", "--timeout", "100s"});
  ASSERT_EQ(uninstalled.code, 0) << uninstalled.both();
  EXPECT_TRUE(spoke().eventually(std::string(kSpokeAccounts) + "last", [](const Json& object) { return object.is_null(); }));
  EXPECT_TRUE(becomes([&] { return answer_to(last, kube::resources::deployments()) == 401; }));
  const Json ns = spoke().get("/api/v1/namespaces/open-cluster-management-agent-addon");
  EXPECT_EQ(str(ns, {"status", "phase"}), "Active");
  EXPECT_FALSE(hub().get(std::string(kAccounts) + "last").is_null()) << "the objects and their kind stay";
}

}  // namespace
}  // namespace fleetadm::testkit
