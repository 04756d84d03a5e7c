// bench_proxy: what the way through the gateway costs beside a direct connection, in the same run.
//
// A hub and a member in two networks that a cable joins (on loopback where this process may not make networks); the gateway, the
// agents' ends of their tunnels and a crowd of other agents in a process each, with authentication, authorization, impersonation
// and the audit log; clients under TLS everywhere. With FLEETADM_PEERS, upstream's cluster-proxy between the same servers, in the
// same run. FLEETADM_BENCH_REQUESTS and FLEETADM_BENCH_TUNNELS set other numbers of requests and of tunnels (0: what needs many
// is left out). Prints a table and one line of JSON for each.
#include <cstdio>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <utility>
#include <vector>

#include "tests/bench/proxy_faults.h"
#include "tests/bench/proxy_lab.h"
#include "tests/bench/proxy_streams.h"
#include "tests/bench/proxy_upstream.h"
#include "tests/bench/report.h"
#include "tests/bench/tls_relays.h"

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
    {"get_cpu_ms", "CPU of all proxies per GET", "ms", 0.3},
    {"list_direct_p50_ms", "list of 1 MiB, direct, p50", "ms"},
    {"list_added_p50_ms", "list of 1 MiB, added, p50", "ms", 3},
    {"list8_direct_mib_per_s", "list, 8 at a time, direct", "MiB/s"},
    {"list8_through_mib_per_s", "list, 8 at a time, through", "MiB/s"},
    {"list8_percent", "of direct", "%", 0, 60},
    {"list_cpu_ms", "CPU of all proxies per MiB", "ms", 2.5},
    {"relays_percent", "list, 8 at a time, through two TLS relays, of direct", "%"},
    {"relays_cpu_ms", "CPU of two TLS relays per MiB", "ms"},
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

const std::string& small_object() {
  static const std::string path = std::string(bench::kMapsPath) + "/small";
  return path;
}

/// 1 MiB.
const std::string& list_of_maps() {
  static const std::string path = std::string(bench::kMapsPath) + "?labelSelector=part%3Dlist";
  return path;
}

/// The whole path to a member, beside the direct one.
struct Course {
  Way direct;
  Way through;
  std::vector<pid_t> proxies;  // on the way
};

/// In turns, so that what else the machine does meets both.
Status compare(const Course& course, const std::string& path, const std::string& name, int rounds, int count, bool fresh,
               Figures& figures) {
  std::vector<double> direct;
  std::vector<double> through;
  bench::WayClient near(course.direct);
  bench::WayClient far(course.through);
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

/// As many as can be in a while, in turns; the CPU time is that of all proxies for one answer, or for one MiB.
struct Rates {
  bench::Together direct;
  bench::Together through;
  double cpu = 0;

  /// Of the direct way's bytes in the same time.
  double percent() const { return 100 * (through.mebibytes() / through.seconds) / (direct.mebibytes() / direct.seconds); }
};

Result<Rates> compare_rates(const Course& course, const std::string& path, int clients) {
  Rates out;
  const auto add = [](bench::Together& to, const bench::Together& more) {
    to.answers += more.answers;
    to.bytes += more.bytes;
    to.seconds += more.seconds;
  };
  const auto cpu = [&] {
    double sum = 0;
    for (const pid_t pid : course.proxies) sum += bench::cpu_seconds(pid);
    return sum;
  };
  for (int round = 0; round < 3; ++round) {
    FLEETADM_TRY(const auto direct, bench::all_together(course.direct, path, clients, 1.5));
    add(out.direct, direct);
    const double before = cpu();
    FLEETADM_TRY(const auto through, bench::all_together(course.through, path, clients, 1.5));
    out.cpu += cpu() - before;
    add(out.through, through);
  }
  return out;
}

Status rates(const Course& course, Figures& figures) {
  FLEETADM_TRY(const Rates gets, compare_rates(course, small_object(), 16));
  const auto per_second = [](const bench::Together& all) { return all.answers / all.seconds; };
  figures.set("get16_direct_per_s", per_second(gets.direct));
  figures.set("get16_through_per_s", per_second(gets.through));
  figures.set("get16_percent", 100 * per_second(gets.through) / per_second(gets.direct));
  figures.set("get_cpu_ms", gets.cpu * 1000 / gets.through.answers);
  FLEETADM_TRY(const Rates lists, compare_rates(course, list_of_maps(), 8));
  figures.set("list8_direct_mib_per_s", lists.direct.mebibytes() / lists.direct.seconds);
  figures.set("list8_through_mib_per_s", lists.through.mebibytes() / lists.through.seconds);
  figures.set("list8_percent", lists.percent());
  figures.set("list_cpu_ms", lists.cpu * 1000 / lists.through.mebibytes());
  return {};
}

/// What is left to a gateway and an agent's end, however little they do.
Status relayed(const Course& course, Figures& figures) {
  FLEETADM_TRY(const Rates lists, compare_rates(course, list_of_maps(), 8));
  figures.set("relays_percent", lists.percent());
  figures.set("relays_cpu_ms", lists.cpu * 1000 / lists.through.mebibytes());
  return {};
}

Status events(const Course& course, const std::string& prefix, int count, Figures& figures) {
  bench::WayClient writer(course.direct);
  const std::string path = std::string(bench::kMapsPath) + "?watch=true&labelSelector=part%3Done";
  const auto write = [&](int i) {
    return writer.create(bench::kMapsPath, dump_json(bench::map_of(prefix + "-" + std::to_string(i), 100)));
  };
  FLEETADM_TRY(const auto took, bench::events(course.direct, course.through, path, prefix, count, write));
  figures.set("event_direct_p50_ms", percentile(took.direct, 0.5));
  figures.set("event_added_p50_ms", percentile(took.added, 0.5));
  return {};
}

Status commands(const Course& course, int count, Figures& figures) {
  constexpr std::size_t kMebibytes = 128;
  std::vector<double> took[2];
  std::vector<double> output[2];
  std::vector<double> input[2];
  constexpr int kRounds = 5;
  for (int round = 0; round < kRounds; ++round) {
    for (const int which : {0, 1}) {
      const Way& way = which == 0 ? course.direct : course.through;
      FLEETADM_TRY(const auto some, bench::run_true(way, std::max(count / kRounds, 5)));
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

/// What requests cost. `who` tells objects of one course from those of another.
Status requests_on(const Course& course, const std::string& who, int requests, Figures& figures) {
  FLEETADM_CHECK(compare(course, small_object(), "get", 5, requests / 5, false, figures));
  FLEETADM_CHECK(compare(course, small_object(), "get_new", 3, std::max(requests / 50, 10), true, figures));
  FLEETADM_CHECK(compare(course, list_of_maps(), "list", 3, std::max(requests / 50, 10), false, figures));
  FLEETADM_CHECK(rates(course, figures));
  return events(course, "event-" + who, std::max(requests / 10, 30), figures);
}

Result<Figures> measure(bench::ProxyLab& lab, int requests) {
  auto& parts = lab.parts();
  Figures figures;
  const Course objects{lab.direct, lab.through, {parts.gateway.pid(), parts.agent.pid()}};
  FLEETADM_CHECK(requests_on(objects, "ours", requests, figures));
  FLEETADM_CHECK(relayed({lab.direct, lab.relayed, {parts.relays.pid()}}, figures));
  FLEETADM_CHECK(commands({lab.direct, lab.through, {}}, std::max(requests / 20, 30), figures));
  // Of both, what stays: what only the load needed goes back to the system, in the programs every few minutes.
  FLEETADM_CHECK(parts.gateway.tell({{"do", "trim"}}));
  figures.set("gateway_anonymous_mib", bench::mebibytes(parts.gateway.pid(), "RssAnon:"));
  FLEETADM_TRY(const Json agent, parts.agent.tell({{"do", "trim"}}));
  figures.set("agent_anonymous_mib", bench::mebibytes(parts.agent.pid(), "RssAnon:") - agent["baseMib"].get<double>());
  FLEETADM_CHECK(bench::stopped_clients(lab, requests, figures));
  if (lab.crowd() == 0) return figures;
  FLEETADM_CHECK(bench::idle_tunnels(lab, figures));
  for (const int count : {100, 1000}) {
    if (count > lab.crowd()) continue;
    FLEETADM_CHECK(bench::ask_all(lab, count, figures));
  }
  FLEETADM_CHECK(bench::kill_gateway(lab, small_object(), figures));
  FLEETADM_CHECK(bench::silent_ends(lab, small_object(), figures));
  return figures;
}

Result<Figures> measure_upstream(const bench::ProxyLab& lab, int requests) {
  bench::UpstreamPath upstream(lab);
  Figures figures;
  FLEETADM_CHECK(upstream.set_up());
  FLEETADM_CHECK(upstream.serve(small_object()));
  FLEETADM_CHECK(requests_on({lab.direct, upstream.way(), upstream.proxies()}, "theirs", requests, figures));
  const auto memory = [pids = upstream.proxies()](std::size_t one, std::size_t other) {
    return bench::mebibytes(pids[one], "RssAnon:") + bench::mebibytes(pids[other], "RssAnon:");
  };
  figures.set("gateway_anonymous_mib", memory(0, 1));
  figures.set("agent_anonymous_mib", memory(2, 3));
  FLEETADM_CHECK(commands({lab.direct, upstream.way(), {}}, std::max(requests / 20, 30), figures));
  return figures;
}

/// Why upstream's path is not beside ours; empty: it is.
std::string no_upstream(const bench::Networks& networks) {
  if (!testkit::peers_folder(bench::UpstreamPath::kPrograms))
    return "FLEETADM_PEERS names no folder with the programs of its cluster-proxy";
  return networks.member ? "" : "its service proxy needs a network of the member's";
}

/// A tunnel is a descriptor at both of its ends.
void take_all_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

struct Measured {
  Figures ours;
  std::optional<Figures> theirs;
};

Result<Measured> run(bench::ProxyParts& parts, int requests, int crowd) {
  bench::ProxyLab lab(parts, crowd);
  FLEETADM_CHECK(lab.set_up());
  Measured out;
  if (no_upstream(parts.networks).empty()) {
    FLEETADM_TRY(out.theirs, measure_upstream(lab, requests));
  }
  FLEETADM_TRY(out.ours, measure(lab, requests));
  return out;
}

}  // namespace

int main() {
  take_all_descriptors();
  bench::ProxyParts parts(bench::Networks::make());
  const auto measured =
      run(parts, bench::number("FLEETADM_BENCH_REQUESTS", 2000, 100), bench::number("FLEETADM_BENCH_TUNNELS", 1000, 0));
  if (!measured) {
    std::fprintf(stderr, "bench_proxy: %s\n", measured.error().message.c_str());
    return 1;
  }
  const auto& networks = parts.networks;
  if (networks.member) {
    std::printf("\nThrough the gateway; hub and member in two network namespaces joined by a veth pair; TCP with cubic.\n");
  } else {
    std::printf("\nThrough the gateway; hub and member on loopback (%s).\n", networks.why.c_str());
  }
  bench::print_table(kProxyRows, measured->ours, measured->theirs);
  if (const auto why = no_upstream(networks); !why.empty()) std::printf("  upstream: %s\n", why.c_str());
  measured->ours.tell("proxy", "fleetadm");
  if (measured->theirs) measured->theirs->tell("proxy", "upstream");
  return 0;
}
