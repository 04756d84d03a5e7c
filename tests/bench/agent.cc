// What idle agents cost: one that runs for itself, and many hosted members in one process: memory, threads and processor time
// of the process, and requests to the servers beside watches. The servers are a sandbox's; the hub's controllers have ended by
// then, so that agents alone ask. Beside the one that runs for itself: upstream's registration and work agents, on another
// sandbox with our hub, where $FLEETADM_PEERS has them.
//   bench_agent   FLEETADM_BENCH_AGENTS=1,200 (1: one for itself), FLEETADM_BENCH_IDLE=120 seconds of rest that are measured
#include <algorithm>
#include <cstdio>
#include <sstream>
#include <thread>

#include "tests/bench/lab.h"
#include "tests/interop/peers.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::bench {
namespace {

constexpr auto kSettle = 60s;  // after the last member is available

struct Asked {
  double hub = 0;
  double members = 0;   // all together
  double renewals = 0;  // of leases, among those of the hub: each begins an interval of 60 to 75 s

  /// So far. The question is counted with the next.
  static Result<Asked> so_far(const Lab& lab, int members) {
    Asked asked;
    for (int i = 0; i <= members; ++i) {
      FLEETADM_TRY(const Requests counted, lab.requests(i));
      (i == 0 ? asked.hub : asked.members) += counted.all;
      if (i == 0) asked.renewals = counted.renewals;
    }
    return asked;
  }
};

/// Accepts all members, and looks at the processes of their agents (begun at `begun`) once they have nothing to do.
Result<Figures> figures_at_rest(Lab& lab, int members, const std::vector<pid_t>& agents, Timer::time_point begun) {
  FLEETADM_CHECK(lab.accept(members, "available"));
  Figures figures;
  figures.set("joined", seconds_since(begun));
  const auto idle = std::chrono::seconds(number("FLEETADM_BENCH_IDLE", 120, 10));
  const auto sum = [&](const auto& of_one) {
    double all = 0;
    for (const pid_t agent : agents) all += of_one(agent);
    return all;
  };
  std::this_thread::sleep_for(kSettle);
  lab.stop_controllers();
  FLEETADM_TRY(const Asked before, Asked::so_far(lab, members));
  const double busy = sum(cpu_seconds);
  std::this_thread::sleep_for(idle);
  const double minutes = std::chrono::duration<double>(idle).count() / 60;
  figures.set("cpu", (sum(cpu_seconds) - busy) / minutes);
  FLEETADM_TRY(const Asked after, Asked::so_far(lab, members));
  const double to_hub = after.hub - before.hub - 1;
  const double to_clusters = after.members - before.members - members;
  const double renewals = std::max(1.0, after.renewals - before.renewals);
  figures.set("requests", (to_hub + to_clusters) / minutes / members);
  figures.set("to_hub", to_hub / renewals);
  figures.set("to_cluster", to_clusters / renewals);
  figures.set("memory", sum([](pid_t agent) { return mebibytes(agent, "VmRSS:"); }));
  figures.set("anonymous", sum([](pid_t agent) { return mebibytes(agent, "RssAnon:"); }));
  figures.set("peak", sum([](pid_t agent) { return mebibytes(agent, "VmHWM:"); }));
  figures.set("threads", sum(threads_of));
  return figures;
}

Result<Figures> measure(const std::string& binary, int members) {
  Lab lab(binary);
  FLEETADM_CHECK(lab.begin(members));
  std::vector<std::string> args = {"agent", "run", "--context"};
  if (members == 1) {
    FLEETADM_TRY(const std::string bootstrap, lab.bootstrap_file());
    args.insert(args.end(), {"bench-c1", "--cluster-name=c1", "--bootstrap-kubeconfig=" + bootstrap});
  } else {
    FLEETADM_CHECK(lab.keep_secrets(members));
    args.insert(args.end(), {"bench-hub", std::string("--hosted-from=") + kMembers});
  }
  const auto begun = Timer::now();
  FLEETADM_TRY(const pid_t agent, lab.start(args));
  return figures_at_rest(lab, members, {agent}, begun);
}

/// Upstream's two agents of one cluster; nothing without its programs.
Result<std::optional<Figures>> measure_upstream(const std::string& binary) {
  if (!testkit::peers_folder()) return std::nullopt;
  Lab lab(binary);
  FLEETADM_CHECK(lab.begin(1));
  const testkit::TemporaryFolder folder("bench-upstream");
  testkit::Peers peers(folder);
  FLEETADM_TRY(const std::string member, lab.member_kubeconfig(1));
  const std::string spoke = folder.write("spoke.kubeconfig", member);
  const auto begun = Timer::now();
  FLEETADM_CHECK(peers.start_registration_agent(spoke, "c1", lab.bootstrap()));
  FLEETADM_CHECK(lab.accept(1, "accepted"));
  for (int i = 0; i < 300 && !peers.has_hub_kubeconfig("c1"); ++i) std::this_thread::sleep_for(100ms);
  FLEETADM_CHECK(peers.start_work_agent(spoke, "c1"));
  auto figures = figures_at_rest(lab, 1, {*peers.pid("c1-registration-agent"), *peers.pid("c1-work-agent")}, begun);
  if (!figures) return fail(figures.error().wrap(peers.log("c1-registration-agent") + peers.log("c1-work-agent")));
  return std::optional(std::move(*figures));
}

Status all(const std::string& binary) {
  std::istringstream sizes(variable("FLEETADM_BENCH_AGENTS").empty() ? "1,200" : variable("FLEETADM_BENCH_AGENTS"));
  for (std::string size; std::getline(sizes, size, ',');) {
    const int members = std::max(1, std::atoi(size.c_str()));
    const bool hosted = members > 1;
    std::printf("\n%s\n", hosted ? (size + " hosted members in one process").c_str() : "One agent");
    FLEETADM_TRY(const Figures figures, measure(binary, members));
    std::optional<Figures> theirs;
    if (!hosted) {
      FLEETADM_TRY(theirs, measure_upstream(binary));
    }
    const Row rows[] = {{"joined", "until all are available", "s"},
                        {"memory", "resident at rest", "MiB", hosted ? 64.0 : 10.0},
                        {"anonymous", "of it its own", "MiB"},
                        {"peak", "highest", "MiB"},
                        {"threads", "threads", "", hosted ? 20.0 : 0},
                        {"cpu", "processor time a minute", "s"},
                        {"requests", "requests a minute, a member", ""},
                        // The renewal itself; and looks at the health of the cluster, whose rhythm is another one.
                        {"to_hub", "to the hub, a lease interval", "", 1.0},
                        {"to_cluster", "to its cluster, a lease interval", ""}};
    print_table(rows, figures, theirs);
    std::printf(
        "{\"bench\": \"agent\", \"members\": %d, \"mib\": %.1f, \"threads\": %.0f, \"cpu\": %.3f, \"requests\": %.2f, "
        "\"to_hub\": %.2f, \"to_cluster\": %.2f}\n",
        members, figures.get("memory").value_or(0), figures.get("threads").value_or(0), figures.get("cpu").value_or(0),
        figures.get("requests").value_or(0), figures.get("to_hub").value_or(0), figures.get("to_cluster").value_or(0));
  }
  return {};
}

}  // namespace
}  // namespace fleetadm::bench

int main() {
  const auto done = fleetadm::bench::all(fleetadm::testkit::Fleet::binary());
  if (!done) std::fprintf(stderr, "bench_agent: %s\n", done.error().message.c_str());
  return done ? 0 : 1;
}
