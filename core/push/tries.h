// When a member that cannot be connected is tried again, and when no more, as pure functions of the time.
#pragma once

#include "core/push/health.h"

namespace fleetadm::push {

/// After a failed try: each second while an outage is young; then, and at once for what only people mend, after 7 s first, and
/// later up to two minutes.
inline constexpr Duration kSoon = std::chrono::seconds(1);
inline constexpr Duration kYoungOutage = std::chrono::minutes(5);
inline constexpr Duration kFirstRetry = std::chrono::seconds(7);
inline constexpr Duration kLongestRetry = std::chrono::minutes(2);

class Tries {
 public:
  /// Zero: it is tried for ever.
  explicit Tries(Duration give_up_after) : give_up_after_(give_up_after) {}

  /// There is a reason to: another credential, or somebody asks for it.
  void begin_anew(Instant at);
  void take(bool alive) { failed_ = alive ? 0 : failed_ + 1; }

  /// `down_since`: when the outage began. A process that has just begun tries a few times all the same.
  bool gave_up(Instant down_since, Instant now) const;
  Duration until_next(Seen seen, Instant down_since, Instant now) const;
  Duration give_up_after() const { return give_up_after_; }

 private:
  Duration in_vain(Instant down_since, Instant now) const;

  Duration give_up_after_;
  Instant began_anew_{};
  int failed_ = 0;
};

}  // namespace fleetadm::push
