// bench_proxy: what the way through the gateway costs beside a direct connection, in the same run.
//
// An API server, which is hub and member in one; the gateway and the agent's end of the tunnel in a process each, with
// authentication, authorization, impersonation and the audit log; clients with connections that are kept, under TLS everywhere.
// FLEETADM_BENCH_REQUESTS sets another number of requests. Prints a table and one line of JSON.
#include <cstdio>

#include "tests/bench/proxy_load.h"
#include "tests/bench/proxy_parts.h"
#include "tests/bench/report.h"
#include "tests/support/kube_servers.h"
#include "tests/support/temporary_folder.h"

namespace {

using namespace fleetadm;
using bench::Figures;
using bench::percentile;
using bench::Way;

constexpr bench::Row kProxyRows[] = {
    {"get_direct_p50_ms", "GET, direct, p50", "ms"},
    {"get_added_p50_ms", "GET, added, p50", "ms", 0.4},
    {"get_direct_p99_ms", "GET, direct, p99", "ms"},
    {"get_added_p99_ms", "GET, added, p99", "ms", 3},
    {"get_new_direct_p50_ms", "GET on a new connection, direct, p50", "ms"},
    {"get_new_added_p50_ms", "GET on a new connection, added, p50", "ms"},
    {"get16_direct_per_s", "GET, 16 at a time, direct", "/s"},
    {"get16_through_per_s", "GET, 16 at a time, through", "/s"},
    {"get16_percent", "of direct (goal: at least 50)", "%"},
    {"get_cpu_ms", "CPU of both proxies per GET", "ms", 0.3},
    {"list_direct_p50_ms", "list of 1 MiB, direct, p50", "ms"},
    {"list_added_p50_ms", "list of 1 MiB, added, p50", "ms", 3},
    {"list8_direct_mib_per_s", "list, 8 at a time, direct", "MiB/s"},
    {"list8_through_mib_per_s", "list, 8 at a time, through", "MiB/s"},
    {"list8_percent", "of direct (goal: at least 60)", "%"},
    {"list_cpu_ms", "CPU of both proxies per MiB", "ms", 2.5},
    {"event_direct_p50_ms", "watch event, direct, p50", "ms"},
    {"event_added_p50_ms", "watch event, added, p50", "ms", 0.3},
    {"gateway_anonymous_mib", "gateway, memory beyond the program's file", "MiB", 20},
    {"agent_anonymous_mib", "agent's end, the same", "MiB"},
};

constexpr const char* kMapsPath = "/api/v1/namespaces/default/configmaps";
constexpr int kParts = 10;

struct Member {
  std::unique_ptr<testkit::KubeServer> server;
  pki::KeyPair jane;
  Way direct;
  Way through;
};

pki::KeyPair certificate(const pki::KeyPair& ca, const std::string& name, const std::vector<std::string>& groups) {
  pki::LeafOptions leaf;
  leaf.subject = {name, groups, {}};
  leaf.client = true;
  return *pki::issue(ca, leaf);
}

Json map_of(const std::string& name, std::size_t size) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", name}, {"labels", {{"part", size > 10'000 ? "list" : "one"}}}}},
          {"data", {{"text", std::string(size, 'x')}}}};
}

Result<Member> set_up(bench::Part& gateway, bench::Part& agent, const std::string& audit) {
  Member out;
  FLEETADM_TRY(out.server, testkit::KubeServer::start());
  const auto& server = *out.server;
  const auto& ca = server.ca();
  out.jane = certificate(ca, "jane", {});
  const Json binding = {
      {"apiVersion", "rbac.authorization.k8s.io/v1"},
      {"kind", "ClusterRoleBinding"},
      {"metadata", {{"name", "jane"}}},
      {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", "cluster-admin"}}},
      {"subjects", Json::array({{{"kind", "User"}, {"apiGroup", "rbac.authorization.k8s.io"}, {"name", "jane"}}})}};
  server.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding);
  server.create(kMapsPath, map_of("small", 300));
  for (int i = 0; i < kParts; ++i) server.create(kMapsPath, map_of("part-" + std::to_string(i), 1024 * 1024 / kParts));

  const auto serving_ca = *pki::make_ca("gateway", std::chrono::hours(1));
  pki::LeafOptions leaf;
  leaf.server = true;
  leaf.ip_addresses = {"127.0.0.1"};
  const auto serving = *pki::issue(serving_ca, leaf);
  const auto admin = certificate(ca, "admin", {"system:masters"});
  const auto tunnel = certificate(ca, "system:open-cluster-management:c1:a1",
                                  {"system:open-cluster-management:c1", "system:open-cluster-management:managed-clusters"});
  Json plan = {{"url", server.url()}, {"ca", ca.certificate}, {"certificate", admin.certificate}, {"key", admin.key}};
  plan.update({{"serving", serving.certificate}, {"servingKey", serving.key}, {"audit", audit}});
  FLEETADM_TRY(const Json listening, gateway.begin(plan));
  plan.update({{"agent", tunnel.certificate},
               {"agentKey", tunnel.key},
               {"tunnel", str(listening, {"tunnel"})},
               {"gatewayCa", serving_ca.certificate}});
  FLEETADM_TRY(const Json connected, agent.begin(plan));
  out.direct = {server.url(), ca.certificate, out.jane};
  out.through = {"https://127.0.0.1:" + std::to_string(num(listening, {"front"})) + "/clusters/c1/proxy", serving_ca.certificate,
                 out.jane};
  return out;
}

/// In turns, so that what else the machine does meets both.
Status compare(const Member& member, const std::string& path, const std::string& name, int rounds, int count, bool fresh,
               Figures& figures) {
  std::vector<double> direct;
  std::vector<double> through;
  bench::WayClient near(member.direct);
  bench::WayClient far(member.through);
  if (fresh) {
    near.fresh();
    far.fresh();
  }
  for (int round = 0; round <= rounds; ++round) {
    FLEETADM_TRY(const auto nearby, bench::one_by_one(near, path, count));
    FLEETADM_TRY(const auto afar, bench::one_by_one(far, path, count));
    if (round == 0) continue;  // until all is warm
    direct.insert(direct.end(), nearby.begin(), nearby.end());
    through.insert(through.end(), afar.begin(), afar.end());
  }
  for (const auto& [share, word] : {std::pair{0.5, "p50"}, std::pair{0.99, "p99"}}) {
    const double base = percentile(direct, share);
    figures.set(name + "_direct_" + word + "_ms", base);
    figures.set(name + "_added_" + word + "_ms", percentile(through, share) - base);
  }
  return {};
}

double cpu_of(const bench::Part& gateway, const bench::Part& agent) {
  return bench::cpu_seconds(gateway.pid()) + bench::cpu_seconds(agent.pid());
}

Result<Figures> measure(bench::Part& gateway, bench::Part& agent, int requests) {
  const testkit::TemporaryFolder folder("bench-proxy");
  FLEETADM_TRY(const Member member, set_up(gateway, agent, (folder.path() / "audit.log").string()));
  Figures figures;
  const std::string one = std::string(kMapsPath) + "/small";
  const std::string list = std::string(kMapsPath) + "?labelSelector=part%3Dlist";
  FLEETADM_CHECK(compare(member, one, "get", 5, requests / 5, false, figures));
  FLEETADM_CHECK(compare(member, one, "get_new", 3, std::max(requests / 50, 10), true, figures));
  FLEETADM_CHECK(compare(member, list, "list", 3, std::max(requests / 50, 10), false, figures));
  {
    FLEETADM_TRY(const auto direct, bench::all_together(member.direct, one, 16, 3));
    const double before = cpu_of(gateway, agent);
    FLEETADM_TRY(const auto through, bench::all_together(member.through, one, 16, 3));
    figures.set("get_cpu_ms", (cpu_of(gateway, agent) - before) * 1000 / through.answers);
    figures.set("get16_direct_per_s", direct.answers / direct.seconds);
    figures.set("get16_through_per_s", through.answers / through.seconds);
    figures.set("get16_percent", 100 * (through.answers / through.seconds) / (direct.answers / direct.seconds));
  }
  {
    constexpr double kMebibyte = 1024.0 * 1024.0;
    FLEETADM_TRY(const auto direct, bench::all_together(member.direct, list, 8, 3));
    const double before = cpu_of(gateway, agent);
    FLEETADM_TRY(const auto through, bench::all_together(member.through, list, 8, 3));
    figures.set("list_cpu_ms", (cpu_of(gateway, agent) - before) * 1000 / (through.bytes / kMebibyte));
    figures.set("list8_direct_mib_per_s", direct.bytes / kMebibyte / direct.seconds);
    figures.set("list8_through_mib_per_s", through.bytes / kMebibyte / through.seconds);
    figures.set("list8_percent", 100 * (through.bytes / through.seconds) / (direct.bytes / direct.seconds));
  }
  double base = 0;
  for (const auto& [way, word] : {std::pair{&member.direct, "direct"}, std::pair{&member.through, "through"}}) {
    const std::string prefix = std::string("event-") + word;
    const auto write = [&, name = prefix](int i) {
      return member.server->create(kMapsPath, map_of(name + "-" + std::to_string(i), 100)).status == 201;
    };
    const std::string path = std::string(kMapsPath) + "?watch=true&labelSelector=part%3Done";
    FLEETADM_TRY(const auto waited, bench::events(*way, path, prefix, std::max(requests / 20, 10), write));
    const double median = percentile(waited, 0.5);
    figures.set(way == &member.direct ? "event_direct_p50_ms" : "event_added_p50_ms", median - base);
    base = median;
  }
  figures.set("gateway_anonymous_mib", bench::mebibytes(gateway.pid(), "RssAnon:"));
  figures.set("agent_anonymous_mib", bench::mebibytes(agent.pid(), "RssAnon:"));
  return figures;
}

}  // namespace

int main() {
  bench::Part gateway(bench::run_gateway_part);
  bench::Part agent(bench::run_agent_part);
  const auto figures = measure(gateway, agent, bench::number("FLEETADM_BENCH_REQUESTS", 2000, 100));
  if (!figures) {
    std::fprintf(stderr, "bench_proxy: %s\n", figures.error().message.c_str());
    return 1;
  }
  std::printf("\nThrough the gateway\n");
  bench::print_table(kProxyRows, *figures, std::nullopt);
  figures->tell("proxy", "fleetadm");
  return 0;
}
