#include "core/proxy/hop/answer_stream.h"

#include <algorithm>
#include <utility>

namespace fleetadm::proxy {

AnswerStream::~AnswerStream() {
  if (const auto source = source_.lock()) source->dropped(this);
}

serve::BodyStream::More AnswerStream::read(std::string& into, std::size_t most) {
  const auto size = std::min(most, held_.size() - begin_);
  if (size == 0) return end_;
  const bool was_full = full();
  if (begin_ == 0 && size == held_.size() && into.empty()) {
    into.swap(held_);
  } else {
    into.append(held_, begin_, size);
    begin_ += size;
  }
  if (begin_ == held_.size()) {
    held_.clear();
    begin_ = 0;
  } else if (begin_ >= window_) {
    held_.erase(0, std::exchange(begin_, 0));
  }
  if (was_full && !full()) {
    if (const auto source = source_.lock()) source->read_on();
  }
  return More::kYes;
}

bool AnswerStream::take(std::string_view bytes) {
  const auto source = source_.lock();
  if (!source || end_ != More::kLater) return false;
  source->send(bytes);
  return true;
}

bool AnswerStream::takes() const {
  const auto source = source_.lock();
  return !source || source->can_send();
}

void AnswerStream::wake() const {
  if (!wake_) return;
  const auto wake = wake_;  // it may replace itself
  wake();
}

}  // namespace fleetadm::proxy
