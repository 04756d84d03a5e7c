// bench_placement: the scheduler as pure functions; end to end on a real API server; and the latency from a changed label to the
// changed decision. Beside upstream's placement controller where FLEETADM_PEERS has it (with the request limits of its own
// benchmark), on the same server and the same input. Lines that begin with "json " are for scripts.
//
//   bench_placement [--quick|--full] [--engine|--servers] [--runs CLUSTERSxPLACEMENTS,…] [--limit SECONDS]
//
// By themselves the runs are 1000x1000 and 1000x10000; --quick: 200x200, and no large fleets; --full: 10000x1000, too. --limit is
// the longest that one scheduler may take in one run (default 240 s, --full 1200 s): what it got done by then counts.
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "core/hub/hub.h"
#include "tests/bench/placement_engine.h"
#include "tests/bench/placement_servers.h"

namespace {

using namespace fleetadm;

// This program again, with nothing but the placement controller.
int run_scheduler(const std::string& kubeconfig) {
  // One thread waits for SIGTERM, all others never see it.
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, nullptr);
  std::stop_source end;
  std::thread([term, end]() mutable {
    int number = 0;
    sigwait(&term, &number);
    end.request_stop();
  }).detach();
  kube::ConfigOverrides which;
  which.kubeconfig = kubeconfig;
  const auto config = kube::load_rest_config(which);
  if (!config) return 1;
  controller::Manager manager({.threads = hub::HubOptions{}.threads});
  placement::add_placement_controller(manager, kube::Client::connect(*config));
  return manager.run(end.get_token()) ? 0 : 1;
}

std::vector<bench::ServerRun> runs_of(std::string_view text) {
  std::vector<bench::ServerRun> runs;
  while (!text.empty()) {
    const std::string one(text.substr(0, text.find(',')));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    bench::ServerRun run;
    if (std::sscanf(one.c_str(), "%dx%d", &run.clusters, &run.placements) != 2 || run.clusters < 10 || run.placements < 1)
      return {};
    runs.push_back(run);
  }
  return runs;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() == 2 && args[0] == "--scheduler") return run_scheduler(args[1]);
  bool quick = false;
  bool full = false;
  bool engine = true;
  bool servers = true;
  int limit = 0;
  std::vector<bench::ServerRun> runs;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--quick") {
      quick = true;
    } else if (args[i] == "--full") {
      full = true;
    } else if (args[i] == "--engine") {
      servers = false;
    } else if (args[i] == "--servers") {
      engine = false;
    } else if (args[i] == "--runs" && i + 1 < args.size() && !(runs = runs_of(args[i + 1])).empty()) {
      ++i;
    } else if (args[i] == "--limit" && i + 1 < args.size() && (limit = std::atoi(args[i + 1].c_str())) > 0) {
      ++i;
    } else {
      std::fprintf(stderr, "bench_placement: what is \"%s\"?\n", args[i].c_str());
      return 64;
    }
  }
  if (runs.empty() && quick) runs = {{200, 200}};
  if (runs.empty()) runs = {{1000, 1000}, {1000, 10000}};
  if (full) runs.push_back({10000, 1000});
  const auto now = parse_time("2026-03-01T10:00:00Z");
  if (now && engine) bench::engine_report(*now, quick);
  if (!servers) return 0;

  if (const auto& programs = testkit::KubeServer::programs(); !programs) {
    std::fprintf(stderr, "bench_placement: %s\n", programs.error().message.c_str());
    return 1;
  }
  for (bench::ServerRun run : runs) {
    run.limit = std::chrono::seconds(limit > 0 ? limit : (full ? 1200 : 240));
    run.samples = quick ? 10 : 40;
    if (const Status done = bench::server_report(run); !done) {
      std::fprintf(stderr, "bench_placement: %s\n", done.error().message.c_str());
      return 1;
    }
  }
  return 0;
}
