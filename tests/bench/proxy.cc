// bench_proxy: what the way through the gateway costs beside a direct connection, in the same run.
//
// An API server, which is hub and member in one, and another member whose pods run commands; the gateway, the agents' ends of
// their tunnels and a crowd of other agents in a process each, with authentication, authorization, impersonation and the audit
// log; clients under TLS everywhere. FLEETADM_BENCH_REQUESTS and FLEETADM_BENCH_TUNNELS set other numbers of requests and of
// tunnels (0: what needs many is left out). Prints a table and one line of JSON.
#include <cstdio>
#include <sys/resource.h>

#include "tests/bench/proxy_faults.h"
#include "tests/bench/proxy_lab.h"
#include "tests/bench/proxy_streams.h"
#include "tests/bench/report.h"

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
    {"get16_percent", "of direct", "%", 0, 50},
    {"get_cpu_ms", "CPU of both proxies per GET", "ms", 0.3},
    {"list_direct_p50_ms", "list of 1 MiB, direct, p50", "ms"},
    {"list_added_p50_ms", "list of 1 MiB, added, p50", "ms", 3},
    {"list8_direct_mib_per_s", "list, 8 at a time, direct", "MiB/s"},
    {"list8_through_mib_per_s", "list, 8 at a time, through", "MiB/s"},
    {"list8_percent", "of direct", "%", 0, 60},
    {"list_cpu_ms", "CPU of both proxies per MiB", "ms", 2.5},
    {"exec_direct_p50_ms", "exec of true, direct, p50", "ms"},
    {"exec_added_p50_ms", "exec of true, added, p50", "ms", 2},
    {"exec_output_direct_mib_per_s", "exec output, direct", "MiB/s"},
    {"exec_output_percent", "exec output, of direct", "%", 0, 60},
    {"exec_input_direct_mib_per_s", "exec input, direct", "MiB/s"},
    {"exec_input_percent", "exec input, of direct", "%", 0, 60},
    {"event_direct_p50_ms", "watch event, direct, p50", "ms"},
    {"event_added_p50_ms", "watch event, added, p50", "ms", 0.3},
    {"gateway_anonymous_mib", "gateway, memory beyond the program's file", "MiB", 20},
    {"agent_anonymous_mib", "agent's end, beyond what an agent has", "MiB", 2},
    {"beside_p99_ms", "GET beside other clients, p99", "ms"},
    {"beside_stopped_percent", "more beside 8 readers that have stopped", "%", 20},
    {"idle_tunnel_kib", "idle tunnel at the gateway, each", "KiB", 24},
    {"left_tunnel_kib", "kept of each that has left", "KiB"},
    {"fan_out_100_answers_ms", "fan-out, 95 of 100 answer, the last", "ms"},
    {"fan_out_100_over_ms", "fan-out over 100, after its deadline", "ms", 1000},
    {"fan_out_1000_answers_ms", "fan-out, 950 of 1,000 answer, the last", "ms"},
    {"fan_out_1000_over_ms", "fan-out over 1,000, after its deadline", "ms", 1000},
    {"killed_answers_s", "gateway killed, requests succeed again", "s", 1},
    {"killed_tunnels_s", "gateway killed, all tunnels are back", "s", 10},
    {"silent_request_s", "agent is silent, the first request fails", "s", 5},
    {"silent_agent_s", "gateway is silent, the agent knows", "s", 15},
};

/// Of Open Cluster Management's cluster-proxy, whole path, measured in this way on another machine of two cores that was not idle
/// either. Only differences and ratios can be compared.
Figures upstream_figures() {
  Figures out;
  for (const auto& [figure, value] : {std::pair{"get_added_p50_ms", 5.6},
                                      {"get_added_p99_ms", 19.0},
                                      {"get16_percent", 5.0},
                                      {"get_cpu_ms", 6.0},
                                      {"list_added_p50_ms", 7.7},
                                      {"list8_percent", 34.0},
                                      {"list_cpu_ms", 7.7},
                                      {"exec_added_p50_ms", 9.0},
                                      {"exec_output_percent", 33.0},
                                      {"exec_input_percent", 39.0},
                                      {"event_added_p50_ms", 0.5},
                                      {"gateway_anonymous_mib", 102.0},
                                      {"agent_anonymous_mib", 96.0},
                                      {"idle_tunnel_kib", 74.0},
                                      {"left_tunnel_kib", 74.0},
                                      {"killed_answers_s", 0.4},
                                      {"silent_request_s", 30.0},
                                      {"silent_agent_s", 30.0}})
    out.set(figure, value);
  return out;
}

/// In turns, so that what else the machine does meets both.
Status compare(const bench::ProxyLab& lab, const std::string& path, const std::string& name, int rounds, int count, bool fresh,
               Figures& figures) {
  std::vector<double> direct;
  std::vector<double> through;
  bench::WayClient near(lab.direct);
  bench::WayClient far(lab.through);
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

/// As many as can be in a while, in turns; the CPU time is that of both proxies for one answer, or for one MiB.
struct Rates {
  bench::Together direct;
  bench::Together through;
  double cpu = 0;
};

Result<Rates> compare_rates(bench::ProxyLab& lab, const std::string& path, int clients) {
  Rates out;
  const auto add = [](bench::Together& to, const bench::Together& more) {
    to.answers += more.answers;
    to.bytes += more.bytes;
    to.seconds += more.seconds;
  };
  const auto cpu = [&] { return bench::cpu_seconds(lab.parts().gateway.pid()) + bench::cpu_seconds(lab.parts().agent.pid()); };
  for (int round = 0; round < 3; ++round) {
    FLEETADM_TRY(const auto direct, bench::all_together(lab.direct, path, clients, 1.5));
    add(out.direct, direct);
    const double before = cpu();
    FLEETADM_TRY(const auto through, bench::all_together(lab.through, path, clients, 1.5));
    out.cpu += cpu() - before;
    add(out.through, through);
  }
  return out;
}

Status rates(bench::ProxyLab& lab, const std::string& one, const std::string& list, Figures& figures) {
  FLEETADM_TRY(const Rates gets, compare_rates(lab, one, 16));
  const auto per_second = [](const bench::Together& all) { return all.answers / all.seconds; };
  figures.set("get16_direct_per_s", per_second(gets.direct));
  figures.set("get16_through_per_s", per_second(gets.through));
  figures.set("get16_percent", 100 * per_second(gets.through) / per_second(gets.direct));
  figures.set("get_cpu_ms", gets.cpu * 1000 / gets.through.answers);
  constexpr double kMebibyte = 1024.0 * 1024.0;
  FLEETADM_TRY(const Rates lists, compare_rates(lab, list, 8));
  const auto speed = [](const bench::Together& all) { return all.bytes / kMebibyte / all.seconds; };
  figures.set("list8_direct_mib_per_s", speed(lists.direct));
  figures.set("list8_through_mib_per_s", speed(lists.through));
  figures.set("list8_percent", 100 * speed(lists.through) / speed(lists.direct));
  figures.set("list_cpu_ms", lists.cpu * 1000 / (lists.through.bytes / kMebibyte));
  return {};
}

Status events(bench::ProxyLab& lab, int count, Figures& figures) {
  std::vector<double> took[2];
  bench::WayClient writer(lab.direct);
  const std::string path = std::string(bench::kMapsPath) + "?watch=true&labelSelector=part%3Done";
  for (int round = 0; round < 6; ++round) {
    const std::string prefix = "event-" + std::to_string(round);
    const auto write = [&](int i) {
      return writer.create(bench::kMapsPath, dump_json(bench::ProxyLab::map_of(prefix + "-" + std::to_string(i), 100)));
    };
    FLEETADM_TRY(const auto some, bench::events(round % 2 == 0 ? lab.direct : lab.through, path, prefix, count / 3, write));
    took[round % 2].insert(took[round % 2].end(), some.begin(), some.end());
  }
  figures.set("event_direct_p50_ms", percentile(took[0], 0.5));
  figures.set("event_added_p50_ms", percentile(took[1], 0.5) - percentile(took[0], 0.5));
  return {};
}

Status commands(bench::ProxyLab& lab, int count, Figures& figures) {
  constexpr std::size_t kMebibytes = 48;
  std::vector<double> took[2];
  std::vector<double> output[2];
  std::vector<double> input[2];
  for (int round = 0; round < 3; ++round) {
    for (const int which : {0, 1}) {
      const Way& way = which == 0 ? lab.streams_direct : lab.streams_through;
      FLEETADM_TRY(const auto some, bench::run_true(way, std::max(count / 3, 5)));
      took[which].insert(took[which].end(), some.begin(), some.end());
      FLEETADM_TRY(const double out, bench::exec_output(way, kMebibytes));
      output[which].push_back(out);
      FLEETADM_TRY(const double in, bench::exec_input(way, kMebibytes));
      input[which].push_back(in);
    }
  }
  figures.set("exec_direct_p50_ms", percentile(took[0], 0.5));
  figures.set("exec_added_p50_ms", percentile(took[1], 0.5) - percentile(took[0], 0.5));
  figures.set("exec_output_direct_mib_per_s", percentile(output[0], 0.5));
  figures.set("exec_output_percent", 100 * percentile(output[1], 0.5) / percentile(output[0], 0.5));
  figures.set("exec_input_direct_mib_per_s", percentile(input[0], 0.5));
  figures.set("exec_input_percent", 100 * percentile(input[1], 0.5) / percentile(input[0], 0.5));
  return {};
}

Result<Figures> measure(bench::ProxyParts& parts, int requests, int crowd) {
  bench::ProxyLab lab(parts, crowd);
  FLEETADM_CHECK(lab.set_up());
  Figures figures;
  const std::string one = std::string(bench::kMapsPath) + "/small";
  const std::string list = std::string(bench::kMapsPath) + "?labelSelector=part%3Dlist";
  FLEETADM_CHECK(compare(lab, one, "get", 5, requests / 5, false, figures));
  FLEETADM_CHECK(compare(lab, one, "get_new", 3, std::max(requests / 50, 10), true, figures));
  FLEETADM_CHECK(compare(lab, list, "list", 3, std::max(requests / 50, 10), false, figures));
  FLEETADM_CHECK(rates(lab, one, list, figures));
  FLEETADM_CHECK(events(lab, std::max(requests / 10, 30), figures));
  FLEETADM_CHECK(commands(lab, std::max(requests / 20, 30), figures));
  // Of both, what stays: what only the load needed goes back to the system, in the programs every few minutes.
  FLEETADM_CHECK(parts.gateway.tell({{"do", "trim"}}));
  figures.set("gateway_anonymous_mib", bench::mebibytes(parts.gateway.pid(), "RssAnon:"));
  FLEETADM_TRY(const Json agent, parts.agent.tell({{"do", "trim"}}));
  figures.set("agent_anonymous_mib", bench::mebibytes(parts.agent.pid(), "RssAnon:") - agent["baseMib"].get<double>());
  FLEETADM_CHECK(bench::stopped_clients(lab, requests, figures));
  if (crowd == 0) return figures;
  FLEETADM_CHECK(bench::idle_tunnels(lab, figures));
  for (const int count : {100, 1000}) {
    if (count > crowd) continue;
    FLEETADM_CHECK(bench::ask_all(lab, count, figures));
  }
  FLEETADM_CHECK(bench::kill_gateway(lab, one, figures));
  FLEETADM_CHECK(bench::silent_ends(lab, one, figures));
  return figures;
}

/// A tunnel is a descriptor at both of its ends.
void take_all_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main() {
  take_all_descriptors();
  bench::ProxyParts parts;
  const auto figures =
      measure(parts, bench::number("FLEETADM_BENCH_REQUESTS", 2000, 100), bench::number("FLEETADM_BENCH_TUNNELS", 1000, 0));
  if (!figures) {
    std::fprintf(stderr, "bench_proxy: %s\n", figures.error().message.c_str());
    return 1;
  }
  std::printf("\nThrough the gateway; hub and member on loopback. Upstream's figures are of another machine.\n");
  bench::print_table(kProxyRows, *figures, upstream_figures());
  figures->tell("proxy", "fleetadm");
  upstream_figures().tell("proxy", "upstream, on another machine");
  return 0;
}
