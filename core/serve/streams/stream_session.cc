#include "core/serve/streams/stream_session.h"

#include <utility>

namespace fleetadm::serve {

StreamSession::StreamSession(const SessionTimes& times) : times_(times), began_(Steady::now()), moved_(began_), sent_(began_) {}

void StreamSession::on_ready(std::function<void()>) {}

void StreamSession::leave(Steady::time_point now) {
  if (!leave_by_) leave_by_ = now + times_.leave;
}

BodyStream::More StreamSession::read(std::string& into, std::size_t most) {
  const auto now = Steady::now();
  if (!over_) advance(most, now);
  if (leave_by_ ? now >= *leave_by_ : now - moved_ > times_.idle) over_ = true;
  if (!over_ && now - sent_ > times_.keep_alive) {
    keep_alive();
    sent_ = now;
  }
  const auto waiting = std::exchange(output(), {});
  if (waiting.empty()) return over_ ? More::kEnd : More::kLater;
  into += waiting;
  sent_ = now;
  return More::kYes;
}

}  // namespace fleetadm::serve
