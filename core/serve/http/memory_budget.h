// Memory for the bodies of requests: those that arrive, wait for a worker, or are being answered, of all connections of a
// listener together.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace fleetadm::serve {

/// Any thread.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t most) : most_(most) {}
  bool take(std::size_t bytes) {
    if (used_.fetch_add(bytes) + bytes <= most_) return true;
    used_ -= bytes;
    return false;
  }
  void give_back(std::size_t bytes) { used_ -= bytes; }

 private:
  const std::size_t most_;
  std::atomic<std::size_t> used_{0};
};

/// What one body takes of it, for as long as this lives. One thread at a time.
class MemoryReservation {
 public:
  /// Null: there is always room.
  explicit MemoryReservation(std::shared_ptr<MemoryBudget> room) : room_(std::move(room)) {}
  ~MemoryReservation() {
    if (room_) room_->give_back(size_);
  }
  MemoryReservation(const MemoryReservation&) = delete;
  MemoryReservation& operator=(const MemoryReservation&) = delete;

  /// False where there is no room for a body of that size; then it keeps what it had.
  bool grow_to(std::size_t size) {
    if (!room_ || size <= size_) return true;
    if (!room_->take(size - size_)) return false;
    size_ = size;
    return true;
  }

 private:
  std::shared_ptr<MemoryBudget> room_;
  std::size_t size_ = 0;
};

}  // namespace fleetadm::serve
