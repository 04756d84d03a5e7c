// bench_addon: what add-ons cost a hub.
//
// Three add-ons by template, installed by a placement on 500 clusters whose agents this program plays, on a real API server: time
// until all of them are available; memory, CPU and writes of the hub; what a new process writes on the unchanged fleet; and the
// upgrade of one add-on, a tenth of the clusters at a time. Ours, and with FLEETADM_PEERS upstream's add-on manager with its
// webhook, on servers of their own in one run, as ratios. Agents' requests for certificates are not played.
//
// $FLEETADM_BINARY is measured. FLEETADM_BENCH_CLUSTERS sets another size, FLEETADM_BENCH_WHO=fleetadm|upstream measures one
// alone. Prints a table, and one line of JSON for each program.
#include <filesystem>

#include "tests/bench/addon_run.h"
#include "tests/bench/report.h"

namespace {

using namespace fleetadm;

constexpr bench::Row kRows[] = {
    {"all_available_s", "all available", "s"},
    {"settled_s", "nothing changes any more", "s"},
    {"plain_per_s", "plain clients: add-ons a second", ""},
    {"of_plain_percent", "of the plain clients' rate", "%"},
    {"install_available_cpu_s", "hub, CPU until all available", "s"},
    {"install_cpu_s", "hub, CPU until at rest", "s"},
    {"idle_rss_mib", "hub, resident, no add-ons", "MiB"},
    {"settled_rss_mib", "hub, resident, all available", "MiB", 48},
    {"settled_anonymous_mib", "of that not the program's file", "MiB"},
    {"peak_rss_mib", "hub, peak", "MiB", 48},
    {"webhook_rss_mib", "webhook beside it, resident", "MiB"},
    {"install_writes", "writes", ""},
    {"install_writes_each", "writes an add-on and cluster", ""},
    {"install_writes_refused", "of the writes refused", ""},
    {"second_writes", "writes of a second pass", ""},
    {"second_cpu_s", "second pass, CPU", "s"},
    {"second_peak_rss_mib", "second pass, peak", "MiB"},
    {"upgrade_s", "upgrade of one, 10 % at a time", "s"},
    {"upgrade_most_at_a_time", "clusters on the way at a time", ""},
    {"upgrade_cpu_s", "upgrade, CPU", "s"},
    {"upgrade_writes", "upgrade, writes", ""},
    {"upgrade_writes_each", "upgrade, writes a cluster", ""},
    {"upgrade_peak_rss_mib", "upgrade, peak", "MiB"},
};

int failed(const Error& error) {
  std::fprintf(stderr, "bench_addon: %s\n", error.message.c_str());
  return 1;
}

void print_goals(const bench::Figures& ours, const std::optional<bench::Figures>& theirs) {
  constexpr double kTimesSooner = 5;
  constexpr double kOfPlain = 90;  // percent: both are measured on a machine that is never quite quiet
  if (const auto writes = ours.get("second_writes"))
    std::printf("  a second pass writes nothing: %s\n", *writes == 0 ? "reached" : "MISSED");
  const auto mine = ours.get("all_available_s");
  const auto other = theirs ? theirs->get("all_available_s") : std::nullopt;
  if (!mine || !other) return;
  const double times = *other / *mine;
  // The server takes no more than what clients write that do nothing else.
  const double of_plain = ours.get("of_plain_percent").value_or(0);
  std::printf(
      "  available %.1f times sooner than upstream, at %.0f %% of what plain clients write: %s (goal %.0f times, or %.0f %%)\n",
      times, of_plain, times >= kTimesSooner || of_plain >= kOfPlain ? "reached" : "MISSED", kTimesSooner, kOfPlain);
}

}  // namespace

int main() {
  if (const auto& programs = testkit::KubeServer::programs(); !programs) return failed(programs.error());
  bench::AddonPlan plan;
  plan.clusters = bench::number("FLEETADM_BENCH_CLUSTERS", plan.clusters, 10);
  const std::string who = bench::variable("FLEETADM_BENCH_WHO");
  std::string peer = bench::variable("FLEETADM_PEERS");
  if (!peer.empty()) peer += "/addon";
  if (!std::filesystem::exists(peer)) peer.clear();

  std::optional<bench::Figures> ours;
  std::optional<bench::Figures> theirs;
  int code = 0;
  const auto measure = [&](std::optional<bench::Figures>& figures, const std::string& program) {
    auto measured = bench::AddonRun(plan, program).measure();
    if (measured) {
      figures = std::move(*measured);
    } else {
      code = failed(measured.error());  // what was measured of the other one is not lost
    }
  };
  if (who != "upstream") measure(ours, {});
  if (who != "fleetadm" && !peer.empty()) measure(theirs, peer);
  std::printf("\n%zu add-ons on %d clusters\n", bench::kAddons.size(), plan.clusters);
  if (ours) {
    bench::print_table(kRows, *ours, theirs);
    print_goals(*ours, theirs);
  }
  if (peer.empty()) std::printf("  upstream: FLEETADM_PEERS names no folder with its add-on program\n");
  return code;
}
