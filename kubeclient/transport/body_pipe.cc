#include "kubeclient/transport/body_pipe.h"

namespace fleetadm::kube {

namespace {

constexpr std::size_t kMaxWaitingBody = std::size_t{512} * 1024 * 1024;
constexpr std::size_t kPiece = std::size_t{64} * 1024;

}  // namespace

void BodyPipe::on_response(int status, const std::map<std::string, std::string>& headers) {
  const std::scoped_lock lock(mutex_);
  head_ = Response{status, headers, {}};
  changed_.notify_one();
}

void BodyPipe::on_data(std::string_view chunk) {
  const std::scoped_lock lock(mutex_);
  if (ended_ || chunk.empty()) return;
  if (waiting_bytes_ + chunk.size() > kMaxWaitingBody) {
    error_ = fail(Category::kInvalid, "more than 512 MiB of the server's answer wait to be read").value();
    ended_ = true;
    pieces_.clear();
  } else {
    waiting_bytes_ += chunk.size();
    if (!pieces_.empty() && pieces_.back().size() + chunk.size() <= kPiece) {
      pieces_.back() += chunk;
      return;  // the reader has been told
    }
    pieces_.emplace_back(chunk);
  }
  changed_.notify_one();
}

void BodyPipe::on_end(std::optional<Error> error) {
  const std::scoped_lock lock(mutex_);
  if (ended_) return;
  error_ = std::move(error);
  ended_ = true;
  changed_.notify_one();
}

template <class Ready>
bool BodyPipe::wait(std::unique_lock<std::mutex>& lock, const Ready& ready) {
  const auto done = [&] { return ended_ || ready(); };
  if (deadline_ == std::chrono::steady_clock::time_point::max()) {
    changed_.wait(lock, done);
    return true;
  }
  if (changed_.wait_until(lock, deadline_, done)) return true;
  error_ = fail(Category::kTimeout, "the server did not answer in time").value();
  ended_ = true;
  return false;
}

Result<Response> BodyPipe::head() {
  std::unique_lock lock(mutex_);
  wait(lock, [&] { return head_.has_value(); });
  if (head_) return *head_;
  if (error_) return fail(*error_);
  return fail(Category::kUnavailable, "the server's answer ended before it began");
}

std::string_view BodyPipe::next() {
  std::unique_lock lock(mutex_);
  if (!wait(lock, [&] { return !pieces_.empty(); }) || pieces_.empty()) return {};
  current_ = std::move(pieces_.front());
  pieces_.pop_front();
  waiting_bytes_ -= current_.size();
  return current_;
}

std::optional<Error> BodyPipe::error() const {
  const std::scoped_lock lock(mutex_);
  return error_;
}

}  // namespace fleetadm::kube
