// Whether the other end of a connection is still there: what has not been heard for a while is asked, and is gone where it does
// not answer.
#pragma once

#include <chrono>

namespace fleetadm::serve {

struct KeepAliveTimes {
  std::chrono::milliseconds silence{0};   // then it is asked; 0: never
  std::chrono::milliseconds patience{0};  // and this much later it is gone
};

class KeepAlive {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class Due { kNothing, kPing, kGone };

  KeepAlive(KeepAliveTimes times, Time now) : times_(times), heard_(now) {}

  /// Something came, whatever it is.
  void heard(Time now) {
    heard_ = now;
    asked_ = false;
  }
  /// What is to be done now. kPing is told once in a silence.
  Due due(Time now) {
    if (times_.silence.count() <= 0 || now - heard_ < times_.silence) return Due::kNothing;
    if (now - heard_ >= times_.silence + times_.patience) return Due::kGone;
    return asked_ ? Due::kNothing : ask();
  }
  /// Ahead of time: kPing where it was not asked since it was last heard.
  Due ask() {
    if (asked_) return Due::kNothing;
    asked_ = true;
    return Due::kPing;
  }
  Time last_heard() const { return heard_; }

 private:
  KeepAliveTimes times_;
  Time heard_;
  bool asked_ = false;
};

}  // namespace fleetadm::serve
