// bench_placement: the scheduler as pure functions, end to end on a real API server, and the latency from a changed label to the
// changed decision; beside upstream's placement controller where FLEETADM_PEERS has it.
#include "tests/bench/placement_engine.h"

int main() {
  const auto now = fleetadm::parse_time("2026-03-01T10:00:00Z");
  if (!now) return 1;
  fleetadm::bench::engine_report(*now);
  return 0;
}
