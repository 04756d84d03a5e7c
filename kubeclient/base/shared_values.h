// Values that are made of a text, one of each text for as long as anybody holds it: what many clusters of a process have alike.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace fleetadm {

/// Any thread.
template <class Value>
class SharedValues {
 public:
  /// The value of this text, made with `make` where nobody holds it. What `make` cannot make (null) is not kept.
  template <class Make>
  std::shared_ptr<const Value> of(std::string text, const Make& make) {
    {
      const std::lock_guard lock(mutex_);
      const auto at = known_.find(text);
      if (at != known_.end()) {
        if (auto held = at->second.lock()) return held;
      }
    }
    std::shared_ptr<const Value> made = make();
    if (!made) return made;
    const std::lock_guard lock(mutex_);
    auto& place = known_[std::move(text)];
    if (auto held = place.lock()) return held;  // somebody was faster
    place = made;
    forget_unheld();
    return made;
  }

  /// Of texts, also of those whose value nobody holds any more and which are forgotten later.
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return known_.size();
  }

 private:
  /// Where twice as many are known as were held the last time.
  void forget_unheld() {
    if (known_.size() <= 2 * held_) return;
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    held_ = std::max(kFew, known_.size());
  }

  static constexpr std::size_t kFew = 64;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<const Value>> known_;
  std::size_t held_ = kFew;
};

}  // namespace fleetadm
