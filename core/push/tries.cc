#include "core/push/tries.h"

#include <algorithm>

namespace fleetadm::push {
namespace {

constexpr int kTriesOfANewProcess = 3;

}  // namespace

void Tries::begin_anew(Instant at) {
  began_anew_ = std::max(began_anew_, at);
  failed_ = 0;
}

bool Tries::gave_up(Instant down_since, Instant now) const {
  if (give_up_after_ <= Duration::zero() || failed_ < kTriesOfANewProcess) return false;
  return in_vain(down_since, now) >= give_up_after_;
}

Duration Tries::until_next(Seen seen, Instant down_since, Instant now) const {
  const Duration lasts = in_vain(down_since, now);
  Duration growing = lasts;
  if (seen == Seen::kUnreachable) {
    if (lasts < kYoungOutage) return kSoon;
    growing -= kYoungOutage;
  }
  const Duration next = std::clamp<Duration>(growing / 2, kFirstRetry, kLongestRetry);
  const Duration left = give_up_after_ - lasts;
  return left > Duration::zero() ? std::min(next, left) : next;
}

Duration Tries::in_vain(Instant down_since, Instant now) const {
  return std::max(Duration::zero(), now - std::max(down_since, began_anew_));
}

}  // namespace fleetadm::push
