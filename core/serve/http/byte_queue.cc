#include "core/serve/http/byte_queue.h"

#include <algorithm>
#include <utility>

#include "core/serve/http/spare_bytes.h"

namespace fleetadm::serve {
namespace {

constexpr std::size_t kWorthSwapping = std::size_t{8} * 1024;  // fewer are copied: memory that is there already is kept

}  // namespace

void ByteQueue::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto piece = bytes.substr(0, kPiece);
    tail(bytes.size()).append(piece);
    bytes.remove_prefix(piece.size());
  }
}

std::string& ByteQueue::tail(std::size_t coming) {
  if (blocks_.empty() || blocks_.back().size() > kBlock - kPiece) {
    if (!blocks_.empty()) sealed_ += blocks_.back().size();
    blocks_.emplace_back();
  }
  std::string& last = blocks_.back();
  // Whoever sends much at once sends more; a block that grows step by step is copied with each.
  if (coming >= kWorthSwapping && last.capacity() < kBlock) {
    std::string room = take_spare_bytes();
    room.append(last);
    last.swap(room);
  }
  return last;
}

std::size_t ByteQueue::take(std::string& into, std::size_t most) {
  if (blocks_.empty()) return 0;
  std::string& first = blocks_.front();
  const auto count = std::min(most, first.size() - begin_);
  if (into.empty() && begin_ == 0 && count == first.size() && count >= kWorthSwapping) {
    into.swap(first);
  } else {
    into.append(first, begin_, count);
    begin_ += count;
    if (begin_ < first.size()) return count;
  }
  keep_spare_bytes(std::move(first));
  if (blocks_.size() == 1) {
    clear();
    return count;
  }
  sealed_ -= begin_ == 0 ? count : begin_;
  begin_ = 0;
  blocks_.erase(blocks_.begin());
  return count;
}

void ByteQueue::clear() {
  blocks_ = {};
  begin_ = sealed_ = 0;
}

}  // namespace fleetadm::serve
