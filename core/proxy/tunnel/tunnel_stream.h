// One request on a tunnel: what is sent of it, and what has come of its answer.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/proxy/hop/client_left.h"
#include "core/proxy/hop/hop.h"
#include "core/proxy/tunnel/tunnel_body.h"

namespace fleetadm::proxy {

/// I/O thread only.
class TunnelStream {
 public:
  using SteadyTime = std::chrono::steady_clock::time_point;
  enum class Give { kMore, kLater, kEnd, kCut };

  TunnelStream(serve::HttpRequest request, Hop::Done done, SteadyTime now);

  bool upgrade() const { return upgrade_; }
  /// The request's header fields in the form that tunnels have: pseudo-headers first, nothing of one connection, and of an
  /// upgrade, fleetadm-upgrade.
  serve::Headers head() const;
  bool has_body() const { return upgrade_ || request_.content || !request_.body.empty(); }
  const std::shared_ptr<serve::BodyReader>& content() const { return request_.content; }

  // What is sent:
  /// How many bytes of the request's body, or after an upgrade, of what the client sends, are to come next, up to `most`.
  Give next(std::size_t most, std::size_t& count);
  /// Appends those bytes.
  void give(std::string& into, std::size_t count, SteadyTime now);
  void send(std::string_view bytes);
  std::size_t unsent() const { return outgoing_.size() - given_; }
  /// It deferred its body: it is to be asked again.
  bool take_deferred() { return std::exchange(deferred_, false); }

  // What comes:
  /// False: the head is too large.
  bool take_header(std::string_view name, std::string_view value, std::size_t most);
  /// The head is whole. kInterim: another one follows. kBad: it makes no sense.
  enum class Head { kInterim, kFinal, kTrailers, kBad };
  Head end_head();
  /// The answer, with `body` as its stream; once.
  serve::HttpResponse answer(std::shared_ptr<TunnelBody> body);
  bool answered() const { return answered_; }
  std::shared_ptr<TunnelBody> body() const { return body_.lock(); }

  // Of its end:
  /// Calls the function if the client leaves before the answer.
  void on_left(std::function<void()> then) { left_ = when_left(request_.left, std::move(then)); }
  Hop::Done take_done() {
    left_.reset();
    return std::exchange(done_, nullptr);
  }
  /// Nothing of its body was taken: another tunnel may get it. The request is gone from here.
  bool repeatable() const { return !taken_; }
  serve::HttpRequest take_request() { return std::move(request_); }
  /// The agent has neither taken anything of it nor answered for so long.
  bool is_late(SteadyTime now, std::chrono::milliseconds patience) const;

 private:
  Give refill(std::size_t most);

  serve::HttpRequest request_;
  Hop::Done done_;
  WhenLeft left_;
  const bool upgrade_;
  bool switched_ = false;
  bool answered_ = false;
  bool taken_ = false;
  bool deferred_ = false;
  bool end_ = false;  // of the request's content
  std::string outgoing_;
  std::size_t given_ = 0;
  SteadyTime moved_;  // when it began, or something of its body was last sent
  int status_ = 0;
  int heads_ = 0;
  std::size_t head_bytes_ = 0;
  serve::Headers headers_;
  std::weak_ptr<TunnelBody> body_;
};

}  // namespace fleetadm::proxy
