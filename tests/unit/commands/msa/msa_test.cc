#include "commands/msa/msa.h"

#include <atomic>
#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "core/api/managed_service_account.h"
#include "core/msa/rules/profile_copy.h"
#include "core/msa/rules/token_secret.h"
#include "kubeclient/base/encoding.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"

namespace fleetadm::commands {
namespace {

using AccountFlags = std::vector<std::pair<std::string, std::string>>;

class AccountCommands : public testing::Test {
 protected:
  void SetUp() override {
    register_msa(registry);
    api->put(api::managed_clusters(),
             {{"apiVersion", api::managed_clusters().api_version()}, {"kind", "ManagedCluster"}, {"metadata", {{"name", "c1"}}}});
  }
  Result<Report> msa(const std::string& verb, const std::vector<std::string>& args, AccountFlags flags = {}) {
    flags.emplace_back("cluster", "c1");
    return testkit::run_command(registry, "msa " + verb, context, flags, args);
  }
  Json stored(const std::string& name = "app") const {
    return api->get(api::managed_service_accounts(), "c1", name).value_or(Json());
  }
  std::string token(const char* expires) const {
    const auto at = std::chrono::duration_cast<std::chrono::seconds>(parse_time(expires)->time_since_epoch()).count();
    return "e30." +
           base64url_encode(
               dump_json({{"iat", 1700000000}, {"exp", at}, {"kubernetes.io", {{"serviceaccount", {{"uid", "u"}}}}}})) +
           ".c2ln";
  }
  void report(const Json& secret) {
    Json object = stored();
    object["status"] = {{"tokenSecretRef", {{"name", "app"}, {"lastRefreshTimestamp", "2026-03-01T10:00:00Z"}}}};
    api->put(api::managed_service_accounts(), object);
    api->put(kube::resources::secrets(), secret);
  }

  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>(*parse_time("2026-03-01T10:00:00Z"));
  std::shared_ptr<testkit::FakeApi> api = testkit::FakeApi::make(clock);
  Registry registry;
  testkit::FakeContext context{api->client(), clock};
};

TEST_F(AccountCommands, CreateWritesOnceAndChangesWhatIsAskedFor) {
  auto report = msa("create", {"app"}, {{"validity", "24h"}, {"ttl", "1h"}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->lines, std::vector<std::string>{"managedserviceaccount app created for cluster c1"});
  EXPECT_EQ(stored()["spec"], (Json{{"rotation", {{"validity", "24h0m0s"}}}, {"ttlSecondsAfterCreation", 3600}}));
  ASSERT_EQ(report->notes.size(), 1U) << "the add-on is not there";

  const int writes = api->write_count();
  report = msa("create", {"app"}, {{"validity", "24h"}});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->lines, std::vector<std::string>{"managedserviceaccount app unchanged for cluster c1"});
  EXPECT_EQ(api->write_count(), writes);

  report = msa("create", {"app"}, {{"validity", "48h"}});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->lines, std::vector<std::string>{"managedserviceaccount app configured for cluster c1"});
  EXPECT_EQ(stored()["spec"]["rotation"]["validity"], "48h0m0s");
  EXPECT_EQ(stored()["spec"]["ttlSecondsAfterCreation"], 3600) << "what is not named stays";
}

TEST_F(AccountCommands, CreateRefusesWhatNoAgentCouldDo) {
  for (const AccountFlags& flags :
       {AccountFlags{{"validity", "9m59s"}}, {{"validity", "-1h"}}, {{"ttl", "1ms"}}, {{"ttl", "600000h"}}}) {
    const auto report = msa("create", {"app"}, flags);
    ASSERT_FALSE(report) << flags.front().second;
    EXPECT_EQ(report.error().category, Category::kUsage);
  }
  EXPECT_FALSE(msa("create", {"App"}));
  EXPECT_EQ(api->write_count(), 0);
}

TEST_F(AccountCommands, CreateWaitsUntilTheTokenIsReportedOrRefused) {
  std::atomic<bool> answered = false;
  api->on_request([&](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    if (call.verb != "watch" || answered.exchange(true)) return std::nullopt;
    Json object = stored("bad");
    object["status"] = {
        {"conditions", Json::array({{{"type", "TokenReported"}, {"status", "False"}, {"message", "the reason"}}})}};
    api->put(api::managed_service_accounts(), object);
    return std::nullopt;
  });
  const auto report = msa("create", {"bad"}, {{"wait", "true"}, {"timeout", "10s"}});
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("the reason"), std::string::npos) << report.error().message;
  api->on_request({});
}

TEST_F(AccountCommands, TokenIsPrintedAloneAndWithItsExpiryForPlugins) {
  ASSERT_TRUE(msa("create", {"app"}));
  auto none = msa("token", {"app"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().category, Category::kNotFound);
  const std::string good = token("2026-03-01T11:00:00Z");
  this->report(msa::secret_object(Json(), stored(), good, "ca"));
  const auto report = msa("token", {"app"});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->lines, std::vector<std::string>{good});
  EXPECT_TRUE(report->notes.empty());
  EXPECT_EQ(str(report->data, {"kind"}), "ExecCredential");
  EXPECT_EQ(str(report->data, {"status", "expirationTimestamp"}), "2026-03-01T11:00:00Z");
  for (const char* verb : {"describe", "get"}) {
    const auto other = msa(verb, {"app"});
    ASSERT_TRUE(other) << other.error().message;
    EXPECT_EQ(dump_json(other->data).find(good), std::string::npos) << verb;
    EXPECT_EQ(dump_json(Json(other->lines)).find(good), std::string::npos) << verb;
  }
}

TEST_F(AccountCommands, TokenIsOnlyWhatTheAccountsSecretHolds) {
  ASSERT_TRUE(msa("create", {"app"}));
  const auto message = [&](const Json& secret) {
    this->report(secret);
    const auto report = msa("token", {"app"});
    return report ? std::string("printed") : report.error().message;
  };
  const Json good = msa::secret_object(Json(), stored(), token("2026-03-01T11:00:00Z"), "ca");
  EXPECT_EQ(message(good), "printed");
  Json foreign = good;
  foreign["metadata"].erase("labels");
  EXPECT_NE(message(foreign).find("does not have the label"), std::string::npos);
  EXPECT_NE(message(msa::secret_object(Json(), stored(), token("2026-03-01T10:00:00Z"), "ca")).find("it expired at"),
            std::string::npos);
  EXPECT_NE(message(msa::secret_object(Json(), stored(), "a b\nc", "ca")).find("holds is not a token"), std::string::npos);
  EXPECT_NE(
      message(msa::secret_object(Json(), stored(), token("2026-03-01T11:00:00Z") + "\n; rm", "ca")).find("holds is not a token"),
      std::string::npos);
}

TEST_F(AccountCommands, ExecCredentialAnswersWithTheCopyOfTheClustersProfile) {
  const auto ask = [&](const std::string& cluster, const std::string& account) {
    context.variables["KUBERNETES_EXEC_INFO"] =
        dump_json({{"apiVersion", "client.authentication.k8s.io/v1"},
                   {"kind", "ExecCredential"},
                   {"spec", {{"cluster", {{"server", "https://member"}, {"config", {{"clusterName", cluster}}}}}}}});
    return testkit::run_command(registry, "msa exec-credential", context, {{"managed-serviceaccount", account}}, {});
  };
  const auto why_not = [&](const std::string& cluster, const std::string& account) {
    const auto answer = ask(cluster, account);
    return answer ? std::string("answered") : answer.error().message;
  };
  const Json profile{{"metadata", {{"name", "c1"}, {"namespace", "default"}, {"uid", "p"}}}};
  const Json source{{"data", {{"token", base64_encode(token("2026-03-01T11:00:00Z"))}}}};
  EXPECT_NE(why_not("c1", "app").find("Secret default/c1-app does not exist"), std::string::npos) << why_not("c1", "app");
  const Json copy = msa::copy_object(Json(), profile, "app", source);
  api->put(kube::resources::secrets(), copy);
  const auto answer = ask("c1", "app");
  ASSERT_TRUE(answer) << answer.error().message;
  ASSERT_EQ(answer->lines.size(), 1U);
  const Json printed = *parse_json(answer->lines.front());
  EXPECT_EQ(printed, answer->data);
  EXPECT_EQ(str(printed, {"apiVersion"}), "client.authentication.k8s.io/v1");
  EXPECT_EQ(str(printed, {"status", "token"}), token("2026-03-01T11:00:00Z"));
  EXPECT_EQ(str(printed, {"status", "expirationTimestamp"}), "2026-03-01T11:00:00Z");
  EXPECT_TRUE(answer->notes.empty());
  // Elsewhere by $NAMESPACE, and there by the flag.
  context.variables["NAMESPACE"] = "empty";
  EXPECT_NE(why_not("c1", "app").find("Secret empty/c1-app does not exist"), std::string::npos);
  context.globals.config.ns = "default";
  EXPECT_EQ(why_not("c1", "app"), "answered");
  // The name alone is also that of an account "1-app" of a cluster "c" (were there one).
  api->put(kube::resources::secrets(),
           msa::copy_object(Json(), {{"metadata", {{"name", "c1-x"}, {"namespace", "default"}}}}, "a", source));
  EXPECT_NE(why_not("c1", "x-a").find("does not belong to ClusterProfile c1"), std::string::npos) << why_not("c1", "x-a");
  EXPECT_EQ(why_not("c1-x", "a"), "answered");
  Json foreign = copy;
  foreign["metadata"].erase("labels");
  api->put(kube::resources::secrets(), foreign);
  EXPECT_NE(why_not("c1", "app").find("does not have the label"), std::string::npos);
  clock->advance(std::chrono::hours(1));
  api->put(kube::resources::secrets(), copy);
  EXPECT_NE(why_not("c1", "app").find("it expired at 2026-03-01T11:00:00Z"), std::string::npos);
  EXPECT_EQ(why_not("../c1", "app").find("../c1") == std::string::npos, false);
  EXPECT_EQ(api->write_count(), 0);
  context.variables.erase("KUBERNETES_EXEC_INFO");
  const auto unasked = testkit::run_command(registry, "msa exec-credential", context, {{"managed-serviceaccount", "app"}}, {});
  ASSERT_FALSE(unasked);
  EXPECT_EQ(unasked.error().category, Category::kUsage);
}

TEST_F(AccountCommands, DeleteTellsWhatWasThere) {
  ASSERT_TRUE(msa("create", {"app"}));
  const auto report = msa("delete", {"app", "ap"});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->lines, (std::vector<std::string>{"managedserviceaccount app deleted from cluster c1",
                                                     "managedserviceaccount ap not found (nothing to delete)"}));
  EXPECT_TRUE(stored().is_null());
  const auto missing = msa("describe", {"app"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().category, Category::kNotFound);
}

}  // namespace
}  // namespace fleetadm::commands
