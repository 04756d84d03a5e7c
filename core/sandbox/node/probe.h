// Probes of a container: httpGet and tcpSocket on loopback. Other kinds count as passed: there is nothing to run them in.
#pragma once

#include <map>
#include <optional>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"

namespace fleetadm::sandbox {

/// One attempt, bounded by the probe's timeoutSeconds (at most 5 s here). `ports` maps the pod's ports to the real ones.
bool probe_once(const Json& probe, const Json& container, const std::map<int, int>& ports);

/// The counting rules of one probe of one run of a container.
class Probe {
 public:
  Probe() = default;
  explicit Probe(const Json* spec) : spec_(spec != nullptr ? std::optional<Json>(*spec) : std::nullopt) {}
  /// Where it is due, `attempt` is made and counted.
  template <class Attempt>
  void run(Instant started, Instant now, const Attempt& attempt) {
    if (!spec_) return;
    if (next_ == Instant{}) next_ = started + std::chrono::seconds(num(*spec_, {"initialDelaySeconds"}, 0));
    if (now >= next_) count(attempt(*spec_), now);
  }
  /// Passed often enough in a row (no probe: at once), and not failed often enough since.
  bool passed() const { return !spec_ || passed_; }
  /// Failed failureThreshold times in a row.
  bool failed() const { return failed_; }
  std::optional<Instant> next() const { return spec_ ? std::optional<Instant>(next_) : std::nullopt; }

 private:
  void count(bool ok, Instant now);

  std::optional<Json> spec_;
  Instant next_{};
  std::int64_t in_a_row_ = 0;  // successes, or failures as a negative number
  bool passed_ = false;
  bool failed_ = false;
};

}  // namespace fleetadm::sandbox
