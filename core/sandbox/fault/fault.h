// What may be wrong with a sandbox's cluster on purpose, and how it is written down.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"

namespace fleetadm::sandbox {

enum class FaultKind {
  kLatency,             // answers come later
  kTooManyRequests,     // 429 with Retry-After
  kServerError,         // 500
  kCut,                 // streamed answers (watches, logs) end in the middle
  kPartition,           // the cluster cannot be reached
  kExpiredCertificate,  // its serving certificate has expired
  kClock,               // its clock is wrong
};

struct Fault {
  std::string id;  // "f1"; given by the board
  FaultKind kind = FaultKind::kLatency;
  std::vector<std::string> clusters;   // none: every one
  std::vector<std::string> verbs;      // as in RBAC rules; none: any
  std::vector<std::string> resources;  // "pods", "deployments.apps", "pods/log"; none: any
  std::vector<std::string> users;      // user names; none: any
  double probability = 1;
  std::int64_t count = 0;  // strikes so often, then ends; 0: no limit
  Duration lasts{};        // ends by itself; zero: with the sandbox
  Duration amount{};       // latency: the delay; 429: Retry-After; cut: the stream's age; clock: the offset
  std::int64_t bytes = 0;  // cut: the stream's size; 0: its age counts
  bool silent = false;     // partition: connections are taken and nothing is answered

  /// It is about single requests (else about the cluster as a whole: such faults have no filters, probability or count).
  bool strikes_requests() const { return kind <= FaultKind::kCut; }
};

/// "latency", "429", "500", "cut", "partition", "expired-certificate", "clock".
const std::vector<std::string>& fault_kinds();
std::string_view fault_kind_name(FaultKind kind);

/// kUsage where a value is out of its range or does not belong to the kind.
Status check_fault(const Fault& fault);

/// {"kind": "latency", "clusters": ["c1"], "amount": "300ms", …}; members at their defaults are left out.
Json fault_json(const Fault& fault);
/// Of text from another process: checked as by check_fault.
Result<Fault> parse_fault(const Json& json);

}  // namespace fleetadm::sandbox
