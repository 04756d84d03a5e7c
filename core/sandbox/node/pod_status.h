// From what the containers of a pod are doing to the status that Deployments and Jobs act upon. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/sandbox/node/environment.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"

namespace fleetadm::sandbox {

/// Waiting times between restarts: none before the first, then doubling from `first` to `most`; forgotten after a run of
/// twice `most`. (The kubelet's rule with smaller numbers: 10 s and 5 min there.)
class RestartBackoff {
 public:
  RestartBackoff(Duration first, Duration most) : first_(first), most_(most) {}
  /// The container ended after running for `ran`: how long to wait before it starts again.
  Duration next(Duration ran);

 private:
  Duration first_;
  Duration most_;
  int restarts_ = 0;
};

enum class Phase { kWaiting, kRunning, kEnded };

/// One run that is over.
struct Termination {
  int code = 0;
  int signal = 0;
  Instant started;
  Instant finished;
};

struct ContainerView {
  std::string name;
  std::string image;
  Phase phase = Phase::kWaiting;
  std::string reason = "ContainerCreating";  // of waiting
  std::string message;                       // of waiting
  bool ready = false;
  int restarts = 0;
  Instant started;                  // of the running one
  std::optional<Termination> last;  // kEnded: this run; else the one before
  bool final = false;               // kEnded, and the restart policy starts it no more
};

/// The complete status of a pod on the process node. `previous` is the status that the server has: times of conditions that
/// did not change are kept.
Json pod_status(const Json& pod, const std::vector<ContainerView>& init, const std::vector<ContainerView>& containers,
                const NodeFacts& node, Instant started, Instant now);

/// Whether a container that ended is started again under the pod's restartPolicy.
bool restarts(std::string_view policy, int code);

/// What a pod whose image is not fleetadm's does: annotation or label `sandbox.fleetadm.io/outcome`, else by what it is for.
enum class Outcome { kRun, kUnready, kSucceed, kFail, kNever };
inline constexpr std::string_view kOutcomeKey = "sandbox.fleetadm.io/outcome";
Outcome outcome_of(const Json& pod);

/// How long a container runs whose command is "sleep 30"; nothing for others.
std::optional<Duration> sleep_of(const Json& container);

}  // namespace fleetadm::sandbox
