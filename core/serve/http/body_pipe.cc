#include "core/serve/http/body_pipe.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace fleetadm::serve {

namespace detail {

struct BodyPipeState {
  BodyPipeState(std::size_t most, std::function<void()> told) : window(most), drained(std::move(told)) {}

  const std::size_t window;
  const std::function<void()> drained;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::string bytes;
  std::size_t begin = 0;  // of what was not read yet
  std::size_t consumed = 0;
  const std::shared_ptr<std::uint64_t> given = std::make_shared<std::uint64_t>(0);
  std::function<void()> wake;
  bool finished = false;
  bool broken = false;
  bool abandoned = false;

  std::size_t held() const { return bytes.size() - begin; }

  BodyStream::More take(std::string& into, std::size_t most) {
    if (broken) return BodyStream::More::kCut;
    const auto size = std::min(most, held());
    into.append(bytes, begin, size);
    begin += size;
    consumed += size;
    *given += size;
    if (begin == bytes.size()) {
      bytes.clear();
      begin = 0;
    } else if (begin >= window) {
      bytes.erase(0, std::exchange(begin, 0));
    }
    if (size > 0) return BodyStream::More::kYes;
    if (held() > 0) return BodyStream::More::kLater;  // nothing was asked for
    return finished ? BodyStream::More::kEnd : BodyStream::More::kLater;
  }
};

}  // namespace detail

namespace {

/// Changes the state, and tells both ends outside of the lock.
template <class Change>
void change_and_wake(detail::BodyPipeState& state, const Change& change) {
  std::function<void()> wake;
  {
    const std::lock_guard lock(state.mutex);
    change();
    wake = state.wake;
  }
  state.changed.notify_all();
  if (wake) wake();
}

}  // namespace

void BodyWriter::push(std::string_view bytes) {
  change_and_wake(*state_, [&] {
    if (state_->finished || state_->broken) return;
    if (state_->abandoned) {
      state_->consumed += bytes.size();
    } else {
      state_->bytes += bytes;
    }
  });
}

BodyWriter::Outcome BodyWriter::write(std::string_view& bytes, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    auto outcome = Outcome::kTaken;
    {
      std::unique_lock lock(state_->mutex);
      state_->changed.wait_until(lock, deadline, [&] { return state_->abandoned || state_->held() < state_->window; });
      if (state_->abandoned || state_->finished || state_->broken) return Outcome::kAbandoned;
      if (state_->held() >= state_->window && !bytes.empty()) outcome = Outcome::kFull;
    }
    if (outcome == Outcome::kFull || bytes.empty()) return outcome;
    change_and_wake(*state_, [&] {
      const auto size = std::min(bytes.size(), state_->window - std::min(state_->window, state_->held()));
      state_->bytes += bytes.substr(0, size);
      bytes.remove_prefix(size);
    });
  }
}

bool BodyWriter::has_room() const {
  const std::lock_guard lock(state_->mutex);
  return state_->abandoned || state_->held() < state_->window;
}

std::size_t BodyWriter::take_consumed() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->consumed, 0);
}

void BodyWriter::finish() {
  change_and_wake(*state_, [&] { state_->finished = !state_->broken; });
}

void BodyWriter::cut() {
  change_and_wake(*state_, [&] {
    if (state_->finished) return;
    state_->broken = true;
    state_->bytes = {};
    state_->begin = 0;
  });
}

BodyReader::~BodyReader() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->abandoned = true;
    state_->consumed += state_->held();
    state_->bytes = {};
    state_->begin = 0;
    state_->wake = nullptr;
  }
  state_->changed.notify_all();
  if (state_->drained) state_->drained();
}

BodyStream::More BodyReader::read(std::string& into, std::size_t most) { return wait(into, most, {}); }

void BodyReader::keep_pace(std::shared_ptr<BodyPace> pace) { pace_ = std::move(pace); }

BodyStream::More BodyReader::wait(std::string& into, std::size_t most, std::chrono::milliseconds patience) {
  if (!pace_) return take(into, most, patience);
  const auto room = pace_->room();
  const auto before = into.size();
  const auto more = take(into, std::min(most, room), patience);
  pace_->was_read(into.size() - before);
  if (room == 0 && more == More::kLater) {
    pace_->on_room([weak = std::weak_ptr(state_)] {
      const auto state = weak.lock();
      if (state) change_and_wake(*state, [] {});
    });
  }
  return more;
}

BodyStream::More BodyReader::take(std::string& into, std::size_t most, std::chrono::milliseconds patience) {
  auto more = More::kLater;
  {
    std::unique_lock lock(state_->mutex);
    more = state_->take(into, most);
    if (more == More::kLater && patience.count() > 0) {
      state_->changed.wait_for(lock, patience, [&] { return state_->held() > 0 || state_->finished || state_->broken; });
      more = state_->take(into, most);
    }
  }
  if (more != More::kYes) return more;
  state_->changed.notify_all();
  if (state_->drained) state_->drained();
  return more;
}

void BodyReader::on_ready(std::function<void()> wake) {
  const std::lock_guard lock(state_->mutex);
  state_->wake = std::move(wake);
}

std::shared_ptr<const std::uint64_t> BodyReader::count() const { return state_->given; }

BodyPipe make_body_pipe(std::size_t window, std::function<void()> drained) {
  auto state = std::make_shared<detail::BodyPipeState>(std::max<std::size_t>(window, 1), std::move(drained));
  return {std::make_shared<BodyWriter>(state), std::make_shared<BodyReader>(state)};
}

}  // namespace fleetadm::serve
