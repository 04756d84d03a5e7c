// HTTP/1.1 from the client's side, one request at a time: bytes in, bytes out; its connection (core/serve/http/connection.h) has
// the socket.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/proxy/hop/answer_parser.h"
#include "core/proxy/hop/answer_stream.h"
#include "core/proxy/hop/client_left.h"
#include "core/proxy/hop/hop.h"
#include "core/proxy/hop/outgoing_request.h"
#include "core/serve/http/body_pipe.h"
#include "core/serve/http/protocol.h"

namespace fleetadm::proxy {

/// I/O thread only.
class Http1Client final : public serve::Protocol, public AnswerStream::Source, public std::enable_shared_from_this<Http1Client> {
 public:
  using SteadyTime = std::chrono::steady_clock::time_point;

  /// `rested` is called when another request may be sent. `window`: of an answer's body, what is held of it.
  Http1Client(serve::ProtocolHost host, std::size_t window, std::function<void()> rested)
      : host_(std::move(host)), window_(window), rested_(std::move(rested)) {}

  /// While it is not busy, and not over.
  void begin(OutgoingRequest request);
  /// Since when the server has neither answered nor taken anything of the request; nothing where it is not its turn.
  std::optional<SteadyTime> waits_since() const;
  /// The number of the request that has no answer yet; 0: there is none.
  std::uint64_t waits_for() const { return state_ == State::kAwaitsHead ? request_.number : 0; }
  /// The connection is gone, for the reason given; `whole`: it was ended properly. What was asked is answered, with that error
  /// or with the end of the body; or it is given back, because it may be sent once more on a connection that is new.
  std::optional<OutgoingRequest> closed(bool whole, Error why);
  /// No more requests on it; it closes when this one is answered.
  void retire();

  bool feed(std::string_view bytes) override;
  bool wants_input() const override { return answer_ == nullptr || !answer_->full(); }
  void output(std::string& into, std::size_t most) override;
  bool finished() const override { return over_ && output_.empty() && (state_ == State::kIdle || failure_); }
  bool busy() const override { return state_ != State::kIdle; }
  bool receiving() const override { return false; }
  bool over() const { return over_; }

  void read_on() override { host_.flush(); }
  void dropped(const AnswerStream* which) override;
  void send(std::string_view bytes) override;
  bool can_send() const override { return output_.size() < window_; }

 private:
  enum class State { kIdle, kAwaitsHead, kBody, kSwitched };

  bool parse(std::string_view bytes);
  std::size_t parse_some(std::string_view bytes);
  bool head_is_in();
  void hand_over_answer();
  void pass_switched(std::string& into);
  void pass_content(std::string& into, std::size_t most);
  void end_content();
  bool break_off(int code, std::string why);
  void end_exchange(bool reusable);

  serve::ProtocolHost host_;
  const std::size_t window_;
  std::function<void()> rested_;
  State state_ = State::kIdle;
  bool over_ = false;     // no more requests
  bool used_ = false;     // it has answered before
  bool sent_ = false;     // something of this request
  bool heard_ = false;    // something of its answer
  bool starved_ = false;  // of what the request's content is to give
  SteadyTime moved_;      // when something of it was last sent
  OutgoingRequest request_;
  std::uint64_t content_sent_ = 0;
  std::optional<AnswerParser> parser_;
  int interim_ = 0;                 // answers of 1xx so far
  std::string input_;               // that waits for more behind it
  std::string body_;                // before the answer is handed over
  std::string output_;              // after an upgrade
  AnswerStream* answer_ = nullptr;  // while it is read, and not all of it has come
  std::optional<Error> failure_;    // why it closes itself
};

}  // namespace fleetadm::proxy
