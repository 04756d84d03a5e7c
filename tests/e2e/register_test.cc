// register and unregister: from a token of the hub to a member and back, and what a hub that is not the right one is told.
#include <gtest/gtest.h>

#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

const std::string kInfo = "/api/v1/namespaces/kube-public/configmaps/cluster-info";

class Register : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(1, true));
    before() = inventory(fleet()->spoke(1));
    // As a chart installs a hub: nothing tells of its CA.
    const Ran init = run({"init", "--context", "hub", "--wait", "--publish-ca=false", "-o", "json"});
    ASSERT_EQ(init.code, 0) << init.both();
  }
  static std::set<std::string>& before() {
    static std::set<std::string> names;
    return names;
  }
  static Json new_token(const std::vector<std::string>& more = {}) {
    std::vector<std::string> args{"token", "create", "--print-register-command", "--context", "hub", "-o", "json"};
    args.insert(args.end(), more.begin(), more.end());
    const Ran made = run(args);
    EXPECT_EQ(made.code, 0) << made.both();
    return made.json();
  }
  static Ran enter(const Json& ticket, const std::vector<std::string>& more = {}, const std::string& pin = {}) {
    const std::string url = str(ticket, {"hub-apiserver"});
    std::vector<std::string> args{"register",
                                  url.substr(std::string("https://").size()),
                                  "--context",
                                  "c1",
                                  "--token-file",
                                  "-",
                                  "--discovery-token-ca-cert-hash",
                                  pin.empty() ? str(ticket, {"ca-cert-hash"}) : pin};
    args.insert(args.end(), more.begin(), more.end());
    RunOptions options;
    options.input = str(ticket, {"hub-token"}) + "\n";
    return run(args, options);
  }
  /// Refused, with nothing on the member and no secret in what was told.
  static void refused(const Json& ticket, const std::string& says, const std::string& pin = {}) {
    const Ran ran = enter(ticket, {}, pin);
    EXPECT_NE(ran.code, 0) << says;
    EXPECT_NE(ran.err.find(says), std::string::npos) << ran.both();
    EXPECT_EQ(ran.both().find(str(ticket, {"hub-token"}).substr(7)), std::string::npos);
    EXPECT_EQ(inventory(fleet()->spoke(1)), before());
  }
  /// What is there now and was not before; empty: nothing.
  static std::string left_on_member() {
    std::string left;
    eventually(
        [&] {
          left.clear();
          for (const std::string& name : inventory(fleet()->spoke(1))) {
            if (!before().contains(name)) left += name + "\n";
          }
          return left.empty();
        },
        std::chrono::minutes(1));
    return left;
  }
  static void change_info(const Json& data) {
    const auto answer = fleet()->hub().request("PATCH", kInfo, dump_json(Json{{"data", data}}), "application/merge-patch+json");
    ASSERT_EQ(answer.status, 200) << answer.body;
  }
};

TEST_F(Register, A_AHubThatIsNotTheRightOneIsNamed) {
  const Json ticket = new_token();
  const Json good = fleet()->hub().get(kInfo)["data"];
  const std::string key = "jws-kubeconfig-" + str(ticket, {"id"});
  ASSERT_TRUE(good.contains(key)) << dump_json(good);
  refused(ticket, "no CA in cluster-info has the pin", "sha256:" + std::string(64, '0'));
  change_info({{"kubeconfig", str(good, {"kubeconfig"}) + " "}});
  refused(ticket, "cluster-info does not have the signature of the token");
  change_info({{"kubeconfig", str(good, {"kubeconfig"})}, {key, nullptr}});
  refused(ticket, "cluster-info is not signed with the token");
  ASSERT_EQ(run({"token", "revoke", str(ticket, {"id"}), "--context", "hub"}).code, 0);
  change_info({{key, str(good, {key})}});  // as a signature stays where nobody takes it
  refused(ticket, "the hub rejected the token");
  const Json gone = new_token();
  ASSERT_EQ(fleet()->hub().request("DELETE", kInfo).status, 200);
  refused(gone, "it is not published");
}

TEST_F(Register, B_AMemberComesWithATokenAlone) {
  const Json ticket = new_token();
  const Ran joined = enter(ticket, {"--labels", "env=prod", "--wait=registered", "-o", "json"});
  ASSERT_EQ(joined.code, 0) << joined.both();
  EXPECT_EQ(str(joined.json(), {"cluster-name"}), "c1") << "the name of the context";
  const Ran accepted = run({"accept", "c1", "--context", "hub", "--yes", "--wait=available"});
  ASSERT_EQ(accepted.code, 0) << accepted.both();
  const Ran again = enter(ticket, {"-o", "json"});
  ASSERT_EQ(again.code, 0) << again.both();
}

TEST_F(Register, C_AnotherAddressIsSignedAgain) {
  const Json ticket = new_token();
  const std::string key = "jws-kubeconfig-" + str(ticket, {"id"});
  const std::string before = str(fleet()->hub().get(kInfo), {"data", key});
  std::string kubeconfig = read_file(fleet()->hub().kubeconfig_file());
  const std::string address = "https://127.0.0.1:";
  kubeconfig.replace(kubeconfig.find(address), address.size(), "https://localhost:");
  const Ran init = run({"init", "--kubeconfig", fleet()->folder().write("by-name.kubeconfig", kubeconfig), "-o", "json"});
  ASSERT_EQ(init.code, 0) << init.both();
  EXPECT_NE(str(fleet()->hub().get(kInfo), {"data", key}), before);
  const Ran checked = enter(ticket, {"--preflight-only"});
  EXPECT_EQ(checked.code, 0) << checked.both();
}

TEST_F(Register, D_TheHalfThatAnswersIsLeft) {
  fleet()->hub().stop_apiserver();
  const Ran half = run({"unregister", "c1", "--context", "c1", "--hub-context", "hub", "--yes", "--request-timeout", "5s"});
  EXPECT_NE(half.code, 0);
  EXPECT_NE(half.err.find("fleetadm unregister --hub-only --context HUB c1"), std::string::npos) << half.both();
  ASSERT_TRUE(fleet()->hub().start_apiserver());
  const Ran rest = run({"unregister", "c1", "--hub-only", "--context", "hub", "--yes"});
  EXPECT_EQ(rest.code, 0) << rest.both();
  EXPECT_TRUE(fleet()->hub().get(std::string(kManagedClusters) + "/c1").is_null());
  EXPECT_EQ(left_on_member(), "");
}

TEST_F(Register, E_BothHalvesGoInOneCommand) {
  const Ran joined = enter(new_token());
  ASSERT_EQ(joined.code, 0) << joined.both();
  ASSERT_TRUE(
      eventually([] { return !fleet()->hub().get(std::string(kManagedClusters) + "/c1").is_null(); }, std::chrono::minutes(1)));
  const Ran accepted = run({"accept", "c1", "--context", "hub", "--yes", "--wait=available"});
  ASSERT_EQ(accepted.code, 0) << accepted.both();
  const Ran left = run({"unregister", "--context", "c1", "--hub-context", "hub", "--yes", "-o", "json"});
  ASSERT_EQ(left.code, 0) << left.both();
  EXPECT_TRUE(fleet()->hub().get(std::string(kManagedClusters) + "/c1").is_null());
  EXPECT_EQ(left_on_member(), "");
}

}  // namespace
}  // namespace fleetadm::testkit
