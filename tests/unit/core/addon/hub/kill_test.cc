// The hub's controllers of add-ons on a server in memory, killed after each of their writes while an add-on is enabled, upgraded
// and disabled: with its rights, certificate requests and tokens. What is there in the end is what an undisturbed hub leaves.
#include <algorithm>
#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <re2/re2.h>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/addon/hub/addon_controllers.h"
#include "core/addon/rules/agent_identity.h"
#include "core/addon/rules/names.h"
#include "core/addon/rules/token_infrastructure.h"
#include "core/api/certificate_request.h"
#include "core/api/kinds.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"
#include "tests/support/killable.h"
#include "tests/support/replica_sets.h"

namespace fleetadm::addon {
namespace {

namespace res = kube::resources;
using testkit::FakeApi;

constexpr const char* kSigner = "example.com/signer";

/// Made once: keys take their time.
const std::string& agents_request() {
  static const std::string request = [] {
    const pki::Subject subject{
        agent_user("c1", "hello", "hello-agent"), {cluster_addon_group("c1", "hello"), addon_group("hello")}, {}};
    return base64_encode(pki::make_csr(pki::generate_key().value(), subject).value());
  }();
  return request;
}

Json manifest_of(const char* api_version, const char* kind, const char* name) {
  return {{"apiVersion", api_version}, {"kind", kind}, {"metadata", {{"name", name}, {"namespace", "agents"}}}};
}

Json permission_in(const char* ns, const char* role) {
  const Json of{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", role}};
  return {{"type", "SingleNamespace"}, {"singleNamespace", {{"namespace", ns}, {"roleRef", of}}}};
}

/// The add-on "hello" on c1, whose agent asks for certificates, and c2, whose agent takes tokens.
class KilledHub : public testing::Test {
 protected:
  void TearDown() override { hub.stop(); }

  // What people do.
  void prepare() {
    hub.stop();
    api = FakeApi::make();
    played = described = 0;
    ran.clear();
    for (const char* cluster : {"c1", "c2"}) {
      api->put(api::managed_clusters(), {{"apiVersion", "cluster.open-cluster-management.io/v1"},
                                         {"kind", "ManagedCluster"},
                                         {"metadata", {{"name", cluster}}},
                                         {"spec", {{"hubAcceptsClient", true}}}});
    }
    testkit::put_decided(*api, "ns", "p", {{"", {"c1", "c2"}}});
    static const pki::KeyPair ca = pki::make_ca("ca", std::chrono::hours(24)).value();
    api->put(res::secrets(), {{"apiVersion", "v1"},
                              {"kind", "Secret"},
                              {"metadata", {{"name", "ca"}, {"namespace", "hub-ns"}}},
                              {"data", {{"tls.crt", base64_encode(ca.certificate)}, {"tls.key", base64_encode(ca.key)}}}});
    put_template("t1", {manifest_of("v1", "ConfigMap", "settings"), manifest_of("apps/v1", "Deployment", "agent")},
                 {permission_in("shared", "reader"), permission_in("shared", "writer")});
    put_template("t2", {manifest_of("v1", "ConfigMap", "settings"), manifest_of("v1", "ConfigMap", "more")},
                 {permission_in("shared", "writer"), permission_in("other", "writer")});
  }
  void put_template(const char* name, std::vector<Json> manifests, const std::vector<Json>& permissions) {
    manifests.front()["data"] = {{"of", name}};
    manifests.push_back(manifest_of("batch/v1", "Job", "bye"));
    manifests.back()["metadata"]["annotations"] = {{std::string(kPreDeleteAnnotation), ""}};
    const Json client{{"type", "KubeClient"}, {"kubeClient", {{"hubPermissions", permissions}}}};
    const Json signer{{"type", "CustomSigner"}, {"customSigner", {{"signerName", kSigner}, {"signingCA", {{"name", "ca"}}}}}};
    api->put(api::addon_templates(), {{"apiVersion", "addon.open-cluster-management.io/v1alpha1"},
                                      {"kind", "AddOnTemplate"},
                                      {"metadata", {{"name", name}}},
                                      {"spec",
                                       {{"addonName", "hello"},
                                        {"agentSpec", {{"workload", {{"manifests", manifests}}}}},
                                        {"registration", Json::array({client, signer})}}}});
  }
  void declare(const char* named) {
    const Json config{{"group", std::string(kGroup)}, {"resource", std::string(kTemplates)}, {"name", named}};
    const Json placement{{"namespace", "ns"}, {"name", "p"}, {"rolloutStrategy", {{"type", "All"}}}};
    Json declaration = api->get(api::cluster_management_addons_v1beta1(), {}, "hello")
                           .value_or(Json{{"apiVersion", "addon.open-cluster-management.io/v1beta1"},
                                          {"kind", "ClusterManagementAddOn"},
                                          {"metadata", {{"name", "hello"}}}});
    declaration["spec"] = {{"defaultConfigs", Json::array({config})},
                           {"installStrategy", {{"type", "Placements"}, {"placements", Json::array({placement})}}}};
    api->put(api::cluster_management_addons_v1beta1(), declaration);
  }

  // What others do at a hub, of which nothing is left to do until something changes: agents, and the garbage collector.
  void play() {
    const std::int64_t now = api->revision();
    if (std::exchange(played, now) == now) return;
    for (Json& addon : api->all(addons)) {
      if (owner_is_gone(addon)) (void)api->client().remove(addons, namespace_of(addon), name_of(addon));
      namespace_of(addon) == "c1" ? ask_for_certificates(addon) : choose_tokens(addon);
    }
    for (const kube::Resource* owned : {&api::manifest_works(), &res::role_bindings()}) {
      for (const Json& object : api->all(*owned)) {
        if (owner_is_gone(object)) api->erase(*owned, namespace_of(object), name_of(object));
      }
    }
    for (const Json& work : api->all(api::manifest_works())) report(work);
  }
  bool owner_is_gone(const Json& object) const {
    for (const Json& owner : list_at(object, {"metadata", "ownerReferences"})) {
      const bool declared = str(owner, {"kind"}) == "ClusterManagementAddOn";
      const auto found = declared ? api->get(api::cluster_management_addons_v1beta1(), {}, str(owner, {"name"}))
                                  : api->get(addons, namespace_of(object), str(owner, {"name"}));
      if (!found || uid_of(*found) != str(owner, {"uid"})) return true;
    }
    return false;
  }
  void ask_for_certificates(const Json& addon) {
    const Json& registrations = list_at(addon, {"status", "registrations"});
    for (const Json& registration : registrations) {
      const std::string own = str(registration, {"customSigner", "signerName"});
      const std::string name = std::string("addon-c1-hello-") + (own.empty() ? "client" : "signed");
      if (is_deleting(addon) || api->get(res::certificate_signing_requests(), {}, name)) continue;
      const Json labels{{std::string(api::kClusterNameLabel), "c1"}, {std::string(api::kAddonNameLabel), "hello"}};
      api->put(res::certificate_signing_requests(),
               {{"apiVersion", "certificates.k8s.io/v1"},
                {"kind", "CertificateSigningRequest"},
                {"metadata", {{"name", name}, {"labels", labels}}},
                {"spec",
                 {{"request", agents_request()},
                  {"signerName", own.empty() ? std::string(api::kClientSigner) : own},
                  {"username", "system:open-cluster-management:c1:agent1"},
                  {"usages", Json::array({"client auth", "digital signature", "key encipherment"})}}}});
    }
  }
  void choose_tokens(const Json& addon) {
    const Json& registrations = list_at(addon, {"status", "registrations"});
    if (registrations.empty() || str(registrations[0], {"kubeClient", "driver"}) == kTokenDriver) return;
    (void)api->client().modify(
        addons, "c2", "hello",
        [](Json& object) -> Status {
          object["status"]["registrations"][0]["kubeClient"]["driver"] = std::string(kTokenDriver);
          return {};
        },
        "status");
  }
  void report(const Json& work) {
    Json after = work;
    Json& conditions = at_or_make(after, {"status", "conditions"});
    for (const char* type : {"Applied", "Available"}) {
      controller::set_condition(conditions, type, "True", "Test", "", Clock::system()->now(),
                                num(work, {"metadata", "generation"}));
    }
    Json entries = Json::array();
    for (const Json& one : list_at(work, {"spec", "workload", "manifests"})) {
      const GroupResource type = type_of(one);
      Json values = Json::array();
      const auto value = [&](const char* name, Json field) {
        values.push_back({{"name", name}, {"fieldValue", std::move(field)}});
      };
      if (type.resource == "jobs") {
        ran.insert(namespace_of(work));
        value("JobComplete", {{"type", "String"}, {"string", "True"}});
      }
      if (type.resource == "deployments") {
        for (const char* count : {"Replicas", "ReadyReplicas"}) value(count, {{"type", "Integer"}, {"integer", 1}});
      }
      const Json meta{
          {"group", type.group}, {"resource", type.resource}, {"namespace", namespace_of(one)}, {"name", name_of(one)}};
      entries.push_back({{"resourceMeta", meta}, {"statusFeedback", {{"values", std::move(values)}}}});
    }
    at_or_make(after, {"status", "resourceStatus", "manifests"}) = std::move(entries);
    if (after != work) api->put(api::manifest_works(), std::move(after));
  }

  // The hub.
  void start(int die_after = -1) {
    hub.start(
        [this](controller::Manager& manager, const std::shared_ptr<kube::WriteGate>& gate) {
          const kube::Client client = api->client(gate);
          AddonHub all{std::make_shared<CachedObjects>(manager, client), std::make_shared<PassWriter>(client), Clock::system()};
          all.gather = std::chrono::milliseconds(5);
          add_installation_controllers(manager, all);
          add_cluster_addon_controllers(manager, client, all);
          add_csr_controller(manager, client, all, {"hub-ns"});
        },
        die_after);
  }
  bool eventually(const std::function<bool()>& done) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < until) {
      play();
      if (done()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }
  /// Nothing changes for a while.
  void settle() {
    std::string before;
    auto since = std::chrono::steady_clock::now();
    ASSERT_TRUE(eventually([&] {
      const auto now = std::chrono::steady_clock::now();
      if (const std::string& is = state(); is != before) {
        before = is;
        since = now;
      }
      return now - since > std::chrono::milliseconds(400);
    }));
  }

  /// Everything there is, without what differs from run to run.
  const std::string& state() {
    const std::int64_t now = api->revision();
    if (std::exchange(described, now) != now) description = describe();
    return description;
  }
  std::string describe() const {
    std::string text;
    for (const kube::Resource* type :
         {&addons, &api::cluster_management_addons_v1beta1(), &api::manifest_works(), &res::role_bindings(), &res::roles(),
          &res::service_accounts(), &res::certificate_signing_requests()}) {
      for (Json& one : api->all(*type)) {
        normalize(one);
        text += one.dump(1) + "\n";
      }
    }
    for (const std::string& cluster : ran) text += "the hook of " + cluster + " has run\n";
    return text;
  }
  static void normalize(Json& value) {
    static const RE2 uid(R"(\(UID: [^)]*\))");
    static const RE2 time(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)");
    if (value.is_string()) RE2::GlobalReplace(value.get_ptr<std::string*>(), time, "TIME");
    if (value.is_array()) {
      for (Json& one : value) normalize(one);
    }
    if (!value.is_object()) return;
    for (const char* member : {"uid", "resourceVersion", "generation", "creationTimestamp", "observedGeneration",
                               "lastTransitionTime", "lastUpdateTime", "deletionTimestamp"}) {
      value.erase(member);
    }
    if (value.contains("certificate")) value["certificate"] = "signed";
    if (value.contains("message") && value["message"].is_string()) {
      RE2::GlobalReplace(value["message"].get_ptr<std::string*>(), uid, "(UID)");
    }
    for (auto& [name, member] : value.items()) {
      normalize(member);
      if (name == "conditions" && member.is_array()) {
        std::sort(member.begin(), member.end(), [](const Json& a, const Json& b) { return str(a, {"type"}) < str(b, {"type"}); });
      }
    }
  }

  /// How everything was once a hub that nobody killed had come to rest.
  struct Moment {
    std::shared_ptr<FakeApi> api;
    std::set<std::string> ran;
  };
  Moment moment() const { return {api->copy(), ran}; }

  using Step = std::function<void()>;
  /// Does the step, from `before` on, the hub being killed after `writes` writes. False: it does not make as many.
  bool run(const Moment& before, const Step& step, const std::string& wanted, int writes) {
    hub.stop();
    api = before.api->copy();
    ran = before.ran;
    played = described = 0;
    start(writes);
    step();
    const auto reached = [&] { return state() == wanted; };
    EXPECT_TRUE(eventually([&] { return hub.writes() >= writes || reached(); })) << state();
    const bool killed = hub.writes() >= writes;
    start();
    EXPECT_TRUE(eventually(reached)) << "wanted:\n" << wanted << "\nis:\n" << state();
    // Its last write may be of what the garbage collector has removed before.
    int last = -1;
    for (int look = 0; last != hub.writes() && look < 50; ++look) {
      last = hub.writes();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_EQ(hub.writes(), last) << "it comes to rest";
    EXPECT_TRUE(reached());
    return killed;
  }

  const kube::Resource& addons = api::managed_cluster_addons_v1beta1();
  std::shared_ptr<FakeApi> api;
  testkit::Killable hub;
  std::int64_t played = 0;     // revision
  std::int64_t described = 0;  // revision
  std::string description;
  std::set<std::string> ran;  // clusters whose pre-delete hook has run
};

TEST_F(KilledHub, EnabledUpgradedAndDisabledItEndsAsUndisturbed) {
  const std::vector<Step> all{[this] { declare("t1"); }, [this] { declare("t2"); },
                              [this] { api->erase(api::cluster_management_addons_v1beta1(), {}, "hello"); }};
  std::vector<Moment> before;
  std::vector<std::string> wanted;
  prepare();
  start();
  for (const Step& step : all) {
    before.push_back(moment());
    step();
    ASSERT_NO_FATAL_FAILURE(settle());
    wanted.push_back(state());
  }
  for (const char* there : {"addon-hello-deploy-0", "TokenInfrastructureReady", "\"certificate\": \"signed\"",
                            "AutoApprovedByHubCSRApprovingController", "open-cluster-management:hello:role:agent:c1:writer",
                            "\"reason\": \"Completed\"", "ProbeAvailable"}) {
    EXPECT_NE(wanted[0].find(there), std::string::npos) << there << " in " << wanted[0];
  }
  EXPECT_NE(wanted[1].find("\"of\": \"t2\""), std::string::npos) << wanted[1];
  EXPECT_EQ(wanted[1].find("\"name\": \"reader\""), std::string::npos) << "a right that is no longer asked for is taken away";
  for (const char* gone : {"ManifestWork", "ManagedClusterAddOn", "RoleBinding", "ServiceAccount"}) {
    EXPECT_EQ(wanted[2].find(std::string("\"kind\": \"") + gone + "\""), std::string::npos) << wanted[2];
  }
  EXPECT_EQ(ran, (std::set<std::string>{"c1", "c2"}));
  for (std::size_t i = 0; i < all.size(); ++i) {
    int writes = 0;
    while (run(before[i], all[i], wanted[i], writes)) {
      ASSERT_FALSE(HasFailure()) << "killed after write " << writes << " of step " << i + 1;
      ++writes;
    }
    ASSERT_FALSE(HasFailure()) << "killed after write " << writes << " of step " << i + 1;
    EXPECT_GT(writes, 5) << "step " << i + 1;
  }
}

}  // namespace
}  // namespace fleetadm::addon
