// managed-serviceaccount between upstream's programs and ours, in both directions: upstream's agent on our hub, and our agent
// under upstream's manager.
#include "core/sandbox/node/child.h"
#include "kubeclient/base/yaml.h"
#include "tests/interop/addon_fleet.h"
#include "tests/support/cluster_profiles.h"

namespace fleetadm::testkit {
namespace {

using std::chrono::seconds;

constexpr const char* kAccountAddon = "managed-serviceaccount";
constexpr std::string_view kAccountObjects =
    "/apis/authentication.open-cluster-management.io/v1beta1/namespaces/c1/managedserviceaccounts";

class AccountPeers : public AddonFleet {
 protected:
  void SetUp() override {
    FLEETADM_NEEDS_KUBE_SERVERS();
    if (!peers_folder({"msa"})) GTEST_SKIP() << "FLEETADM_PEERS names no folder with upstream's programs (msa)";
  }
  void TearDown() override {
    our_agent_.reset();
    our_copies_.reset();
  }
  /// Our hub with the built-in add-on's kinds and declaration; its agent's image is not run.
  void start_hub_with_accounts() {
    ASSERT_NO_FATAL_FAILURE(start_our_hub(1));
    must({"addon", "install", kAccountAddon, "--image", "example.invalid/not-run:1", "--context", "hub"});
  }
  Ran must(const std::vector<std::string>& args) {
    Ran ran = fleet_->run(args);
    EXPECT_EQ(ran.code, 0) << args.front() << ": " << ran.both();
    return ran;
  }
  Ran msa(std::vector<std::string> args) {
    args.insert(args.begin(), "msa");
    for (const char* more : {"--cluster", "c1", "--context", "hub"}) args.emplace_back(more);
    return fleet_->run(args);
  }
  static std::string spoke_account(const std::string& name) {
    return "/api/v1/namespaces/" + std::string(kInstallNamespace) + "/serviceaccounts/" + name;
  }
  Json object(const std::string& name) { return fleet_->hub().get(std::string(kAccountObjects) + "/" + name); }
  Json secret(const std::string& name, const std::string& ns = "c1") {
    return fleet_->hub().get("/api/v1/namespaces/" + ns + "/secrets/" + name);
  }
  std::string token(const std::string& name) { return base64_decode(str(secret(name), {"data", "token"})).value_or(""); }
  /// What the managed cluster answers to its holder.
  int answer_to(const std::string& token) {
    kube::RestConfig config;
    config.server = fleet_->spoke(1).url();
    config.ca_data = fleet_->spoke(1).ca().certificate;
    kube::Credentials credentials;
    credentials.token = token;
    config.credentials = kube::static_credentials(credentials);
    const auto listed = kube::Client::connect(config).list(kube::resources::pods(), "default");
    return listed ? 200 : listed.error().code;
  }
  /// The kubeconfig that registration has written for the add-on.
  std::string registered() {
    EXPECT_TRUE(eventually([&] { return !stored(1, kAccountAddon, "tls.crt").empty(); }, seconds(90)))
        << now("c1", kAccountAddon);
    return mounted(1, kAccountAddon);
  }
  /// `lease`: it shows by one that it is alive, which the built-in add-on lets it not do.
  void start_our_agent(const std::string& hub_kubeconfig, bool lease) {
    ASSERT_TRUE(fleet_->spoke(1).eventually(
        spoke_account(kAccountAddon), [](const Json& account) { return !account.is_null(); }, seconds(90)));
    const auto own = fleet_->spoke(1).request("POST", spoke_account(kAccountAddon) + "/token",
                                              R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}})");
    ASSERT_EQ(own.status, 201) << own.body;
    const std::string kubeconfig = fleet_->folder().write(
        "agent-own.kubeconfig", fleet_->spoke(1).kubeconfig_with_token(str(own.json(), {"status", "token"})));
    std::vector<std::string> args{"agent", "msa",          "--hub-kubeconfig", hub_kubeconfig, "--cluster-name",
                                  "c1",    "--kubeconfig", kubeconfig,         "--namespace",  std::string(kInstallNamespace)};
    if (lease) args.emplace_back("--lease-health-check");
    begin_process(our_agent_, "our-agent", args);
  }
  void begin_process(std::optional<sandbox::Child>& as, const std::string& name, const std::vector<std::string>& args) {
    sandbox::ChildSpec spec;
    spec.program = Fleet::binary();
    spec.args = args;
    spec.environment = {"HOME=" + fleet_->folder().path().string(), "PATH=/usr/bin:/bin"};
    spec.output_file = (fleet_->folder().path() / (name + ".log")).string();
    auto child = sandbox::Child::start(spec);
    ASSERT_TRUE(child) << child.error().message;
    as.emplace(std::move(*child));
  }
  std::string log_of(const std::string& name) { return read_file((fleet_->folder().path() / (name + ".log")).string()); }
  void create_on_hub(const std::string& collection, std::string_view yaml) {
    const auto parsed = parse_yaml(yaml);
    ASSERT_TRUE(parsed) << parsed.error().message;
    const auto made = fleet_->hub().create(collection, *parsed);
    ASSERT_EQ(made.status, 201) << made.body;
  }
  void label_for_profiles(const std::string& name) {
    const auto labeled = fleet_->hub().request(
        "PATCH", std::string(kAccountObjects) + "/" + name,
        R"({"metadata": {"labels": {"authentication.open-cluster-management.io/sync-to-clusterprofile": "true"}}})",
        "application/merge-patch+json");
    ASSERT_EQ(labeled.status, 200) << labeled.body;
  }
  /// A Secret without what differs between two of them.
  static Json plain(Json secret) {
    for (const char* member : {"uid", "resourceVersion", "creationTimestamp", "managedFields"}) secret["metadata"].erase(member);
    return secret;
  }

  std::optional<sandbox::Child> our_agent_;
  std::optional<sandbox::Child> our_copies_;
};

TEST_F(AccountPeers, UpstreamsAgentOnOurHub) {
  ASSERT_NO_FATAL_FAILURE(start_hub_with_accounts());
  must({"addon", "enable", kAccountAddon, "--clusters", "c1", "--context", "hub"});
  const std::string kubeconfig = registered();
  // What it needs beyond the rights of ours (docs/reference/managed-serviceaccount.md#beside-upstreams-programs).
  create_on_hub("/apis/rbac.authorization.k8s.io/v1/namespaces/c1/roles", R"(apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: upstreams-agent, namespace: c1}
rules:
- {apiGroups: [""], resources: [secrets], verbs: [list, watch]}
- {apiGroups: [authentication.open-cluster-management.io], resources: [managedserviceaccounts/status], verbs: [update]}
)");
  create_on_hub("/apis/rbac.authorization.k8s.io/v1/namespaces/c1/rolebindings", R"(apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: upstreams-agent, namespace: c1}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: upstreams-agent}
subjects:
- {kind: Group, apiGroup: rbac.authorization.k8s.io, name: "system:open-cluster-management:cluster:c1:addon:managed-serviceaccount"}
)");
  const auto since = fleet_->hub().audit_position();
  ASSERT_TRUE(peers_->start_account_agent(fleet_->spoke(1), "c1", kubeconfig));
  const Ran created = msa({"create", "app", "--validity", "1h", "--wait", "--timeout", "60s"});
  ASSERT_EQ(created.code, 0) << created.both() << peers_->log("upstream-msa-agent");
  const Ran printed = msa({"token", "app"});
  ASSERT_EQ(printed.code, 0) << printed.both();
  EXPECT_EQ(printed.out, token("app") + "\n");
  EXPECT_EQ(answer_to(token("app")), 403) << "known there, and allowed nothing";
  EXPECT_TRUE(told("c1", kAccountAddon, "RegistrationApplied", "True")) << now("c1", kAccountAddon);
  const Ran described = msa({"describe", "app"});
  EXPECT_EQ(described.code, 0) << described.both();

  // Our agent takes over what upstream's has made, and changes nothing of it.
  peers_->stop_accounts();
  const std::string before = token("app");
  const Json secret_before = secret("app");
  const Json object_before = object("app");
  ASSERT_NO_FATAL_FAILURE(start_our_agent(kubeconfig, false));
  ASSERT_EQ(msa({"create", "next", "--validity", "1h", "--wait"}).code, 0) << log_of("our-agent");
  EXPECT_EQ(resource_version_of(secret("app")), resource_version_of(secret_before)) << secret("app") << secret_before;
  EXPECT_EQ(resource_version_of(object("app")), resource_version_of(object_before)) << object("app") << object_before;
  // And back.
  our_agent_.reset();
  const Json next_secret = secret("next");
  ASSERT_TRUE(peers_->start_account_agent(fleet_->spoke(1), "c1", kubeconfig));
  ASSERT_EQ(msa({"create", "third", "--validity", "1h", "--wait"}).code, 0) << peers_->log("upstream-msa-agent");
  EXPECT_EQ(resource_version_of(secret("next")), resource_version_of(next_secret));
  EXPECT_EQ(token("app"), before);

  // What either has made is alike.
  Json ours = plain(secret("next"));
  Json theirs = plain(secret("third"));
  for (Json* one : {&ours, &theirs}) {
    (*one)["metadata"].erase("name");
    (*one)["data"]["token"] = "";
    (*one)["metadata"]["ownerReferences"][0]["name"] = "";
    (*one)["metadata"]["ownerReferences"][0]["uid"] = "";
  }
  EXPECT_EQ(ours, theirs);
  ASSERT_EQ(msa({"delete", "app", "next", "third"}).code, 0);
  for (const char* name : {"app", "next", "third"})
    EXPECT_TRUE(fleet_->spoke(1).eventually(spoke_account(name), [](const Json& account) { return account.is_null(); })) << name;
  for (const AuditEntry& entry : fleet_->hub().audit_since(since)) {
    if (!entry.user.starts_with("system:open-cluster-management:cluster:c1:addon:managed-serviceaccount:")) continue;
    EXPECT_NE(entry.code, 403) << entry.verb << " " << entry.uri << " " << entry.response;
  }
}

TEST_F(AccountPeers, OurAgentUnderUpstreamsManager) {
  ASSERT_NO_FATAL_FAILURE(start_hub_with_accounts());
  // Upstream's manager renders the add-on itself: the kind stays, the template and its declaration go.
  must({"addon", "uninstall", kAccountAddon, "--allow-removals", "--context", "hub", "--timeout", "60s"});
  ASSERT_EQ(make_cluster_profile(fleet_->hub()), "");
  make("/clustermanagementaddons",
       {{"kind", "ClusterManagementAddOn"}, {"metadata", {{"name", kAccountAddon}}}, {"spec", Json::object()}});
  ASSERT_TRUE(peers_->start_account_manager(fleet_->hub()));
  enable("c1", kAccountAddon);
  EXPECT_TRUE(told("c1", kAccountAddon, "ManifestApplied", "True"))
      << now("c1", kAccountAddon) << peers_->log("upstream-msa-manager");
  const std::string kubeconfig = registered();
  const auto since = fleet_->hub().audit_position();
  const auto spoke_since = fleet_->spoke(1).audit_position();
  ASSERT_NO_FATAL_FAILURE(start_our_agent(kubeconfig, true));
  ASSERT_EQ(msa({"create", "app", "--validity", "1h", "--wait", "--timeout", "60s"}).code, 0) << log_of("our-agent");
  EXPECT_EQ(answer_to(token("app")), 403);
  EXPECT_TRUE(told("c1", kAccountAddon, "Available", "True")) << now("c1", kAccountAddon) << "by our agent's lease";

  // Whose time is over is deleted by the manager; our agent may not.
  ASSERT_EQ(msa({"create", "brief", "--validity", "10m", "--ttl", "5s", "--wait"}).code, 0) << log_of("our-agent");
  EXPECT_TRUE(eventually([&] { return object("brief").is_null(); }, seconds(60))) << peers_->log("upstream-msa-manager");
  EXPECT_TRUE(fleet_->spoke(1).eventually(spoke_account("brief"), [](const Json& account) { return account.is_null(); }));

  // The copies for ClusterProfiles of both hubs are the same.
  ASSERT_NO_FATAL_FAILURE(label_for_profiles("app"));
  ASSERT_TRUE(eventually([&] { return !secret("c1-app", "apps").is_null(); }, seconds(60)))
      << peers_->log("upstream-msa-manager");
  const Json theirs = secret("c1-app", "apps");
  peers_->stop_accounts();
  begin_process(our_copies_, "our-hub",
                {"hub", "run", "--kubeconfig", fleet_->hub().kubeconfig_file(), "--leader-elect=false", "--cluster-profiles"});
  // It takes over what upstream's has made, without a write.
  ASSERT_TRUE(eventually([&] {
    return fleet_->hub().get(std::string(kProfilesOfApps) + "/c1").dump().find("credential-copies") != std::string::npos;
  })) << log_of("our-hub");
  std::this_thread::sleep_for(seconds(1));
  EXPECT_EQ(resource_version_of(secret("c1-app", "apps")), resource_version_of(theirs));
  ASSERT_EQ(fleet_->hub().request("DELETE", "/api/v1/namespaces/apps/secrets/c1-app").status, 200);
  ASSERT_EQ(msa({"create", "second", "--validity", "1h", "--wait"}).code, 0);
  ASSERT_NO_FATAL_FAILURE(label_for_profiles("second"));
  ASSERT_TRUE(eventually([&] { return !secret("c1-app", "apps").is_null() && !secret("c1-second", "apps").is_null(); }))
      << log_of("our-hub");
  EXPECT_EQ(plain(secret("c1-app", "apps")), plain(theirs));

  // The credential plugin, as a client of the inventory calls it.
  RunOptions as_plugin;
  as_plugin.environment["KUBERNETES_EXEC_INFO"] =
      R"({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "spec": {"interactive": false,
          "cluster": {"server": "https://member.example.com", "config": {"clusterName": "c1"}}}})";
  as_plugin.environment["NAMESPACE"] = "apps";
  const Ran answered = fleet_->run({"--managed-serviceaccount=app", "--context", "hub"}, as_plugin);
  ASSERT_EQ(answered.code, 0) << answered.both();
  EXPECT_EQ(str(answered.json(), {"status", "token"}), token("app"));
  EXPECT_FALSE(str(answered.json(), {"status", "expirationTimestamp"}).empty());

  ASSERT_EQ(msa({"delete", "app", "second"}).code, 0);
  EXPECT_TRUE(eventually([&] { return secret("c1-app", "apps").is_null() && secret("c1-second", "apps").is_null(); }))
      << log_of("our-hub");
  for (const char* name : {"app", "second"})
    EXPECT_TRUE(fleet_->spoke(1).eventually(spoke_account(name), [](const Json& account) { return account.is_null(); })) << name;

  // What upstream gives its agent is enough for ours; it reads no Secret but by name.
  for (const AuditEntry& entry : fleet_->hub().audit_since(since)) {
    if (!entry.user.starts_with("system:open-cluster-management:cluster:c1:addon:managed-serviceaccount:")) continue;
    if (entry.resource == "secrets") {
      EXPECT_TRUE(entry.verb == "get" || entry.verb == "create" || entry.verb == "update");
    }
    const bool ends_it = entry.verb == "delete" && entry.resource == "managedserviceaccounts";
    EXPECT_TRUE(entry.code != 403 || ends_it) << entry.verb << " " << entry.uri << " " << entry.response;
  }
  for (const AuditEntry& entry : fleet_->spoke(1).audit_since(spoke_since)) {
    if (entry.user != "system:serviceaccount:" + std::string(kInstallNamespace) + ":" + kAccountAddon) continue;
    EXPECT_TRUE(entry.code < 400 || (entry.code == 404 && !entry.is_write()))
        << entry.verb << " " << entry.uri << " " << entry.response;
  }
}

}  // namespace
}  // namespace fleetadm::testkit
