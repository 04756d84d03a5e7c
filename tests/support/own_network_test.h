// A fleet whose one cluster has a network of its own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {

class OwnNetworkTest : public FleetTest {
 protected:
  /// begin() with a cluster c1 that nothing outside its own network reaches, which has joined the hub and is available. It
  /// reaches the hub's API server, and what `way_out` answers once `init` is done: addresses that end in a port of this machine.
  static void begin_in_own_network(const std::vector<std::string>& init_flags = {},
                                   const std::function<std::vector<std::string>()>& way_out = {}) {
    auto network = NetworkNamespace::make();
    ASSERT_TRUE(network) << network.error().message << "; " << network.error().hint;
    KubeServerOptions of_member;
    of_member.network = *network;
    ASSERT_NO_FATAL_FAILURE(begin(1, true, {}, of_member));
    std::vector<std::string> init = {"init", "--context", "hub", "--wait", "-o", "json"};
    init.insert(init.end(), init_flags.begin(), init_flags.end());
    const Ran made = run(init);
    ASSERT_EQ(made.code, 0) << made.both();
    std::vector<std::string> addresses = way_out ? way_out() : std::vector<std::string>{};
    addresses.push_back(fleet()->hub().url());
    for (const std::string& address : addresses) {
      const Status led = (*network)->lead_out(std::stoi(address.substr(address.rfind(':') + 1)));
      ASSERT_TRUE(led) << address << ": " << led.error().message;
    }
    RunOptions inside;
    inside.network = network->get();
    const Ran joined = run(join_args(made.json()), inside);
    ASSERT_EQ(joined.code, 0) << joined.both();
    const Ran accepted = run({"accept", "c1", "--context", "hub", "--yes", "--wait=available"});
    ASSERT_EQ(accepted.code, 0) << accepted.both();
  }
};

}  // namespace fleetadm::testkit
