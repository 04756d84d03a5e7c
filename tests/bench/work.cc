// bench_work: what distribution costs.
//
// spoke:   one cluster, 1,000 works of five objects: time until all are Applied and Available, create to Applied (in the burst,
//          and one by one afterwards), the agent's memory and CPU, and the time until a deleted or changed object is back. Ours,
//          and with FLEETADM_PEERS upstream's work agent, on the same servers in one run, as ratios.
// rollout: one hub, 500 clusters whose agents are played by one process: a Progressive rollout in steps of 10 %, first with
//          new works, then with changed ones; the hub's memory and CPU.
//
// $FLEETADM_BINARY is measured. FLEETADM_BENCH_PART=spoke|rollout runs one part, FLEETADM_BENCH_WORKS and
// FLEETADM_BENCH_CLUSTERS set other sizes. Each part prints a table and one line of JSON for each program.
#include <cstdio>
#include <filesystem>

#include "tests/bench/report.h"
#include "tests/bench/work_rollout.h"
#include "tests/bench/work_spoke.h"

namespace {

using namespace fleetadm;

using bench::number;
using bench::print_table;
using bench::Row;
using bench::variable;

constexpr Row kSpokeRows[] = {
    {"all_applied_s", "all applied", "s"},
    {"all_available_s", "all available", "s"},
    {"burst_applied_p50_ms", "create to applied in the burst, p50", "ms"},
    {"burst_applied_p99_ms", "create to applied in the burst, p99", "ms"},
    {"single_applied_p50_ms", "create to applied afterwards, p50", "ms"},
    {"single_applied_p99_ms", "create to applied afterwards, p99", "ms", 100},
    {"deleted_back_p50_ms", "a deleted object is back, p50", "ms"},
    {"deleted_back_p99_ms", "a deleted object is back, p99", "ms", 1000},
    {"changed_back_p50_ms", "a changed object is back, p50", "ms"},
    {"changed_back_p99_ms", "a changed object is back, p99", "ms", 1000},
    {"repairs_lost", "repairs that were not seen in time", ""},
    {"idle_rss_mib", "agent, resident, no works", "MiB", 16},
    {"settled_rss_mib", "agent, resident, all works", "MiB", 48},
    {"settled_anonymous_mib", "of that not the program's file", "MiB"},
    {"peak_rss_mib", "agent, peak", "MiB"},
    {"burst_cpu_s", "agent, CPU until all available", "s"},
    {"settled_cpu_ms_per_s", "agent, CPU afterwards, a second", "ms"},
    {"removed_s", "all works removed", "s"},
    {"plain_applied_per_s", "plain clients: works applied a second", ""},
    {"plain_removed_per_s", "plain clients: works removed a second", ""},
    {"applied_of_plain_percent", "burst, of the plain clients' rate", "%"},
    {"removed_of_plain_percent", "removal, of the plain clients' rate", "%"},
};

constexpr Row kRolloutRows[] = {
    {"first_rollout_s", "rollout of new works", "s"},
    {"second_rollout_s", "rollout of a change", "s"},
    {"rollouts_cpu_s", "hub, CPU of both", "s"},
    {"idle_rss_mib", "hub, resident, no clusters", "MiB", 20},
    {"with_clusters_rss_mib", "hub, resident, all clusters", "MiB"},
    {"settled_rss_mib", "hub, resident, after both", "MiB"},
    {"peak_rss_mib", "hub, peak", "MiB"},
    {"status_p50_ms", "rollout status -w of it, 200 runs, p50", "ms"},
    {"status_p99_ms", "rollout status -w of it, 200 runs, p99", "ms", 1000},
};

int failed(const Error& error) {
  std::fprintf(stderr, "bench_work: %s\n", error.message.c_str());
  return 1;
}

}  // namespace

int main() {
  const std::string part = variable("FLEETADM_BENCH_PART");
  if (const auto& programs = testkit::KubeServer::programs(); !programs) return failed(programs.error());
  if (part != "rollout") {
    bench::SpokePlan plan;
    plan.works = number("FLEETADM_BENCH_WORKS", plan.works, 2 * plan.repairs);
    std::string peers = variable("FLEETADM_PEERS");
    if (!peers.empty() && !std::filesystem::exists(peers + "/work")) peers.clear();
    const auto figures = bench::run_spoke(plan, peers);
    if (!figures) return failed(figures.error());
    std::printf("\n%d works of %d objects on one cluster\n", plan.works, bench::kObjects);
    print_table(kSpokeRows, figures->ours, figures->theirs);
    if (peers.empty()) std::printf("  upstream: FLEETADM_PEERS names no folder with its work agent\n");
  }
  if (part != "spoke") {
    const int clusters = number("FLEETADM_BENCH_CLUSTERS", 500, 10);
    const auto figures = bench::run_rollout(clusters);
    if (!figures) return failed(figures.error());
    std::printf("\nProgressive rollout in steps of 10 %% to %d clusters\n", clusters);
    print_table(kRolloutRows, *figures, std::nullopt);
  }
  return 0;
}
