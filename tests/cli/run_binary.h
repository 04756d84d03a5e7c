// Runs the built binary (FLEETADM_BINARY) with a text on its standard input.
#pragma once

#include <string>
#include <vector>

#include "kubeclient/base/json.h"

namespace fleetadm::cli_cases {

struct BinaryOutcome {
  std::string out;
  int exit_code = -1;  // -1: it could not be started
};

BinaryOutcome run_binary(std::vector<std::string> words, const std::string& input);

/// Each line parsed; null where it is no JSON.
std::vector<Json> lines_of(const std::string& text);

}  // namespace fleetadm::cli_cases
