// bench_msa: what managed service accounts cost.
//
// One agent between a hub and a managed cluster, two real API servers: time from the creation of an object to its status (the
// Secret is there by then), one object after the other; 10,000 more at once; and then what the agent asks for and uses while
// nothing happens. Ours, and with FLEETADM_PEERS upstream's agent, on servers of their own in one run.
//
// $FLEETADM_BINARY is measured. FLEETADM_BENCH_ACCOUNTS sets another size, FLEETADM_BENCH_WHO=fleetadm|upstream measures one
// alone. Prints a table, and one line of JSON for each program.
#include <filesystem>

#include "tests/bench/msa_run.h"
#include "tests/bench/report.h"

namespace {

using namespace fleetadm;

constexpr bench::Row kRows[] = {
    {"created_reported_p50_ms", "created until Secret and status, p50", "ms", 100},
    {"created_reported_p99_ms", "created until Secret and status, p99", "ms"},
    {"all_reported_s", "all of the idle ones have a token", "s"},
    {"accounts_per_s", "accounts a second", ""},
    {"many_cpu_s", "agent, CPU until then", "s"},
    {"idle_requests_per_min", "at rest, requests a minute", "", 1},
    {"idle_cpu_ms_per_min", "at rest, CPU a minute", "ms"},
    {"start_rss_mib", "agent, resident, one account", "MiB"},
    {"idle_rss_mib", "agent, resident, all of them", "MiB"},
    {"peak_rss_mib", "agent, peak", "MiB"},
};

int failed(const Error& error) {
  std::fprintf(stderr, "bench_msa: %s\n", error.message.c_str());
  return 1;
}

}  // namespace

int main() {
  if (const auto& programs = testkit::KubeServer::programs(); !programs) return failed(programs.error());
  bench::AccountPlan plan;
  plan.idle = bench::number("FLEETADM_BENCH_ACCOUNTS", plan.idle, 10);
  const std::string who = bench::variable("FLEETADM_BENCH_WHO");
  std::string peer = bench::variable("FLEETADM_PEERS");
  if (!peer.empty()) peer += "/msa";
  if (!std::filesystem::exists(peer)) peer.clear();

  std::optional<bench::Figures> ours;
  std::optional<bench::Figures> theirs;
  int code = 0;
  const auto measure = [&](std::optional<bench::Figures>& figures, const std::string& program, const char* name) {
    auto measured = bench::AccountRun(plan, program).measure();
    if (measured) {
      measured->tell("msa", name);
      figures = std::move(*measured);
    } else {
      code = failed(measured.error());  // what was measured of the other one is not lost
    }
  };
  if (who != "upstream") measure(ours, {}, "fleetadm");
  if (who != "fleetadm" && !peer.empty()) measure(theirs, peer, "upstream");
  std::printf("\n%d accounts of one cluster\n", plan.idle);
  if (ours) bench::print_table(kRows, *ours, theirs);
  if (peer.empty()) std::printf("  upstream: FLEETADM_PEERS names no folder with its msa program\n");
  return code;
}
