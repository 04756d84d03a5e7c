// Feeds the targets with random input, each in a process of its own: a crash, a hang (CPU time), a leak or a broken promise is
// a finding, whose input is kept, and the target goes on with another seed.
//
// There is no coverage to go by: an input whose outcome has a shape that was not seen before joins the pool that is changed
// further. Generated expressions, the corpora and, where they are there, the recorded cases are what it begins with.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/targets.h"

namespace fleetadm::fuzz {

struct FuzzOptions {
  std::chrono::seconds time{600};  // for each target
  unsigned parallel = 1;           // targets at a time
  std::uint64_t seed = 1;
  std::string findings;  // folder for inputs that broke something
  std::string keep;      // folder (of corpora) for one short input of many shapes, a file each; empty: none are kept
  std::size_t keep_most = 40;
};

/// The inputs in tests/corpora/<target>, by file name.
std::vector<std::pair<std::string, std::string>> corpus_of(const Target& target);

/// Runs the targets; a line each on stdout. The number of findings.
int fuzz(const std::vector<const Target*>& chosen, const FuzzOptions& options);

}  // namespace fleetadm::fuzz
