// How benchmarks of several programs are told to people, and their settings in the environment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "tests/bench/work_process.h"

namespace fleetadm::bench {

struct Row {
  const char* figure;
  const char* text;
  const char* unit;
  double limit = 0;  // the goal, where there is one: at most
  double least = 0;  // or at least
};

template <std::size_t N>
void print_table(const Row (&rows)[N], const Figures& ours, const std::optional<Figures>& theirs) {
  for (const Row& row : rows) {
    const auto mine = ours.get(row.figure);
    if (!mine) continue;
    std::printf("  %-38s %10.2f %-4s", row.text, *mine, row.unit);
    const auto other = theirs ? theirs->get(row.figure) : std::nullopt;
    if (other) std::printf("  upstream %10.2f %-4s", *other, row.unit);
    if (other && *other > 0 && *mine > 0) std::printf("  ours is %.2f of it", *mine / *other);
    if (row.limit > 0) std::printf("  %s (goal %g %s)", *mine <= row.limit ? "reached" : "MISSED", row.limit, row.unit);
    if (row.least > 0) std::printf("  %s (goal at least %g %s)", *mine >= row.least ? "reached" : "MISSED", row.least, row.unit);
    std::printf("\n");
  }
  std::fflush(stdout);
}

inline std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

inline int number(const char* name, int usual, int least) {
  const std::string text = variable(name);
  return text.empty() ? usual : std::max(least, std::atoi(text.c_str()));
}

}  // namespace fleetadm::bench
