// The body of a streamed answer, read piece by piece on another thread while it arrives.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "kubeclient/transport/transport.h"

namespace fleetadm::kube {

/// The I/O thread fills it, one reader empties it. What the reader has not taken yet is kept, 512 MiB at most.
class BodyPipe final : public StreamSink {
 public:
  /// Waits end at `deadline` (with kTimeout), even where the transport never says anything.
  explicit BodyPipe(std::chrono::steady_clock::time_point deadline) : deadline_(deadline) {}

  void on_response(int status, const std::map<std::string, std::string>& headers) override;
  void on_data(std::string_view chunk) override;
  void on_end(std::optional<Error> error) override;

  /// Status and headers, as soon as they are known; the body is empty.
  Result<Response> head();
  /// The next piece, valid until the next call; empty at the end of the body or after an error (then error() has it).
  std::string_view next();
  std::optional<Error> error() const;

 private:
  template <class Ready>
  bool wait(std::unique_lock<std::mutex>& lock, const Ready& ready);

  const std::chrono::steady_clock::time_point deadline_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Response> head_;
  std::deque<std::string> pieces_;
  std::size_t waiting_bytes_ = 0;
  bool ended_ = false;
  std::optional<Error> error_;
  std::string current_;  // the reader's
};

}  // namespace fleetadm::kube
