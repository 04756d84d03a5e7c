// certs check: what a hub and a managed cluster show of what ends, without servers that could be asked.
#include "commands/certs/certs.h"

#include <gtest/gtest.h>

#include "commands/certs/figures.h"
#include "core/api/kinds.h"
#include "core/registration/agent/certificate_keeper.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/config/kubeconfig.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"

namespace fleetadm::commands {
namespace {

namespace r = kube::resources;
constexpr auto kDay = std::chrono::hours(24);

class Certs : public testing::Test {
 protected:
  using Flags = std::vector<std::pair<std::string, std::string>>;

  Certs() { register_certs(registry); }

  void be_a_hub() {
    kube::Response types;
    types.status = 200;
    types.body = R"({"resources":[{"name":"managedclusters"}]})";
    api->route("/apis/cluster.open-cluster-management.io/v1", types);
  }
  void add_cluster(const std::string& name, Duration left) {
    api->put(api::managed_clusters(),
             {{"metadata", {{"name", name}}},
              {"status",
               {{"conditions", Json::array({{{"type", registration::agent::kCertificateRotated},
                                             {"status", "True"},
                                             {"message", registration::agent::rotated_message(clock->now() + left - 365 * kDay,
                                                                                              clock->now() + left)}}})}}}});
  }
  void add_token(const std::string& id, const std::string& expiration) {
    api->put(r::secrets(), {{"metadata", {{"name", "bootstrap-token-" + id}, {"namespace", "kube-system"}}},
                            {"type", "bootstrap.kubernetes.io/token"},
                            {"data",
                             {{"token-id", base64_encode(id)},
                              {"token-secret", base64_encode("0123456789abcdef")},
                              {"usage-bootstrap-authentication", base64_encode("true")},
                              {"auth-extra-groups", base64_encode("system:bootstrappers:managedcluster")},
                              {"expiration", base64_encode(expiration)}}}});
  }
  Report run(const Flags& flags = {}) {
    auto report = testkit::run_command(registry, "certs check", context, flags, {});
    EXPECT_TRUE(report.has_value()) << (report ? "" : report.error().message);
    return report ? *report : Report{};
  }
  static Json hop(const Report& report, const std::string& cluster, const std::string& what) {
    for (const Json& one : list_at(report.data, {"items"})) {
      if (str(one, {"cluster"}) == cluster && str(one, {"hop"}) == what) return one;
    }
    return nullptr;
  }

  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>(*parse_time("2026-03-01T12:00:00Z"));
  std::shared_ptr<testkit::FakeApi> api = testkit::FakeApi::make();
  testkit::FakeContext context{api->client(), clock};
  Registry registry;
};

TEST_F(Certs, AHubTellsWhichAgentsCertificateEndsSoon) {
  be_a_hub();
  add_cluster("c1", 200 * kDay);
  add_cluster("c2", 5 * kDay);
  const Report all = run({{"all", "true"}});
  EXPECT_EQ(str(hop(all, "c1", "agent certificate"), {"result"}), "ok");
  EXPECT_EQ(str(hop(all, "c2", "agent certificate"), {"result"}), "soon");
  EXPECT_EQ(num(hop(all, "c2", "agent certificate"), {"daysLeft"}), 5);
  EXPECT_FALSE(str(hop(all, "c2", "agent certificate"), {"fix"}).empty());
  EXPECT_EQ(all.exit_code, 1);
  EXPECT_FALSE(flag(all.data, {"healthy"}));
  EXPECT_EQ(run({{"clusters", "c1"}}).exit_code, 0);
  EXPECT_EQ(run({{"clusters", "c2"}, {"days", "5"}}).exit_code, 0) << "not under five days";
  EXPECT_EQ(run({{"clusters", "c1"}, {"days", "201"}}).exit_code, 1);
  EXPECT_TRUE(hop(run(), "c2", "agent certificate").is_null()) << "only the hub";
  EXPECT_EQ(run({{"clusters", "c1,nowhere"}}).exit_code, kPartialExitCode);
  EXPECT_TRUE(api->writes().empty());
}

TEST_F(Certs, ATokenThatHasEndedIsShownAndIsNoFault) {
  be_a_hub();
  add_token("abcdef", "2026-02-01T00:00:00Z");
  const Report report = run();
  EXPECT_EQ(str(hop(report, "hub", "bootstrap token abcdef"), {"result"}), "ended");
  EXPECT_EQ(report.exit_code, 0);
  EXPECT_EQ(dump_json(report.data).find("0123456789abcdef"), std::string::npos);
}

TEST_F(Certs, AManagedClusterWhoseAgentHasNoCertificateFails) {
  api->put(r::namespaces(), {{"metadata", {{"name", "open-cluster-management-agent"}}}});
  const Json kubeconfig = kube::make_kubeconfig("http://hub", "", Json{{"token", "abcdef.0123456789abcdef"}});
  api->put(r::secrets(), {{"metadata", {{"name", "bootstrap-hub-kubeconfig"}, {"namespace", "open-cluster-management-agent"}}},
                          {"data", {{"kubeconfig", base64_encode(dump_yaml(kubeconfig))}}}});
  api->put(r::secrets(), {{"metadata", {{"name", "hub-kubeconfig-secret"}, {"namespace", "open-cluster-management-agent"}}},
                          {"data", {{"cluster-name", base64_encode("c1")}}}});
  const Report report = run();
  EXPECT_EQ(str(hop(report, "c1", "agent certificate"), {"result"}), "wrong");
  EXPECT_EQ(str(hop(report, "c1", "bootstrap token"), {"result"}), "unknown");
  EXPECT_EQ(report.exit_code, 1);
  EXPECT_EQ(dump_json(report.data).find("0123456789abcdef"), std::string::npos);
  const auto all = testkit::run_command(registry, "certs check", context, {{"all", "true"}}, {});
  ASSERT_FALSE(all.has_value());
  EXPECT_EQ(all.error().category, Category::kUsage) << "it is no hub";
}

TEST_F(Certs, WhatIsNeitherIsAnError) {
  const auto report = testkit::run_command(registry, "certs check", context, {}, {});
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().category, Category::kNotFound);
  for (const Flags& flags : {Flags{{"days", "-5"}}, Flags{{"all", "true"}, {"clusters", "c1"}}}) {
    EXPECT_EQ(testkit::run_command(registry, "certs check", context, flags, {}).error().category, Category::kUsage);
  }
}

TEST_F(Certs, FiguresAreLinesThatPrometheusReads) {
  be_a_hub();
  add_cluster("c1", 5 * kDay);
  const Report report = run({{"all", "true"}, {"prometheus", "true"}});
  const std::string text = joined(report.lines, "\n");
  const auto ends = std::to_string((clock->now() + 5 * kDay).time_since_epoch() / std::chrono::seconds(1));
  EXPECT_NE(text.find("# TYPE fleetadm_expiration_timestamp_seconds gauge\n"), std::string::npos);
  EXPECT_NE(text.find("\nfleetadm_expiration_timestamp_seconds{cluster=\"c1\",hop=\"agent certificate\"} " + ends + "\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\nfleetadm_expiration_ok{cluster=\"c1\",hop=\"agent certificate\"} 0"), std::string::npos) << text;
  EXPECT_FALSE(report.table.has_value());
}

}  // namespace
}  // namespace fleetadm::commands
