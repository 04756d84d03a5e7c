#include "core/proxy/hop/answer_stream.h"

namespace fleetadm::proxy {

AnswerStream::~AnswerStream() {
  if (const auto source = source_.lock()) source->dropped(this);
}

void AnswerStream::was_read(std::size_t bytes) {
  if (full() || size() + bytes < window_) return;
  if (const auto source = source_.lock()) source->read_on();
}

bool AnswerStream::send(std::string_view bytes) {
  const auto source = source_.lock();
  if (source) source->send(bytes);
  return source != nullptr;
}

bool AnswerStream::takes() const {
  const auto source = source_.lock();
  return !source || source->can_send();
}

}  // namespace fleetadm::proxy
