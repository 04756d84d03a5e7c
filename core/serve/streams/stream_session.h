// What sessions with a pod have in common, whatever they carry: how long they last, and how their output goes out.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "core/serve/http/upgrade.h"

namespace fleetadm::serve {

struct SessionTimes {
  std::chrono::milliseconds leave = std::chrono::seconds(5);        // for the client to say goodbye
  std::chrono::milliseconds idle = std::chrono::hours(4);           // nothing comes or goes; as kubelets have it
  std::chrono::milliseconds keep_alive = std::chrono::seconds(30);  // something is sent that often
};

inline constexpr std::size_t kMaxUnsent = 256 * 1024;  // answers to a client that sends and does not read

class StreamSession : public UpgradedStream {
 public:
  More read(std::string& into, std::size_t most) final;
  // What runs wakes the connection by the descriptors that it watches.
  void on_ready(std::function<void()> wake) final;

 protected:
  using Steady = std::chrono::steady_clock;

  explicit StreamSession(const SessionTimes& times);

  /// Moves what there is, up to about `most` bytes of output in all.
  virtual void advance(std::size_t most, Steady::time_point now) = 0;
  /// What is to be sent to the client.
  virtual std::string& output() = 0;
  virtual void keep_alive() = 0;

  void moved(Steady::time_point now) { moved_ = now; }
  /// All was said: the client's goodbye is waited for. Counts once.
  void leave(Steady::time_point now);
  bool leaving() const { return leave_by_.has_value(); }
  /// Nothing more is read or done; what is in output() is still sent.
  void finish() { over_ = true; }
  bool over() const { return over_; }
  Steady::time_point began() const { return began_; }

 private:
  const SessionTimes times_;
  bool over_ = false;
  const Steady::time_point began_;
  Steady::time_point moved_;  // something came or went
  Steady::time_point sent_;
  std::optional<Steady::time_point> leave_by_;
};

}  // namespace fleetadm::serve
