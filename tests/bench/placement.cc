// bench_placement: the scheduler as pure functions; end to end on a real API server; and the latency from a changed label to the
// changed decision. Beside upstream's placement controller where FLEETADM_PEERS has it (with the request limits of its own
// benchmark). FLEETADM_BENCH_FULL=1 adds the large runs; FLEETADM_BENCH_PART=engine|servers runs one part.
#include <cstdlib>
#include <string_view>

#include "tests/bench/placement_engine.h"
#include "tests/bench/placement_servers.h"

int main() {
  using namespace fleetadm;
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  const std::string_view part = variable("FLEETADM_BENCH_PART");
  const auto now = parse_time("2026-03-01T10:00:00Z");
  if (now && part != "servers") bench::engine_report(*now);
  if (part == "engine") return 0;

  if (const auto& programs = testkit::KubeServer::programs(); !programs) {
    std::fprintf(stderr, "bench_placement: %s\n", programs.error().message.c_str());
    return 1;
  }
  struct Run {
    int clusters;
    int placements;
    int samples;
    Duration timeout;
  };
  std::vector<Run> runs{{1000, 1000, 40, std::chrono::minutes(5)}};
  if (variable("FLEETADM_BENCH_FULL") == "1") {
    runs.push_back({10000, 1000, 20, std::chrono::minutes(10)});
    runs.push_back({1000, 10000, 20, std::chrono::minutes(15)});
  }
  for (const Run& run : runs) {
    if (const Status done = bench::server_report(run.clusters, run.placements, run.samples, run.timeout); !done) {
      std::fprintf(stderr, "bench_placement: %s\n", done.error().message.c_str());
      return 1;
    }
  }
  return 0;
}
