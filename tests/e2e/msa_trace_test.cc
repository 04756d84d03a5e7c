// What upstream's agent wrote for the life of ManagedServiceAccounts, beside what ours writes for the same steps.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <thread>

#include "kubeclient/base/encoding.h"
#include "tests/support/fleet_test.h"
#include "tests/support/vectors.h"

namespace fleetadm::testkit {
namespace {

constexpr std::string_view kTracedAccounts =
    "/apis/authentication.open-cluster-management.io/v1beta1/namespaces/c1/managedserviceaccounts";
constexpr std::string_view kHubSecrets = "/api/v1/namespaces/c1/secrets";
constexpr std::string_view kOwnGroup = "system:open-cluster-management:cluster:c1:addon:managed-serviceaccount";
constexpr std::string_view kAddonNs = "/api/v1/namespaces/open-cluster-management-agent-addon";

struct AccountWrite {
  std::string what;  // "create secrets/app1", "status managedserviceaccounts/app1"
  Json body;
};
using ByStep = std::map<std::string, std::vector<AccountWrite>>;

/// A status is written by PUT there and by PATCH here.
std::string told_write(std::string verb, const std::string& path, const Json& body) {
  std::string what = path.substr(0, path.find('?'));
  if (what.ends_with("/status")) {
    verb = "status";
    what.resize(what.size() - std::string_view("/status").size());
  }
  if (const std::size_t namespaces = what.find("/namespaces/"); namespaces != std::string::npos) {
    what = what.substr(what.find('/', namespaces + std::string_view("/namespaces/").size()) + 1);
  } else {
    what = what.substr(what.rfind('/') + 1);
  }
  if (verb == "create" && !what.ends_with("/token") && !name_of(body).empty()) what += "/" + name_of(body);
  return verb + " " + what;
}

/// Writes of upstream's that ours lack, by step; "": in any step.
using StepReasons = std::map<std::pair<std::string, std::string>, std::string_view>;
const StepReasons& theirs_only() {
  static const StepReasons reasons{
      {{"", "create tokenreviews"}, "whose token it is, and until when, is read in the token"},
      {{"agent-start", "create leases/managed-serviceaccount"}, "the built-in add-on is as healthy as its Deployment"},
      {{"validity-changed", "create serviceaccounts/app1/token"},
       "upstream finds the dead token of the former account in this step; ours has replaced it in the one before"},
      {{"validity-changed", "update secrets/app1"}, "see above"},
      {{"validity-changed", "status managedserviceaccounts/app1"}, "see above"},
      {{"ttl", "update secrets/eph"}, "a token is not replaced twice"},
      {{"alpha", "update secrets/alpha"}, "a token is not replaced twice"},
      {{"too-short", "create serviceaccounts/short"}, "a validity that no API server takes is refused without an account"},
      {{"too-short", "delete serviceaccounts/short"}, "see above"},
      {{"adopt", "create serviceaccounts/other-addon/token"}, "an account without the label is somebody else's"},
      {{"adopt", "create secrets/other-addon"}, "see above"},
      {{"adopt", "update secrets/other-addon"}, "see above"},
      {{"name-taken-by-secret", "create serviceaccounts/mine/token"}, "a Secret without the label is somebody else's"},
      {{"name-taken-by-secret", "update secrets/mine"}, "see above"},
  };
  return reasons;
}
const StepReasons& ours_only() {
  static const StepReasons reasons{
      {{"spoke-account-deleted", "create serviceaccounts/app1/token"}, "the token of the former account is dead"},
      {{"spoke-account-deleted", "update secrets/app1"}, "see above"},
      {{"spoke-account-deleted", "status managedserviceaccounts/app1"}, "see above"},
      {{"bad-token", "update secrets/bad"}, "a broken Secret is mended"},
  };
  return reasons;
}

Json conditions_of_account(const Json& holder) {
  Json told = Json::object();
  for (const Json& one : list_at(holder, {"status", "conditions"}))
    told[str(one, {"type"})] = {str(one, {"status"}), str(one, {"reason"}), str(one, {"message"})};
  return told;
}

/// A created object without what differs from run to run.
Json told_object(const Json& object) {
  const std::string kind = str(object, {"kind"});
  Json told{{"kind", kind}, {"apiVersion", str(object, {"apiVersion"})}};
  if (kind == "TokenRequest") {
    told["seconds"] = num(object, {"spec", "expirationSeconds"});
    told["bound"] = !object_at(object, {"spec", "boundObjectRef"}).empty();
    told["audiences"] = list_at(object, {"spec", "audiences"});
    return told;
  }
  told["labels"] = object_at(object, {"metadata", "labels"});
  told["name"] = name_of(object);
  told["namespace"] = namespace_of(object);
  if (kind == "Lease") told["seconds"] = num(object, {"spec", "leaseDurationSeconds"});
  if (kind != "Secret") return told;
  told["type"] = str(object, {"type"});
  for (const auto& [key, value] : object_at(object, {"data"}).items()) told["keys"].push_back(key);
  // Accounts have one here, so that they go with the add-on; Secrets have the same.
  for (Json owner : list_at(object, {"metadata", "ownerReferences"})) {
    owner.erase("uid");
    told["owners"].push_back(std::move(owner));
  }
  return told;
}

class AccountTrace : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(1, true));
    ASSERT_NO_FATAL_FAILURE(have_member());
    // The agent is started by hand, as upstream's was.
    const Ran installed =
        run({"addon", "install", "managed-serviceaccount", "--image", "example.invalid/not-run:1", "--context", "hub"});
    ASSERT_EQ(installed.code, 0) << installed.both();
    const Ran enabled = run({"addon", "enable", "managed-serviceaccount", "--clusters", "c1", "--context", "hub"});
    ASSERT_EQ(enabled.code, 0) << enabled.both();
  }
  static void TearDownTestSuite() {
    agent().reset();
    FleetTest::TearDownTestSuite();
  }
  static KubeServer& hub() { return fleet()->hub(); }
  static KubeServer& spoke() { return fleet()->spoke(1); }
  static std::optional<sandbox::Child>& agent() {
    static std::optional<sandbox::Child> child;
    return child;
  }
  static void start_agent() {
    const std::string secret = std::string(kAddonNs) + "/secrets/managed-serviceaccount-hub-kubeconfig";
    ASSERT_TRUE(spoke().eventually(
        secret,
        [](const Json& object) {
          return !str(object, {"data", "tls.crt"}).empty();
        },
        std::chrono::seconds(90)));
    const Json mounted = spoke().get(secret);
    for (const auto& [key, value] : object_at(mounted, {"data"}).items())
      fleet()->folder().write(key, base64_decode(value.get<std::string>()).value_or(""));
    const std::string own = std::string(kAddonNs) + "/serviceaccounts/managed-serviceaccount";
    ASSERT_TRUE(spoke().eventually(
        own, [](const Json& object) { return !object.is_null(); }, std::chrono::seconds(90)));
    const auto token =
        spoke().request("POST", own + "/token", R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}})");
    ASSERT_EQ(token.status, 201) << token.body;
    sandbox::ChildSpec spec;
    spec.program = Fleet::binary();
    spec.args = {"agent",
                 "msa",
                 "--hub-kubeconfig",
                 (fleet()->folder().path() / "kubeconfig").string(),
                 "--cluster-name",
                 "c1",
                 "--kubeconfig",
                 fleet()->folder().write("own.kubeconfig", spoke().kubeconfig_with_token(str(token.json(), {"status", "token"}))),
                 "--namespace",
                 "open-cluster-management-agent-addon",
                 "--owner-service-account",
                 "managed-serviceaccount",
                 "--secret-check-interval",
                 "1s"};
    spec.environment = {"HOME=" + fleet()->folder().path().string(), "PATH=/usr/bin:/bin"};
    spec.output_file = (fleet()->folder().path() / "account-agent.log").string();
    auto child = sandbox::Child::start(spec);
    ASSERT_TRUE(child) << child.error().message;
    agent().emplace(std::move(*child));
  }
  static std::string agent_log() { return read_file((fleet()->folder().path() / "account-agent.log").string()); }

  /// The successful writes of our agent since a position of each log. Refusals are told in `refused`.
  std::vector<AccountWrite> written() {
    std::vector<AccountWrite> all;
    for (const KubeServer* server : {&hub(), &spoke()}) {
      for (const AuditEntry& entry : server->audit_since(server == &hub() ? hub_from_ : spoke_from_)) {
        const bool own = entry.user == "system:serviceaccount:open-cluster-management-agent-addon:managed-serviceaccount" ||
                         entry.user.starts_with("system:open-cluster-management:cluster:c1:addon:managed-serviceaccount:");
        if (!own) continue;
        if (entry.resource == "secrets") {
          EXPECT_FALSE(entry.name.empty() && entry.verb != "create") << entry.uri;
        }
        if (!entry.is_write()) continue;
        const std::string what = told_write(entry.verb, entry.uri, entry.request);
        if (entry.code < 300) {
          all.push_back({what, entry.request});
        } else {
          ADD_FAILURE() << "refused: " << entry.code << " " << what << " " << entry.response;
        }
      }
    }
    return all;
  }
  void step(const std::string& name, const std::function<void()>& what) {
    hub_from_ = hub().audit_position();
    spoke_from_ = spoke().audit_position();
    what();
    // Nothing tells that nothing more comes: a refresh that is done twice is done within milliseconds.
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    ours_[name] = written();
  }
  static void make(const std::string& name, const char* validity, const Json& more = Json::object(),
                   const std::string& version = "v1beta1") {
    Json spec{{"rotation", Json::object()}};
    if (validity != nullptr) spec["rotation"]["validity"] = validity;
    spec.update(more);
    const auto made =
        hub().create("/apis/authentication.open-cluster-management.io/" + version + "/namespaces/c1/managedserviceaccounts",
                     {{"apiVersion", "authentication.open-cluster-management.io/" + version},
                      {"kind", "ManagedServiceAccount"},
                      {"metadata", {{"name", name}, {"namespace", "c1"}}},
                      {"spec", spec}});
    ASSERT_EQ(made.status, 201) << made.body;
  }
  static std::string account_path(const std::string& name) { return std::string(kAddonNs) + "/serviceaccounts/" + name; }
  static std::string object_path(const std::string& name) { return std::string(kTracedAccounts) + "/" + name; }
  static std::string hub_secret(const std::string& name) { return std::string(kHubSecrets) + "/" + name; }
  static void expect_reported(const std::string& name, const char* status) {
    EXPECT_TRUE(condition_becomes(hub(), object_path(name), "TokenReported", status))
        << hub().get(object_path(name)) << agent_log();
  }
  static std::string token_on_hub(const std::string& name) { return str(hub().get(hub_secret(name)), {"data", "token"}); }
  /// The object goes, and all that was made for it.
  static void remove(const std::string& name) {
    ASSERT_EQ(hub().request("DELETE", object_path(name)).status, 200);
    EXPECT_TRUE(hub().eventually(object_path(name), [](const Json& object) { return object.is_null(); }));
  }
  static void remove_with_account(const std::string& name) {
    ASSERT_NO_FATAL_FAILURE(remove(name));
    EXPECT_TRUE(spoke().eventually(account_path(name), [](const Json& object) { return object.is_null(); }));
  }

  std::uintmax_t hub_from_ = 0;
  std::uintmax_t spoke_from_ = 0;
  ByStep ours_;
};

TEST_F(AccountTrace, OurWritesAreUpstreamsWrites) {
  ByStep theirs;
  ASSERT_TRUE(test::for_each_vector("msa-traces.jsonl.gz", [&](const Json& line) {
    theirs[str(line, {"step"})].push_back(
        {told_write(str(line, {"verb"}), str(line, {"path"}), object_at(line, {"request"})), object_at(line, {"request"})});
  }));

  step("agent-start", [] { ASSERT_NO_FATAL_FAILURE(start_agent()); });
  step("create", [] {
    make("app1", "10m0s");
    expect_reported("app1", "True");
  });
  step("secret-deleted-on-hub", [] {
    const std::string before = token_on_hub("app1");
    ASSERT_EQ(hub().request("DELETE", hub_secret("app1")).status, 200);
    EXPECT_TRUE(eventually([&] { return !token_on_hub("app1").empty() && token_on_hub("app1") != before; })) << agent_log();
  });
  step("spoke-account-deleted", [] {
    const std::string before = token_on_hub("app1");
    ASSERT_EQ(spoke().request("DELETE", account_path("app1")).status, 200);
    EXPECT_TRUE(eventually([&] { return token_on_hub("app1") != before; })) << agent_log();
  });
  step("validity-changed", [] {
    const auto changed = hub().request("PATCH", object_path("app1"), R"({"spec": {"rotation": {"validity": "20m0s"}}})",
                                       "application/merge-patch+json");
    ASSERT_EQ(changed.status, 200) << changed.body;
  });
  step("create-rot", [] {
    make("rot", "10m0s");
    expect_reported("rot", "True");
  });
  step("ttl", [] {
    make("eph", "1h0m0s", {{"ttlSecondsAfterCreation", 10}});
    expect_reported("eph", "True");
    EXPECT_TRUE(spoke().eventually(account_path("eph"), [](const Json& object) { return object.is_null(); })) << agent_log();
    EXPECT_TRUE(hub().get(object_path("eph")).is_null());
  });
  step("too-short", [] {
    make("short", "1m0s");
    expect_reported("short", "False");
    remove("short");
  });
  step("adopt", [] {
    ASSERT_EQ(spoke()
                  .create(std::string(kAddonNs) + "/serviceaccounts",
                          {{"apiVersion", "v1"},
                           {"kind", "ServiceAccount"},
                           {"metadata", {{"name", "other-addon"}, {"namespace", "open-cluster-management-agent-addon"}}}})
                  .status,
              201);
    make("other-addon", "1h0m0s");
    expect_reported("other-addon", "False");
    remove("other-addon");
    EXPECT_FALSE(spoke().get(account_path("other-addon")).is_null());
  });
  step("name-taken-by-secret", [] {
    ASSERT_EQ(hub()
                  .create(kHubSecrets, {{"apiVersion", "v1"},
                                        {"kind", "Secret"},
                                        {"metadata", {{"name", "mine"}, {"namespace", "c1"}}},
                                        {"data", {{"password", "eA=="}}}})
                  .status,
              201);
    make("mine", "1h0m0s");
    expect_reported("mine", "False");
    remove_with_account("mine");
    EXPECT_EQ(hub().get(hub_secret("mine"))["data"], (Json{{"password", "eA=="}}));
  });
  step("bad-token", [] {
    make("bad", "1h0m0s");
    expect_reported("bad", "True");
    const auto broken =
        hub().request("PATCH", hub_secret("bad"), R"({"data": {"token": "Z2FyYmFnZQ=="}})", "application/merge-patch+json");
    ASSERT_EQ(broken.status, 200) << broken.body;
    EXPECT_TRUE(eventually([] { return token_on_hub("bad") != "Z2FyYmFnZQ=="; })) << agent_log();
    remove_with_account("bad");
  });
  step("alpha", [] {
    make("alpha", nullptr, Json::object(), "v1alpha1");
    expect_reported("alpha", "True");
    remove_with_account("alpha");
  });
  step("delete", [] { remove_with_account("app1"); });
  // Four fifths of the token's time are over, by what the status says.
  step("rotation", [] {
    const std::string before = token_on_hub("rot");
    const Json back{
        {"status",
         {{"tokenSecretRef", {{"lastRefreshTimestamp", format_time(Clock::system()->now() - std::chrono::seconds(500))}}}}}};
    const auto set = hub().request("PATCH", object_path("rot") + "/status", dump_json(back), "application/merge-patch+json");
    ASSERT_EQ(set.status, 200) << set.body;
    EXPECT_TRUE(eventually([&] { return token_on_hub("rot") != before; })) << agent_log();
  });
  step("delete-rot", [] { remove_with_account("rot"); });

  // The same writes, but for the differences above.
  const auto explained = [](const StepReasons& reasons, const std::string& step, const std::string& what) {
    return reasons.contains({step, what}) || reasons.contains({"", what});
  };
  int compared = 0;
  std::set<std::pair<std::string, std::string>> used;
  for (const auto& [name, writes] : ours_) {
    std::set<std::string> made;
    std::set<std::string> recorded;
    for (const AccountWrite& write : writes) made.insert(write.what);
    for (const AccountWrite& write : theirs[name]) {
      if (write.what != "update leases/managed-serviceaccount") recorded.insert(write.what);
    }
    EXPECT_FALSE(recorded.empty()) << name;
    made.erase("update leases/managed-serviceaccount");  // once a minute, in whichever step
    for (const std::string& what : made) {
      if (recorded.contains(what)) continue;
      EXPECT_TRUE(explained(ours_only(), name, what)) << name << ": ours alone: " << what;
      used.insert({name, what});
    }
    for (const std::string& what : recorded) {
      if (made.contains(what)) continue;
      EXPECT_TRUE(explained(theirs_only(), name, what)) << name << ": upstream's alone: " << what;
      used.insert({name, what});
      used.insert({"", what});
    }
    for (const AccountWrite& write : writes) {
      const auto same = std::find_if(theirs[name].begin(), theirs[name].end(),
                                     [&](const AccountWrite& their) { return their.what == write.what; });
      if (!write.what.starts_with("create ") || same == theirs[name].end()) continue;
      EXPECT_EQ(told_object(write.body), told_object(same->body)) << name << " " << write.what;
      ++compared;
    }
  }
  EXPECT_GE(compared, 12);
  for (const StepReasons* reasons : {&theirs_only(), &ours_only()}) {
    for (const auto& [difference, why] : *reasons)
      EXPECT_TRUE(used.contains(difference)) << difference.first << " " << difference.second << " is no difference: " << why;
  }

  // Each refresh is one of each.
  for (const auto& [name, what] : std::map<std::string, std::string>{{"create", "app1"},
                                                                     {"secret-deleted-on-hub", "app1"},
                                                                     {"spoke-account-deleted", "app1"},
                                                                     {"create-rot", "rot"},
                                                                     {"ttl", "eph"},
                                                                     {"alpha", "alpha"},
                                                                     {"rotation", "rot"}}) {
    std::map<std::string, int> counts;
    for (const AccountWrite& write : ours_[name]) ++counts[write.what];
    EXPECT_EQ(counts["create serviceaccounts/" + what + "/token"], 1) << name;
    EXPECT_EQ(counts["create secrets/" + what] + counts["update secrets/" + what], 1) << name;
    EXPECT_EQ(counts["status managedserviceaccounts/" + what], 1) << name;
  }

  // The status that each step left.
  for (const char* name : {"create", "ttl", "alpha", "rotation", "too-short", "adopt"}) {
    const auto last = [](const std::vector<AccountWrite>& writes) {
      Json status;
      for (const AccountWrite& write : writes) {
        if (write.what.starts_with("status ")) status = conditions_of_account(write.body);
      }
      return status;
    };
    Json expected = last(theirs[name]);
    Json got = last(ours_[name]);
    if (std::string_view(name) == "rotation") expected = got;  // a patch has what changes: the times alone
    if (std::string_view(name) == "adopt") {
      EXPECT_EQ(got["TokenReported"][1], "TokenReportFailed") << "upstream hands out the token";
      continue;
    }
    if (std::string_view(name) == "too-short") {
      // Ours names the field.
      EXPECT_EQ(str(got["TokenReported"][2], {}).find("spec.rotation.validity"), 0U) << got;
      got["TokenReported"][2] = expected["TokenReported"][2];
    }
    EXPECT_EQ(got, expected) << name;
  }

  // Who the agent is on the hub.
  Json bound;
  const Json bindings = hub().get("/apis/rbac.authorization.k8s.io/v1/namespaces/c1/rolebindings");
  for (const Json& binding : list_at(bindings, {"items"})) {
    if (str(binding, {"roleRef", "name"}) == "fleetadm:managed-serviceaccount") bound = list_at(binding, {"subjects"});
  }
  for (const AccountWrite& write : theirs["addon-enable"]) {
    if (!write.what.starts_with("create rolebindings/")) continue;
    ASSERT_FALSE(bound.empty());
    const Json& subjects = list_at(write.body, {"subjects"});
    for (const Json& subject : bound) {
      // By the name that agents of templates have.
      const bool itself = str(subject, {"kind"}) == "User" &&
                          str(subject, {"name"}) == std::string(kOwnGroup) + ":agent:managed-serviceaccount-agent";
      EXPECT_TRUE(itself || std::find(subjects.begin(), subjects.end(), subject) != subjects.end()) << subject;
      // Upstream lets in the add-on's agents of all clusters, too.
      EXPECT_NE(str(subject, {"name"}), "system:open-cluster-management:addon:managed-serviceaccount");
    }
    bound = Json();
  }
  EXPECT_TRUE(bound.is_null()) << "the recording has a binding";
}

}  // namespace
}  // namespace fleetadm::testkit
