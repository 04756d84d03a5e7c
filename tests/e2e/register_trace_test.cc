// register and unregister, held against what Karmada's programs wrote for them (recorded): fewer writes on both sides, none that
// is refused, and a member as it was before.
#include <algorithm>
#include <gtest/gtest.h>
#include <iostream>

#include "kubeclient/base/joined.h"
#include "tests/e2e/recording.h"
#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {
namespace {

class RegisterTrace : public FleetTest {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(1, true));
    const Ran init = run({"init", "--context", "hub", "--wait", "-o", "json"});
    ASSERT_EQ(init.code, 0) << init.both();
  }
  /// How many writes `work` made on both sides together, beside those of the recorded steps.
  template <class Work>
  static void compare(const std::string& what, const std::vector<std::string>& steps, const Work& work) {
    const auto hub_from = fleet()->hub().audit_position();
    const auto member_from = fleet()->spoke(1).audit_position();
    ASSERT_NO_FATAL_FAILURE(work());
    auto on_hub = written_by_programs(fleet()->hub(), hub_from);
    // Cluster sets count their clusters; Karmada has none.
    std::erase_if(on_hub, [](const std::string& one) { return one.find("/managedclustersets/") != std::string::npos; });
    const auto on_member = written_by_programs(fleet()->spoke(1), member_from);
    const auto of_hub = karmada_wrote("hub", steps);
    const auto of_member = karmada_wrote("member", steps);
    const std::string text = std::to_string(on_hub.size()) + " + " + std::to_string(on_member.size()) + " writes of ours, " +
                             std::to_string(of_hub.size()) + " + " + std::to_string(of_member.size()) + " recorded";
    std::cout << what << ", on hub and member: " << text << "\n";
    RecordProperty(what, text);
    // Least rights are more objects on the member than one role that allows everything.
    EXPECT_LE(on_hub.size() + on_member.size(), of_hub.size() + of_member.size()) << joined(on_hub, "\n") << "\n"
                                                                                  << joined(on_member, "\n");
    EXPECT_TRUE(refused_of(on_member).empty()) << joined(refused_of(on_member), "\n");
    EXPECT_TRUE(refused_of(on_hub).empty()) << joined(on_hub, "\n");
  }
};

TEST_F(RegisterTrace, NotMoreWritesThanKarmadasAndTheMemberIsAsItWas) {
  const auto before = inventory(fleet()->spoke(1));
  const Ran ticket = run({"token", "create", "--print-register-command", "--context", "hub", "-o", "json"});
  ASSERT_EQ(ticket.code, 0) << ticket.both();
  const Json told = ticket.json();
  compare("register", {"register", "agent-start"}, [&] {
    RunOptions options;
    options.input = str(told, {"hub-token"}) + "\n";
    const Ran joined =
        run({"register", str(told, {"hub-apiserver"}).substr(std::string("https://").size()), "--context", "c1", "--token-file",
             "-", "--discovery-token-ca-cert-hash", str(told, {"ca-cert-hash"}), "--wait=registered"},
            options);
    ASSERT_EQ(joined.code, 0) << joined.both();
    const Ran accepted = run({"accept", "c1", "--context", "hub", "--yes", "--wait=available"});
    ASSERT_EQ(accepted.code, 0) << accepted.both();
    settle({&fleet()->hub(), &fleet()->spoke(1)});  // what follows the acceptance is no part of the departure
  });
  compare("unregister", {"unregister"}, [] {
    const Ran left = run({"unregister", "c1", "--context", "c1", "--hub-context", "hub", "--yes"});
    ASSERT_EQ(left.code, 0) << left.both();
  });
  EXPECT_TRUE(eventually([&] { return inventory(fleet()->spoke(1)) == before; }, std::chrono::minutes(1))) << joined(
      [&] {
        std::vector<std::string> left;
        for (const std::string& name : inventory(fleet()->spoke(1))) {
          if (!before.contains(name)) left.push_back(name);
        }
        return left;
      }(),
      "\n");
}

}  // namespace
}  // namespace fleetadm::testkit
