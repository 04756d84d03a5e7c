#include "core/proxy/hop/http1_client.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/proxy/hop/headers.h"

namespace fleetadm::proxy {
namespace {

constexpr int kMaxInterim = 16;

void append_chunk(std::string& into, std::string_view piece) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), piece.size(), 16).ptr;
  into.append(digits.data(), end).append("\r\n").append(piece).append("\r\n");
}

std::string upgrade_of(const serve::Headers& headers) {
  const auto at = std::ranges::find(headers, "upgrade", &std::pair<std::string, std::string>::first);
  return at == headers.end() ? std::string() : at->second;
}

}  // namespace

void Http1Client::begin(OutgoingRequest request) {
  request_ = std::move(request);
  state_ = State::kAwaitsHead;
  sent_ = heard_ = starved_ = false;
  content_sent_ = 0;
  interim_ = 0;
  moved_ = std::chrono::steady_clock::now();
  parser_.emplace(request_.head_only);
  if (request_.content) request_.content->on_ready(host_.flush);
  host_.flush();
}

std::optional<Http1Client::SteadyTime> Http1Client::waits_since() const {
  if (state_ != State::kAwaitsHead || (request_.content && starved_)) return std::nullopt;
  return moved_;
}

void Http1Client::retire() {
  over_ = true;
  host_.flush();
}

std::optional<OutgoingRequest> Http1Client::closed(bool whole, Error why) {
  over_ = true;
  if (failure_) {
    why = std::move(*failure_);
    whole = false;
  }
  const State was = std::exchange(state_, State::kIdle);
  if (was == State::kIdle) return std::nullopt;
  if (was == State::kAwaitsHead) {
    if (request_.content) request_.content->on_ready(nullptr);
    OutgoingRequest request = std::exchange(request_, {});
    if (!failure_ && !heard_ && (!sent_ || (used_ && request.repeatable))) return request;
    request.content.reset();
    request.done(fail(std::move(why)));
    return std::nullopt;
  }
  request_ = {};
  AnswerStream* const answer = std::exchange(answer_, nullptr);
  if (answer == nullptr) return std::nullopt;
  if (was == State::kBody) whole = whole && parser_->until_close();
  answer->end(whole);
  answer->wake();
  return std::nullopt;
}

void Http1Client::dropped(const AnswerStream* which) {
  if (which != answer_) return;
  answer_ = nullptr;
  end_exchange(false);
  host_.flush();
}

void Http1Client::send(std::string_view bytes) {
  if (state_ != State::kSwitched) return;
  output_.append(bytes);
  host_.flush();
}

bool Http1Client::feed(std::string_view bytes) {
  if (state_ == State::kIdle) return false;  // nobody has asked for anything
  if (state_ == State::kSwitched) {
    answer_->push(bytes);
    answer_->wake();
    return true;
  }
  heard_ = true;
  const auto keep = shared_from_this();  // whoever gets the answer may close the connection
  return parse(bytes);
}

bool Http1Client::parse(std::string_view bytes) {
  // Copied is only what the parser leaves.
  std::string kept;
  if (!input_.empty()) {
    kept = std::exchange(input_, {});
    kept.append(bytes);
    bytes = kept;
  }
  const auto used = parse_some(bytes);
  bytes.remove_prefix(used);
  if (parser_->stage() == AnswerParser::Stage::kBroken)
    return break_off(502, "the answer is not proper HTTP: " + parser_->flaw());
  if (failure_) return false;
  if (state_ == State::kSwitched) {
    body_.append(bytes);
  } else {
    input_ = bytes;
  }
  if (parser_->stage() == AnswerParser::Stage::kHead) return true;
  if (answer_ == nullptr) {
    hand_over_answer();
    return true;
  }
  if (parser_->stage() != AnswerParser::Stage::kWhole) {
    answer_->wake();
    return true;
  }
  AnswerStream* const answer = std::exchange(answer_, nullptr);
  answer->end(true);
  end_exchange(parser_->keeps_connection());
  answer->wake();
  return true;
}

/// Up to the end of the answer. How much of it was used.
std::size_t Http1Client::parse_some(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size()) {
    const auto before = parser_->stage();
    std::string& body = answer_ == nullptr ? body_ : answer_->tail(bytes.size() - used);
    const auto some = parser_->put(bytes.substr(used), body);
    used += some;
    if (before == AnswerParser::Stage::kHead && parser_->stage() != before && !head_is_in()) break;
    const auto stage = parser_->stage();
    if (stage == AnswerParser::Stage::kWhole || stage == AnswerParser::Stage::kBroken || some == 0) break;
  }
  return used;
}

/// False where nothing more is to be parsed.
bool Http1Client::head_is_in() {
  if (parser_->stage() == AnswerParser::Stage::kBroken) return false;
  if (parser_->status() == 101) {
    if (request_.upgrade && !upgrade_of(parser_->headers()).empty()) {
      state_ = State::kSwitched;
    } else {
      static_cast<void>(break_off(502, "the answer switches to another protocol, which was not asked for"));
    }
    return false;
  }
  if (parser_->status() >= 200) {
    state_ = State::kBody;
    return true;
  }
  parser_.emplace(request_.head_only);  // the answer that counts comes behind it
  if (++interim_ <= kMaxInterim) return true;
  return break_off(502, "the server gives interim answers without end");
}

/// The head, and what has come behind it.
void Http1Client::hand_over_answer() {
  serve::HttpResponse response;
  response.status = parser_->status();
  response.headers = std::move(parser_->headers());
  const std::string protocol = upgrade_of(response.headers);
  drop_hop_headers(response.headers);
  const auto done = std::exchange(request_.done, nullptr);
  request_.left.reset();
  if (parser_->stage() == AnswerParser::Stage::kWhole && state_ != State::kSwitched) {
    response.body = std::exchange(body_, {});
    end_exchange(parser_->keeps_connection());
    return done(std::move(response));
  }
  auto stream = std::make_shared<AnswerStream>(weak_from_this(), window_);
  stream->push(std::exchange(body_, {}));
  answer_ = stream.get();
  if (state_ == State::kSwitched) {
    response.headers.emplace_back("connection", "Upgrade");
    response.headers.emplace_back("upgrade", protocol);
    response.upgrade = stream;
    end_content();
  }
  response.stream = std::move(stream);
  done(std::move(response));
}

/// The connection closes; closed() tells why. Always false.
bool Http1Client::break_off(int code, std::string why) {
  failure_ = Error{.code = code, .category = Category::kUnavailable, .message = std::move(why)};
  over_ = true;
  return false;
}

void Http1Client::end_content() {
  if (!request_.content) return;
  request_.content->on_ready(nullptr);
  request_.content.reset();
}

void Http1Client::end_exchange(bool reusable) {
  // What was not sent of the request is not wanted; nor can another one follow it.
  const bool whole = !request_.content && output_.empty() && input_.empty();
  end_content();
  request_ = {};
  body_ = {};
  over_ = over_ || !reusable || !whole;
  state_ = State::kIdle;
  used_ = true;
  if (over_) return host_.flush();
  rested_();
}

void Http1Client::output(std::string& into, std::size_t most) {
  if (!output_.empty()) pass_switched(into);
  if (state_ == State::kIdle || failure_) return;
  if (!sent_) {
    sent_ = true;
    if (request_.repeatable) {
      into.append(request_.head);
    } else {
      into.append(std::exchange(request_.head, {})).append(std::exchange(request_.body, {}));
    }
  }
  if (request_.content) pass_content(into, most);
  if (!into.empty()) moved_ = std::chrono::steady_clock::now();
}

void Http1Client::pass_switched(std::string& into) {
  const bool was_full = !can_send();
  if (into.empty()) {
    into.swap(output_);
  } else {
    into.append(std::exchange(output_, {}));
  }
  if (was_full && answer_ != nullptr) answer_->wake();  // whoever reads it asks whether it can send
}

void Http1Client::pass_content(std::string& into, std::size_t most) {
  using More = serve::BodyStream::More;
  const auto& length = request_.length;
  while (into.size() < most) {
    std::string piece;
    const auto more = request_.content->read(piece, most - into.size());
    starved_ = more == More::kLater;
    content_sent_ += piece.size();
    const bool wrong = length && (content_sent_ > *length || (more == More::kEnd && content_sent_ < *length));
    if (more == More::kCut || wrong) {
      end_content();
      static_cast<void>(break_off(400, "the request's body broke off, or is longer than it was said to be"));
      return;
    }
    if (length) {
      into.append(piece);
    } else if (!piece.empty()) {
      append_chunk(into, piece);
    }
    if (more == More::kEnd) {
      if (!length) into.append("0\r\n\r\n");
      return end_content();
    }
    if (more == More::kLater) return;
  }
}

}  // namespace fleetadm::proxy
