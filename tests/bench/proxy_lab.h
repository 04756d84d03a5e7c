// Everything on the way: a hub that is also the member c1, a member c2 whose pods run commands, a gateway, an agent for each, and
// a crowd of agents. Parts are processes; the clients and the member c2 are this one.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "tests/bench/proxy_load.h"
#include "tests/bench/proxy_parts.h"
#include "tests/support/kube_servers.h"
#include "tests/support/stream_lab.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::bench {

/// The processes, before this one has threads.
struct ProxyParts {
  Part gateway{run_gateway_part};
  Part next_gateway{run_gateway_part};  // once the first is killed
  Part agent{run_agent_part};
  Part streams_agent{run_agent_part};
  Part crowd{run_crowd_part};
};

constexpr const char* kMapsPath = "/api/v1/namespaces/default/configmaps";

class ProxyLab {
 public:
  ProxyLab(ProxyParts& parts, int crowd) : parts_(parts), crowd_(crowd) {}

  Status set_up() {
    FLEETADM_TRY(server_, testkit::KubeServer::start());
    const auto& ca = server_->ca();
    FLEETADM_TRY(const auto serving_ca, pki::make_ca("gateway", std::chrono::hours(1)));
    pki::LeafOptions leaf;
    leaf.server = true;
    leaf.ip_addresses = {"127.0.0.1"};
    FLEETADM_TRY(const auto serving, pki::issue(serving_ca, leaf));
    FLEETADM_TRY(const auto admin, user("admin", {"system:masters"}));
    FLEETADM_TRY(const auto jane, user("jane", {}));
    fill();
    gateway_plan_ = {{"url", server_->url()}, {"ca", ca.certificate}, {"certificate", admin.certificate}, {"key", admin.key}};
    gateway_plan_.update({{"serving", serving.certificate},
                          {"servingKey", serving.key},
                          {"audit", (folder_.path() / "audit.log").string()},
                          {"frontPort", testkit::free_port()},
                          {"tunnelPort", testkit::free_port()}});
    FLEETADM_CHECK(parts_.gateway.tell(gateway_plan_));
    const std::string front = "https://127.0.0.1:" + std::to_string(num(gateway_plan_, {"frontPort"}));
    const Json way = {{"tunnel", "127.0.0.1:" + std::to_string(num(gateway_plan_, {"tunnelPort"}))},
                      {"gatewayCa", serving_ca.certificate}};

    direct = {server_->url(), ca.certificate, jane};
    through = {front + "/clusters/c1/proxy", serving_ca.certificate, jane};
    FLEETADM_CHECK(start_agent(parts_.agent, "c1", direct, admin, way));

    streams_.add_pod("p", "exec sleep 100000");
    streams_.allow("jane", {"create", "get"}, {"pods", "pods/exec"});
    const auto at_streams = streams_.config();
    FLEETADM_TRY(const auto credentials, at_streams.credentials->current());
    const pki::KeyPair streams_admin{credentials.client_certificate, credentials.client_key};
    streams_direct = {at_streams.server, at_streams.ca_data, streams_admin};
    streams_through = {front + "/clusters/c2/proxy", serving_ca.certificate, jane};
    FLEETADM_CHECK(start_agent(parts_.streams_agent, "c2", streams_direct, streams_admin, way));

    gateway_.name = "gateway";
    gateway_.server = front;
    gateway_.ca_data = serving_ca.certificate;
    gateway_.credentials = kube::static_credentials({.client_certificate = jane.certificate, .client_key = jane.key});
    Json crowd = way;
    crowd.update({{"ca", ca.certificate}, {"caKey", ca.key}, {"count", crowd_}, {"silentEvery", 20}});
    FLEETADM_CHECK(parts_.crowd.tell(crowd));
    return {};
  }

  const testkit::KubeServer& server() const { return *server_; }
  ProxyParts& parts() { return parts_; }
  int crowd() const { return crowd_; }
  const kube::RestConfig& gateway() const { return gateway_; }
  /// The next gateway listens where the last one did.
  const Json& gateway_plan() const { return gateway_plan_; }

  /// Waits until so many agents of the crowd are connected.
  Status wait_for_tunnels(Part& gateway, int count) const {
    const auto begin = Timer::now();
    while (seconds_since(begin) < 60) {
      FLEETADM_TRY(const Json now, gateway.tell({{"do", "count"}}));
      if (num(now, {"tunnels"}) == count + 2) return {};
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return fail(Category::kTimeout, "the tunnels of " + std::to_string(count) + " agents did not come or go");
  }

  Way direct;
  Way through;
  Way streams_direct;
  Way streams_through;

  static Json map_of(const std::string& name, std::size_t size) {
    return {{"apiVersion", "v1"},
            {"kind", "ConfigMap"},
            {"metadata", {{"name", name}, {"labels", {{"part", size > 10'000 ? "list" : "one"}}}}},
            {"data", {{"text", std::string(size, 'x')}}}};
  }

 private:
  Result<pki::KeyPair> user(const std::string& name, const std::vector<std::string>& groups) const {
    pki::LeafOptions leaf;
    leaf.subject = {name, groups, {}};
    leaf.client = true;
    return pki::issue(server_->ca(), leaf);
  }

  void fill() const {
    const Json binding = {
        {"apiVersion", "rbac.authorization.k8s.io/v1"},
        {"kind", "ClusterRoleBinding"},
        {"metadata", {{"name", "jane"}}},
        {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", "cluster-admin"}}},
        {"subjects", Json::array({{{"kind", "User"}, {"apiGroup", "rbac.authorization.k8s.io"}, {"name", "jane"}}})}};
    server_->create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding);
    constexpr int kMaps = 10;
    server_->create(kMapsPath, map_of("small", 300));
    for (int i = 0; i < kMaps; ++i) server_->create(kMapsPath, map_of("part-" + std::to_string(i), 1024 * 1024 / kMaps));
  }

  Status start_agent(Part& part, const std::string& cluster, const Way& member, const pki::KeyPair& admin, Json plan) const {
    FLEETADM_TRY(const auto tunnel, pki::issue(server_->ca(), agent_leaf(cluster)));
    plan.update({{"url", member.base}, {"ca", member.ca}, {"certificate", admin.certificate}, {"key", admin.key}});
    plan.update({{"agent", tunnel.certificate}, {"agentKey", tunnel.key}});
    FLEETADM_TRY(const Json begun, part.tell(plan));
    if (flag(begun, {"connected"})) return {};
    return fail(Category::kInternal, "the agent of " + cluster + " did not connect");
  }

  ProxyParts& parts_;
  const int crowd_;
  testkit::TemporaryFolder folder_{"bench-proxy"};
  std::unique_ptr<testkit::KubeServer> server_;
  testkit::StreamLab streams_;
  kube::RestConfig gateway_;
  Json gateway_plan_;
};

}  // namespace fleetadm::bench
