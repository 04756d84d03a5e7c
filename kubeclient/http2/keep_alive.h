// Whether the other end of a connection is still there: what has not been heard for a while is asked, and is gone where it does
// not answer.
#pragma once

#include <chrono>
#include <optional>

namespace fleetadm::kube {

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
    asked_.reset();
  }
  /// What is to be done now. kPing is told once in a silence.
  Due due(Time now) {
    if (times_.silence.count() <= 0 || now - heard_ < times_.silence) return Due::kNothing;
    if (now - heard_ >= times_.silence + times_.patience) return Due::kGone;
    return ask(now) ? Due::kPing : Due::kNothing;
  }
  /// Ahead of time: true where it is to be asked, false where it has been, and not been heard since.
  bool ask(Time now) {
    if (asked_) return false;
    asked_ = now;
    return true;
  }
  Time last_heard() const { return heard_; }
  /// Since when an answer is owed.
  std::optional<Time> asked() const { return asked_; }

 private:
  KeepAliveTimes times_;
  Time heard_;
  std::optional<Time> asked_;
};

}  // namespace fleetadm::kube
