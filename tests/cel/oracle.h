// The reference evaluator (oracle.go) as a batch: questions in, answers out.
#pragma once

#include <vector>

#include "kubeclient/base/json.h"

namespace fleetadm::testkit {

/// Answers in the order of the questions. kNotFound with a hint where it cannot be had (no Go).
Result<std::vector<Json>> ask_oracle(const std::vector<Json>& questions);

}  // namespace fleetadm::testkit
