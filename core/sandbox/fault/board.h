// The faults of a running sandbox: added, struck and cleared while its clusters serve.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/sandbox/fault/fault.h"
#include "core/serve/http/message.h"

namespace fleetadm::sandbox {

/// A request as filters see it.
struct RequestFacts {
  std::string cluster;
  std::string verb;
  std::string group;
  std::string resource;
  std::string subresource;
  std::string user;
};

/// What happens to one request.
struct InjectedFault {
  std::chrono::milliseconds delay{0};
  int code = 0;         // 429 or 500; 0: it is answered
  int retry_after = 0;  // seconds, of 429
  std::string fault;    // whose code it is
};

/// What is wrong with a whole cluster.
struct ClusterTrouble {
  bool partition = false;
  bool silent = false;
  bool expired_certificate = false;
  Duration clock_offset{};
  bool operator==(const ClusterTrouble&) const = default;
};

struct StandingFault {
  Fault fault;
  std::int64_t strikes = 0;
  Duration left{};  // of its time; zero: no end
};

/// Any thread.
class FaultBoard {
 public:
  using Steady = std::chrono::steady_clock;

  FaultBoard();
  /// Its id. kUsage for what check_fault refuses, or more than a thousand faults.
  Result<std::string> add(Fault fault);
  std::vector<StandingFault> list();
  /// Ends the faults of these ids (none: all) that concern one of these clusters (none: any); the ids that ended. A fault of
  /// several clusters stays for the others.
  std::vector<std::string> clear(const std::vector<std::string>& ids, const std::vector<std::string>& clusters);

  InjectedFault strike(const RequestFacts& facts);
  ClusterTrouble trouble(const std::string& cluster);
  /// The next moment at which a fault ends by itself.
  std::optional<Steady::time_point> next_end();

  /// Moves whenever faults came or went.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  /// The cut that will befall a stream of such a request, of those that it has not escaped yet (by probability).
  struct Cut {
    std::string id;
    Steady::time_point since;  // of the fault: a stream that was open before is cut so long after it
    Duration after{};
    std::int64_t bytes = 0;
  };
  std::optional<Cut> cut(const RequestFacts& facts, const std::vector<std::string>& escaped);
  /// Rolls the dice of a cut that is due. False: the stream escapes, or the fault has ended.
  bool take_cut(const std::string& id);

 private:
  struct Entry {
    Fault fault;
    std::int64_t strikes = 0;
    Steady::time_point since;
    std::optional<Steady::time_point> end;
  };
  bool concerns(const Entry& entry, const RequestFacts& facts) const;
  bool roll(Entry& entry);
  void sweep();

  std::mutex mutex_;
  std::vector<Entry> entries_;
  std::mt19937_64 random_;
  std::int64_t last_id_ = 0;
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<bool> any_{false};
};

/// The body, and its end where a fault cuts it short.
std::shared_ptr<serve::BodyStream> breakable(std::shared_ptr<serve::BodyStream> body, std::shared_ptr<FaultBoard> board,
                                             RequestFacts facts);

}  // namespace fleetadm::sandbox
