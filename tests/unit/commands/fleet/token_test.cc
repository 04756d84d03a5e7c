// token create, list and revoke: what is stored, what is shown, and what ends.
#include <algorithm>
#include <gtest/gtest.h>
#include <regex>

#include "commands/fleet/fleet.h"
#include "core/registration/join/bootstrap_secret.h"
#include "core/registration/join/cluster_info.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"

namespace fleetadm::commands {
namespace {

class Tokens : public testing::Test {
 protected:
  using Lines = std::vector<std::string>;

  Tokens() { register_fleet(registry); }
  Result<Report> run(const std::string& path, const Lines& args = {},
                     const std::vector<std::pair<std::string, std::string>>& flags = {}) {
    return testkit::run_command(registry, path, context, flags, args);
  }
  std::string create(const std::vector<std::pair<std::string, std::string>>& flags = {}) {
    const auto report = run("token create", {}, flags);
    EXPECT_TRUE(report.has_value()) << (report ? "" : report.error().message);
    return report ? str(report->data, {"hub-token"}) : "";
  }
  Json secret(const std::string& token) const {
    return api->get(kube::resources::secrets(), "kube-system", "bootstrap-token-" + token.substr(0, 6)).value_or(Json());
  }
  static std::string value(const Json& secret, const char* key) { return *base64_decode(str(secret, {"data", key})); }

  std::shared_ptr<testkit::FakeApi> api = testkit::FakeApi::make();
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>(*parse_time("2026-03-01T12:00:00Z"));
  testkit::FakeContext context{api->client(), clock};
  Registry registry;
};

TEST_F(Tokens, CreateStoresWhatTheApiServerTakesForABootstrapToken) {
  const std::string token = create({{"ttl", "2h"}, {"description", "batch 7"}});
  ASSERT_TRUE(std::regex_match(token, std::regex("[a-z0-9]{6}\\.[a-z0-9]{16}"))) << token;
  const Json stored = secret(token);
  EXPECT_EQ(str(stored, {"type"}), "bootstrap.kubernetes.io/token");
  EXPECT_EQ(value(stored, "token-id") + "." + value(stored, "token-secret"), token);
  EXPECT_EQ(value(stored, "usage-bootstrap-authentication"), "true");
  EXPECT_EQ(find(stored, {"data", "usage-bootstrap-signing"}), nullptr);
  EXPECT_EQ(value(stored, "auth-extra-groups"), join::kJoiningGroup);
  EXPECT_EQ(value(stored, "expiration"), "2026-03-01T14:00:00Z");
  EXPECT_EQ(value(stored, "description"), "batch 7");
  EXPECT_NE(create(), create());
}

TEST_F(Tokens, ATokenForSigningAloneHasNoGroups) {
  const Json stored = secret(create({{"usages", "signing"}, {"ttl", "0"}}));
  EXPECT_EQ(value(stored, "usage-bootstrap-signing"), "true");
  EXPECT_EQ(find(stored, {"data", "auth-extra-groups"}), nullptr);
  EXPECT_EQ(find(stored, {"data", "expiration"}), nullptr) << "for ever";
  EXPECT_EQ(run("token create", {}, {{"usages", "singing"}}).error().category, Category::kUsage);
  EXPECT_EQ(run("token create", {}, {{"ttl", "-1h"}}).error().category, Category::kUsage);
}

TEST_F(Tokens, ARegisterCommandComesWithAHubThatCanBeFound) {
  context.config.server = "https://hub.example:6443";
  EXPECT_EQ(run("token create", {}, {{"print-register-command", "true"}}).error().category, Category::kConflict)
      << "nothing is pinned without a CA";
  context.config.ca_data = pki::make_ca("hub", std::chrono::hours(24))->certificate;
  const auto made = run("token create", {}, {{"print-register-command", "true"}});
  ASSERT_TRUE(made.has_value()) << made.error().message;
  const std::string token = str(made->data, {"hub-token"});
  const std::string pin = *pki::ca_pin(context.config.ca_data);
  EXPECT_EQ(made->lines, Lines{"echo " + token +
                               " | fleetadm register hub.example:6443 --token-file - --discovery-token-ca-cert-hash " + pin});
  const Json stored = secret(token);
  EXPECT_EQ(value(stored, "usage-bootstrap-signing"), "true");
  EXPECT_EQ(value(stored, "usage-bootstrap-authentication"), "true");
  Json info = *api->get(kube::resources::config_maps(), "kube-public", "cluster-info");
  info["kind"] = "ConfigMap";
  const auto kubeconfig = join::signed_kubeconfig(dump_json(info), token);
  ASSERT_TRUE(kubeconfig) << kubeconfig.error().message;
  EXPECT_EQ(join::authorities_of(*kubeconfig).value_or(""), context.config.ca_data);
  EXPECT_TRUE(api->get(kube::resources::roles(), "kube-public", "fleetadm:cluster-info").has_value()) << "everybody may read it";
  ASSERT_TRUE(run("token revoke", {token.substr(0, 6)}));
  EXPECT_FALSE(api->get(kube::resources::config_maps(), "kube-public", "cluster-info")
                   ->at("data")
                   .contains("jws-kubeconfig-" + token.substr(0, 6)));
  context.config.ca_data = pki::make_ca("hub", std::chrono::hours(24))->certificate;
  const auto other = run("token create", {}, {{"print-register-command", "true"}});
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("is another one than that of the kubeconfig"), std::string::npos) << other.error().message;
  EXPECT_EQ(run("token create", {}, {{"print-register-command", "true"}, {"usages", "signing"}}).error().category,
            Category::kUsage);
}

TEST_F(Tokens, ATokenThatCannotSignIsNotLeft) {
  context.config.server = "https://hub.example:6443/prefix";
  context.config.ca_data = pki::make_ca("hub", std::chrono::hours(24))->certificate;
  api->on_request([](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    if (call.verb != "patch" || call.plural != "configmaps" || call.query.empty() || call.name != "cluster-info") return {};
    const bool applied = std::any_of(call.query.begin(), call.query.end(), [](const auto& one) { return one.first == "force"; });
    if (applied) return {};
    kube::Response refused;
    refused.status = 422;
    refused.body = R"({"kind":"Status","status":"Failure","reason":"Invalid","message":"field is immutable","code":422})";
    return refused;
  });
  const auto made = run("token create", {}, {{"print-register-command", "true"}});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("cannot sign kube-public/cluster-info"), std::string::npos) << made.error().message;
  EXPECT_TRUE(api->all(kube::resources::secrets()).empty());
}

TEST_F(Tokens, OnATerminalATokenIsShownOnlyOnRequest) {
  context.screen.output_shown = true;
  const auto refused = run("token create");
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().hint.find("--show-token"), std::string::npos);
  EXPECT_TRUE(api->writes().empty()) << "a token that nobody has seen";
  EXPECT_FALSE(create({{"show-token", "true"}}).empty());
}

TEST_F(Tokens, ListTellsWhatCanJoinAndNoSecret) {
  const std::string good = create({{"description", "good"}});
  const std::string short_lived = create({{"ttl", "1m"}});
  const std::string signing = create({{"usages", "signing"}});
  clock->advance(std::chrono::minutes(2));
  const auto report = run("token list");
  ASSERT_TRUE(report.has_value()) << report.error().message;
  std::map<std::string, std::string> joins;
  for (const Json& one : list_at(report->data, {"items"})) joins[str(one, {"id"})] = dump_json(one["joins"]);
  EXPECT_EQ(joins, (std::map<std::string, std::string>{
                       {good.substr(0, 6), "true"}, {short_lived.substr(0, 6), "false"}, {signing.substr(0, 6), "false"}}));
  std::string all = dump_json(report->data);
  for (const auto& row : report->table->rows) {
    for (const std::string& cell : row) all += cell;
  }
  for (const std::string& token : {good, short_lived, signing}) EXPECT_EQ(all.find(token.substr(7)), std::string::npos);
}

TEST_F(Tokens, RevokeEndsWhatIsNamedOrExpired) {
  const std::string first = create();
  const std::string second = create();
  const std::string old = create({{"ttl", "1m"}});
  clock->advance(std::chrono::minutes(2));
  const auto report = run("token revoke", {first, "zzzzzz"});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->lines, Lines{"token " + first.substr(0, 6) + " revoked"});
  ASSERT_EQ(report->failures.size(), 1U);
  EXPECT_EQ(report->failures[0].category, Category::kNotFound);
  EXPECT_TRUE(secret(first).is_null());
  EXPECT_FALSE(secret(second).is_null());
  EXPECT_EQ(run("token revoke", {}, {{"expired", "true"}})->lines, Lines{"token " + old.substr(0, 6) + " revoked"});
  EXPECT_TRUE(run("token revoke", {}, {{"expired", "true"}})->lines.empty());
  EXPECT_EQ(run("token revoke").error().category, Category::kUsage);
  const auto unknown = run("token revoke", {"abcdef.0123456789abcdef"});
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().message.find("0123456789abcdef"), std::string::npos) << unknown.error().message;
}

TEST_F(Tokens, IssuedTokensEndWithTheirAccount) {
  EXPECT_EQ(run("token revoke", {}, {{"issued", "true"}}).error().category, Category::kNotFound) << "not a hub";
  api->put(kube::resources::service_accounts(), {{"apiVersion", "v1"},
                                                 {"kind", "ServiceAccount"},
                                                 {"metadata",
                                                  {{"name", "agent-registration-bootstrap"},
                                                   {"namespace", "open-cluster-management"},
                                                   {"labels", {{"fleetadm.io/part", "hub"}}}}}});
  const auto account = [&] {
    return *api->get(kube::resources::service_accounts(), "open-cluster-management", "agent-registration-bootstrap");
  };
  const std::string before = uid_of(account());
  const auto report = run("token revoke", {}, {{"issued", "true"}});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->lines, Lines{"tokens of serviceaccount agent-registration-bootstrap revoked"});
  EXPECT_NE(uid_of(account()), before);
  EXPECT_EQ(label_of(account(), "fleetadm.io/part"), "hub");
}

}  // namespace
}  // namespace fleetadm::commands
