// Events of a watch in another version than the one that its objects are stored in. They come out in the order in which they
// went in: one that is still being converted holds back those after it, and nobody else. A webhook that fails is asked again
// for a while, as kube-apiserver's watch cache does, so that its restart ends no watch. No call blocks; one thread.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/sandbox/convert/converter.h"
#include "core/sandbox/model/kind.h"

namespace fleetadm::sandbox {

struct ConvertedEvent {
  EventPtr event;
  // In the watch's version; empty where the stored text is in it already.
  std::optional<Json> now;
  std::optional<Json> before;
};

class ConvertedEvents {
 public:
  /// `kind` has a converter. `before`: the state before an event is asked for, too. `wake`: next() may have more; any thread.
  /// `patience`: for so long a webhook may fail.
  ConvertedEvents(KindPtr kind, bool before, std::function<void()> wake,
                  std::chrono::milliseconds patience = std::chrono::seconds(30));

  static constexpr std::size_t kMaxAtOnce = convert::Converter::kMaxAtOnce / 2;  // events have two objects
  /// Nothing is left: the next events may be added, at most kMaxAtOnce.
  bool empty() const { return events_.empty(); }
  void add(std::vector<EventPtr> events);
  /// The next event; empty where it is not converted yet, or there is none. A failure is the end of the watch. To be called
  /// every second or so without being woken, too.
  ApiResult<std::optional<ConvertedEvent>> next();

 private:
  using Steady = std::chrono::steady_clock;
  bool needed(const StoredPtr& stored) const;
  void start();
  ApiStatus finish();

  KindPtr kind_;
  bool before_;
  std::function<void()> wake_;
  std::chrono::milliseconds patience_;
  std::optional<Steady::time_point> failing_since_;
  std::optional<Steady::time_point> again_at_;       // the conversion failed and is to be tried once more
  std::deque<ConvertedEvent> events_;                // in order
  std::unique_ptr<convert::Conversion> conversion_;  // of all of them that need one; null once they have it
};

}  // namespace fleetadm::sandbox
