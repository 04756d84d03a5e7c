// The ways of a hosted member: to two hubs, one after the other, and to the member with tokens of a few minutes. c1 is the
// member, c2 the second hub, c3 hosts the agent.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <iostream>
#include <map>
#include <set>

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/token_claims.h"
#include "kubeclient/base/yaml.h"
#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

using Steady = std::chrono::steady_clock;
const std::string kWaysSecrets = "/api/v1/namespaces/open-cluster-management-hosted/secrets/";
constexpr std::string_view kWaysCluster = "/apis/cluster.open-cluster-management.io/v1/managedclusters/c1";
constexpr std::string_view kWaysWorks = "/apis/work.open-cluster-management.io/v1/namespaces/c1/manifestworks";
constexpr std::string_view kWaysMaps = "/api/v1/namespaces/default/configmaps/";
constexpr int kTokenSeconds = 600;  // no API server gives shorter ones
constexpr int kAhead = 465;         // so that a token is due 15 seconds after it was given

class HostedWays : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(3, false));
    for (const int i : {1, 3}) before(i) = inventory(fleet()->spoke(i));
    Json ticket;
    std::string second_hub;
    for (const char* context : {"c2", "hub"}) {
      const Ran init = run({"init", "--context", context, "-o", "json"});
      ASSERT_EQ(init.code, 0) << init.both();
      ticket = init.json();
      if (context == std::string_view("c2"))
        second_hub = fleet()->folder().write("second.kubeconfig", second().kubeconfig_with_token(str(ticket, {"hub-token"})));
    }
    // Both hubs have their controllers, and c3 the agent's program.
    for (KubeServer* hub : {&first(), &second()}) {
      start({"hub", "run", "--kubeconfig", hub->kubeconfig_file(), "--health-address", "127.0.0.1:0"}, {});
    }
    std::vector<std::string> args = join_args(ticket);
    args.at(2) = "c3";
    args.insert(args.end(), {"--mode", "hosted", "--managed-cluster-context", "c1", "--fallback-hub", second_hub,
                             "--agent-arg=--hub-connection-timeout=10s", "-o", "json"});
    const Ran join = run(args);
    ASSERT_EQ(join.code, 0) << join.both();
    shorten_token();
  }
  static void TearDownTestSuite() {
    children().clear();
    FleetTest::TearDownTestSuite();
  }
  static std::vector<sandbox::Child>& children() {
    static std::vector<sandbox::Child> all;
    return all;
  }
  static void start(const std::vector<std::string>& args, const std::vector<std::string>& more) {
    sandbox::ChildSpec spec;
    spec.program = Fleet::binary();
    spec.args = args;
    spec.environment = {"HOME=" + fleet()->folder().path().string(), "PATH=/usr/bin:/bin"};
    spec.environment.insert(spec.environment.end(), more.begin(), more.end());
    spec.output_file = log_file(children().size());
    auto child = sandbox::Child::start(spec);
    ASSERT_TRUE(child) << child.error().message;
    children().push_back(std::move(*child));
  }
  /// The agent's program, the last that is started; with another clock than the servers'.
  static void start_agent(bool ahead) {
    const auto library = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libshifted_clock.so";
    ASSERT_TRUE(std::filesystem::exists(library)) << library;
    std::vector<std::string> clock;
    if (ahead) clock = {"LD_PRELOAD=" + library.string(), "FLEETADM_TEST_CLOCK_SHIFT=" + std::to_string(kAhead)};
    start({"agent", "run", "--hosted-from=open-cluster-management-hosted", "--work-service-account=fleetadm-agent-work",
           "--kubeconfig", fleet()->spoke(3).kubeconfig_file()},
          clock);
  }
  static std::string log_file(std::size_t i) { return (fleet()->folder().path() / ("program" + std::to_string(i))).string(); }
  static std::string agents_log() { return read_file(log_file(2)); }
  static std::set<std::string>& before(int i) {
    static std::map<int, std::set<std::string>> names;
    return names[i];
  }
  static KubeServer& first() { return fleet()->hub(); }
  static KubeServer& second() { return fleet()->spoke(2); }

  static std::string data_of(const std::string& secret, const std::string& key) {
    return base64_decode(str(fleet()->spoke(3).get(kWaysSecrets + secret), {"data", key})).value_or("");
  }
  static std::string member_token() {
    const auto kubeconfig = parse_yaml(data_of("c1.member", "kubeconfig"));
    if (!kubeconfig || list_at(*kubeconfig, {"users"}).empty()) return {};
    return str(list_at(*kubeconfig, {"users"}).front(), {"user", "token"});
  }
  /// The token that join has put there lives for 30 days.
  static void shorten_token() {
    const auto given =
        fleet()->spoke(1).request("POST", "/api/v1/namespaces/open-cluster-management-agent/serviceaccounts/fleetadm-agent/token",
                                  dump_json(Json{{"apiVersion", "authentication.k8s.io/v1"},
                                                 {"kind", "TokenRequest"},
                                                 {"spec", {{"expirationSeconds", kTokenSeconds}}}}));
    ASSERT_EQ(given.status, 201) << given.body;
    const std::string token = str(parse_json(given.body).value_or(Json()), {"status", "token"});
    std::string kubeconfig = data_of("c1.member", "kubeconfig");
    const std::string old = member_token();
    ASSERT_FALSE(old.empty());
    kubeconfig.replace(kubeconfig.find(old), old.size(), token);
    const Json change{{"data", {{"kubeconfig", base64_encode(kubeconfig)}}}};
    const auto put =
        fleet()->spoke(3).request("PATCH", kWaysSecrets + "c1.member", dump_json(change), "application/merge-patch+json");
    ASSERT_EQ(put.status, 200) << put.body;
  }
  static void accept(const char* context, const std::string& wait = "--wait=available") {
    Ran accepted;
    EXPECT_TRUE(eventually(
        [&] {
          accepted = run({"accept", "c1", "--context", context, "--yes", wait, "--timeout=20s"});
          return accepted.code == 0;
        },
        std::chrono::seconds(90)))
        << accepted.both() << agents_log();
  }
  static void work(const KubeServer& hub, const std::string& name) {
    const Json map{{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", name}, {"namespace", "default"}}}};
    const auto made = hub.create(kWaysWorks, {{"apiVersion", "work.open-cluster-management.io/v1"},
                                              {"kind", "ManifestWork"},
                                              {"metadata", {{"name", name}, {"namespace", "c1"}}},
                                              {"spec", {{"workload", {{"manifests", Json::array({map})}}}}}});
    ASSERT_EQ(made.status, 201) << made.body;
  }
  static bool has_map(const std::string& name) { return !fleet()->spoke(1).get(std::string(kWaysMaps) + name).is_null(); }
  static bool is_with(const KubeServer& hub) {
    return data_of("c1-hub-kubeconfig-secret", "kubeconfig").find(hub.url()) != std::string::npos &&
           !data_of("c1-hub-kubeconfig-secret", "tls.crt").empty();
  }
};

TEST_F(HostedWays, A_TokensOfMinutesAreRenewedWhileWorksGoOn) {
  ASSERT_NO_FATAL_FAILURE(start_agent(true));
  accept("hub", "--wait=accepted");  // of an agent with such a clock the hub takes no status
  std::set<std::string> tokens{member_token()};
  int works = 0;
  auto slowest = Steady::duration::zero();
  for (const auto until = Steady::now() + std::chrono::seconds(90); tokens.size() < 4 && Steady::now() < until;) {
    const std::string name = "steady-" + std::to_string(++works);
    const auto since = Steady::now();
    work(first(), name);
    ASSERT_TRUE(eventually([&] { return has_map(name); }, std::chrono::seconds(10))) << name << "\n" << agents_log();
    slowest = std::max(slowest, Steady::now() - since);
    const auto claims = token_claims(member_token());
    ASSERT_TRUE(claims);
    EXPECT_EQ(claims->expires - claims->issued, std::chrono::seconds(kTokenSeconds)) << "as long as the one before";
    tokens.insert(member_token());
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  EXPECT_EQ(tokens.size(), 4U) << agents_log();
  EXPECT_EQ(agents_log().find("cannot renew"), std::string::npos) << agents_log();
  const auto ms = static_cast<int>(slowest / std::chrono::milliseconds(1));
  RecordProperty("slowest_work_ms", ms);
  std::cout << works << " works beside three renewals, the slowest after " << ms << " ms\n";
}

TEST_F(HostedWays, B_AHubThatDeniesTheMemberIsLeftForTheOther) {
  children().pop_back();
  ASSERT_NO_FATAL_FAILURE(start_agent(false));
  accept("hub");
  work(first(), "kept");
  ASSERT_TRUE(eventually([] { return has_map("kept"); }));
  EXPECT_TRUE(second().get(kWaysCluster).is_null()) << "nothing was asked of the second";
  const Ran deny = run({"cluster", "deny", "--context", "hub", "c1", "--allow-removals"});
  ASSERT_EQ(deny.code, 0) << deny.both();
  const auto since = Steady::now();
  ASSERT_TRUE(eventually([] { return !second().get(kWaysCluster).is_null(); }, std::chrono::seconds(60))) << agents_log();
  std::cout << "the second hub was asked after " << (Steady::now() - since) / std::chrono::milliseconds(1) << " ms\n";
  accept("c2");
  EXPECT_TRUE(eventually([] { return is_with(second()); }));
  work(second(), "of-the-second");
  EXPECT_TRUE(eventually([] { return has_map("of-the-second"); }, std::chrono::seconds(30))) << agents_log();
  EXPECT_TRUE(has_map("kept")) << "what the first hub's work applied stays for the grace period";
}

TEST_F(HostedWays, C_AndComesBackToTheFirst) {
  const Ran accepted = run({"accept", "--context", "hub", "c1", "--yes"});
  ASSERT_EQ(accepted.code, 0) << accepted.both();
  const Ran deny = run({"cluster", "deny", "--context", "c2", "c1", "--allow-removals"});
  ASSERT_EQ(deny.code, 0) << deny.both();
  EXPECT_TRUE(eventually([] { return is_with(first()); }, std::chrono::seconds(60))) << agents_log();
  work(first(), "again");
  EXPECT_TRUE(eventually([] { return has_map("again"); }, std::chrono::seconds(30))) << agents_log();
}

TEST_F(HostedWays, D_UnjoinRemovesTheBootstrapsOfBothHubs) {
  EXPECT_FALSE(fleet()->spoke(3).get(kWaysSecrets + "c1.bootstrap-2").is_null());
  const Ran left = run({"unjoin", "--mode", "hosted", "--context", "c3", "--cluster-name", "c1", "--managed-cluster-context",
                        "c1", "--hub-context", "hub", "--allow-removals", "--force"});
  ASSERT_EQ(left.code, 0) << left.both();
  for (const int i : {1, 3}) {
    EXPECT_TRUE(eventually([&] {
      const auto now = inventory(fleet()->spoke(i));
      return std::includes(before(i).begin(), before(i).end(), now.begin(), now.end());
    })) << "c"
        << i;
  }
}

}  // namespace
}  // namespace fleetadm::testkit
