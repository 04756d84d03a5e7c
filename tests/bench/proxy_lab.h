// Everything on the way: a hub, a gateway, a member with an API server and a node (c1), its agent, and a crowd of agents. Parts
// are processes; the clients and the hub's fixture are this one.
#pragma once

#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "tests/bench/proxy_load.h"
#include "tests/bench/proxy_member.h"
#include "tests/bench/proxy_parts.h"
#include "tests/bench/tls_relays.h"
#include "tests/support/kube_servers.h"
#include "tests/support/network_namespace.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::bench {

/// TCP as the kernel has it by default, whatever this machine was told: a control that paces what is sent (BBR) costs timers for
/// each connection, of which the way through a gateway has three.
inline Status use_cubic(const testkit::NetworkNamespace& network) {
  bool done = false;
  network.inside([&] {
    std::ofstream control("/proc/sys/net/ipv4/tcp_congestion_control");
    done = static_cast<bool>(control << "cubic" << std::flush);
  });
  if (done) return {};
  return fail(Category::kUnavailable, "TCP's congestion control cannot be set in a network");
}

/// Of the hub, with this process, and of the member: joined by a cable where the kernel allows it, else both on loopback.
struct Networks {
  std::shared_ptr<testkit::NetworkNamespace> member;  // null: loopback
  std::string hub_address = "127.0.0.1";
  std::string member_address = "127.0.0.1";
  int member_port = 0;  // free ones
  std::string why;      // on loopback

  /// Before this process has threads.
  static Networks make() {
    const auto joined = []() -> Result<Networks> {
      if (testkit::KubeServer::on_sandbox()) return fail(Category::kUsage, "sandbox servers listen on loopback only");
      Networks out{.member = nullptr, .hub_address = "10.78.0.1", .member_address = "10.78.0.2", .member_port = 443, .why = {}};
      FLEETADM_TRY(const auto hub, testkit::NetworkNamespace::make());
      FLEETADM_TRY(out.member, testkit::NetworkNamespace::make());
      for (const auto& each : {hub, out.member}) FLEETADM_CHECK(use_cubic(*each));
      FLEETADM_CHECK(hub->join(*out.member, out.hub_address, {out.member_address}));
      FLEETADM_CHECK(hub->enter());
      return out;
    }();
    if (joined) return *joined;
    Networks loopback;
    loopback.why = joined.error().message;
    return loopback;
  }
};

/// The processes, before this one has threads.
struct ProxyParts {
  explicit ProxyParts(Networks where) : networks(std::move(where)) {}
  Networks networks;
  Part gateway{run_gateway_part};
  Part next_gateway{run_gateway_part};  // once the first is killed
  Part member{run_member_part, networks.member.get()};
  Part agent{run_agent_part, networks.member.get()};
  Part crowd{run_crowd_part, networks.member.get()};
  Part relays{run_relays_part};
};

class ProxyLab {
 public:
  ProxyLab(ProxyParts& parts, int crowd) : parts_(parts), crowd_(crowd) {}

  Status set_up() {
    const Networks& networks = parts_.networks;
    testkit::KubeServerOptions of_hub;
    of_hub.name = "hub";
    of_hub.address = networks.hub_address;
    FLEETADM_TRY(server_, testkit::KubeServer::start(of_hub));
    make_admins(maker_at(*server_), {"jane"});
    const auto& ca = server_->ca();
    FLEETADM_TRY(const auto serving_ca, pki::make_ca("gateway", std::chrono::hours(1)));
    pki::LeafOptions leaf;
    leaf.server = true;
    leaf.ip_addresses = {"127.0.0.1", networks.hub_address};
    FLEETADM_TRY(const auto serving, pki::issue(serving_ca, leaf));
    FLEETADM_TRY(const auto jane, user_of(ca, "jane"));
    gateway_plan_ = {{"url", server_->url()},
                     {"ca", ca.certificate},
                     {"certificate", server_->admin().certificate},
                     {"key", server_->admin().key}};
    gateway_plan_.update({{"serving", serving.certificate},
                          {"servingKey", serving.key},
                          {"audit", (folder_.path() / "audit.log").string()},
                          {"address", networks.hub_address},
                          {"frontPort", testkit::free_port()},
                          {"tunnelPort", testkit::free_port()}});
    FLEETADM_CHECK(parts_.gateway.tell(gateway_plan_));
    const std::string front = "https://127.0.0.1:" + std::to_string(num(gateway_plan_, {"frontPort"}));
    const Json way = {{"tunnel", networks.hub_address + ":" + std::to_string(num(gateway_plan_, {"tunnelPort"}))},
                      {"gatewayCa", serving_ca.certificate}};

    FLEETADM_TRY(member_, parts_.member.tell({{"address", networks.member_address}, {"port", networks.member_port}}));
    if (const std::string error = str(member_, {"error"}); !error.empty()) return fail(Category::kUnavailable, error);
    direct = way_of(member_);
    through = {front + "/clusters/c1/proxy", serving_ca.certificate, jane};
    FLEETADM_CHECK(start_agent(parts_.agent, "c1", member_, way));
    FLEETADM_TRY(relayed, start_relays(serving_ca, serving));

    gateway_.name = "gateway";
    gateway_.server = front;
    gateway_.ca_data = serving_ca.certificate;
    gateway_.credentials = kube::static_credentials({.client_certificate = jane.certificate, .client_key = jane.key});
    Json crowd = way;
    crowd.update({{"ca", ca.certificate}, {"caKey", ca.key}, {"count", crowd_}, {"silentEvery", 20}});
    FLEETADM_CHECK(parts_.crowd.tell(crowd));
    return {};
  }

  const testkit::KubeServer& hub() const { return *server_; }
  /// What the member's process has told of its server.
  const Json& member() const { return member_; }
  ProxyParts& parts() { return parts_; }
  const Networks& networks() const { return parts_.networks; }
  int crowd() const { return crowd_; }
  const kube::RestConfig& gateway() const { return gateway_; }
  /// The next gateway listens where the last one did.
  const Json& gateway_plan() const { return gateway_plan_; }

  /// Waits until so many agents of the crowd are connected.
  Status wait_for_tunnels(Part& gateway, int count) const {
    const auto begin = Timer::now();
    while (seconds_since(begin) < 60) {
      FLEETADM_TRY(const Json now, gateway.tell({{"do", "count"}}));
      if (num(now, {"tunnels"}) == count + 1) return {};
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return fail(Category::kTimeout, "the tunnels of " + std::to_string(count) + " agents did not come or go");
  }

  Way direct;
  Way through;
  Way relayed;  // through what does nothing but TLS

 private:
  static Way way_of(const Json& member) {
    return {str(member, {"url"}), str(member, {"ca"}), {str(member, {"jane"}), str(member, {"janeKey"})}};
  }

  Result<Way> start_relays(const pki::KeyPair& ca, const pki::KeyPair& serving) const {
    const auto server = split_host_port(direct.base.substr(std::string_view("https://").size()));
    if (!server) return fail(Category::kInternal, "no address in " + direct.base);
    FLEETADM_TRY(const Json relays, parts_.relays.tell({{"host", server->host},
                                                        {"port", server->port},
                                                        {"jane", direct.who.certificate},
                                                        {"janeKey", direct.who.key},
                                                        {"serving", serving.certificate},
                                                        {"servingKey", serving.key}}));
    const auto port = num(relays, {"port"});
    if (port == 0) return fail(Category::kInternal, "the TLS relays do not listen");
    return Way{"https://127.0.0.1:" + std::to_string(port), ca.certificate, direct.who};
  }

  Status start_agent(Part& part, const std::string& cluster, const Json& member, Json plan) const {
    FLEETADM_TRY(const auto tunnel, pki::issue(server_->ca(), agent_leaf(cluster)));
    plan.update(member);
    plan.update({{"agent", tunnel.certificate}, {"agentKey", tunnel.key}});
    FLEETADM_TRY(const Json begun, part.tell(plan));
    if (flag(begun, {"connected"})) return {};
    return fail(Category::kInternal, "the agent of " + cluster + " did not connect");
  }

  ProxyParts& parts_;
  const int crowd_;
  testkit::TemporaryFolder folder_{"bench-proxy"};
  std::unique_ptr<testkit::KubeServer> server_;
  Json member_;
  kube::RestConfig gateway_;
  Json gateway_plan_;
};

}  // namespace fleetadm::bench
