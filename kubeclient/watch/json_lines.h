// Splits a byte stream into lines, as watches send their events. Bounded: a line that never ends is an error, not memory.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace fleetadm::kube {

class JsonLines {
 public:
  /// One watch event is an object of at most 3 MiB plus its frame; projections of the server may be larger.
  static constexpr std::size_t kMaxLine = std::size_t{64} * 1024 * 1024;

  /// Calls `line` for each complete, non-empty line. False when a line is too long.
  bool feed(std::string_view chunk, const std::function<void(std::string_view)>& line) {
    while (!chunk.empty()) {
      const auto end = chunk.find('\n');
      if (end == std::string_view::npos) {
        if (rest_.size() + chunk.size() > kMaxLine) return false;
        rest_ += chunk;
        return true;
      }
      if (rest_.empty()) {
        if (end != 0) line(chunk.substr(0, end));
      } else {
        if (rest_.size() + end > kMaxLine) return false;
        rest_ += chunk.substr(0, end);
        // Moved out first: the callback may throw away this object's owner's state.
        std::string whole;
        whole.swap(rest_);
        line(whole);
      }
      chunk.remove_prefix(end + 1);
    }
    return true;
  }

 private:
  std::string rest_;
};

}  // namespace fleetadm::kube
