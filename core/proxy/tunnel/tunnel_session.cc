#include "core/proxy/tunnel/tunnel_session.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/serve/http/body_pipe.h"
#include "core/serve/http/http2_frames.h"

namespace fleetadm::proxy {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::int32_t kConnectionWindow = 8 * 1024 * 1024;  // of all streams; what comes is taken at once
constexpr auto kFresh = std::chrono::milliseconds(200);      // heard of so lately, an agent needs no ping
constexpr auto kPeriod = std::chrono::seconds(10);
constexpr std::size_t kMostControlFrames = 1000;  // in a period: of those that answer nothing and carry nothing
constexpr std::size_t kMostAcks = 100;            // that wait to be sent, to an agent that does not read
constexpr std::size_t kMostSettings = 32;         // of a frame

nghttp2_nv field_of(const std::string& name, const std::string& value) {
  nghttp2_nv out{};
  // nghttp2 copies both (no NO_COPY flag is set) and writes to neither.
  out.name = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(name.data()));
  out.value = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(value.data()));
  out.namelen = name.size();
  out.valuelen = value.size();
  out.flags = NGHTTP2_NV_FLAG_NONE;
  return out;
}

std::string_view text_of(const std::uint8_t* data, std::size_t size) { return {reinterpret_cast<const char*>(data), size}; }

}  // namespace

nghttp2_session_callbacks* TunnelSession::callbacks() {
  static nghttp2_session_callbacks* const kCallbacks = [] {
    nghttp2_session_callbacks* made = nullptr;
    nghttp2_session_callbacks_new(&made);
    nghttp2_session_callbacks_set_on_header_callback(
        made, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
                 const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* self) {
          return static_cast<TunnelSession*>(self)->on_header(frame, text_of(name, name_size), text_of(value, value_size));
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(made, [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
      return static_cast<TunnelSession*>(self)->on_frame(frame);
    });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        made, [](nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data, std::size_t size, void* self) {
          return static_cast<TunnelSession*>(self)->on_data(id, text_of(data, size));
        });
    nghttp2_session_callbacks_set_on_stream_close_callback(
        made, [](nghttp2_session*, std::int32_t id, std::uint32_t error, void* self) {
          static_cast<TunnelSession*>(self)->on_closed(id, error);
          return 0;
        });
    nghttp2_session_callbacks_set_send_data_callback(
        made, [](nghttp2_session*, nghttp2_frame* frame, const std::uint8_t* head, std::size_t size, nghttp2_data_source*,
                 void* self) { return static_cast<TunnelSession*>(self)->on_send(frame->hd.stream_id, head, size); });
    nghttp2_session_callbacks_set_data_source_read_length_callback(
        made, [](nghttp2_session*, std::uint8_t, std::int32_t, std::int32_t, std::int32_t, std::uint32_t frame, void* self) {
          static_cast<TunnelSession*>(self)->memory_.choosing_frame();
          return serve::most_in_frame(frame);
        });
    nghttp2_session_callbacks_set_on_frame_not_send_callback(
        made, [](nghttp2_session*, const nghttp2_frame* frame, int, void* self) {
          if (frame->hd.type == NGHTTP2_HEADERS) {
            static_cast<TunnelSession*>(self)->on_closed(frame->hd.stream_id, NGHTTP2_REFUSED_STREAM);
          }
          return 0;
        });
    return made;
  }();
  return kCallbacks;
}

TunnelSession::TunnelSession(serve::ProtocolHost host, TunnelSessionOptions options)
    : host_(std::move(host)),
      options_(std::move(options)),
      keep_alive_(options_.limits.keep_alive, Steady::now()),
      period_(Steady::now()) {
  host_.peer.reset();  // of which the identity was read
  host_.watch = nullptr;
  nghttp2_option* made = nullptr;
  nghttp2_option_new(&made);
  nghttp2_option_set_no_auto_window_update(made, 1);  // a stream's window opens as its body is read
  // Tables of headers sent before take memory at both ends of each of many tunnels that are idle.
  nghttp2_option_set_max_deflate_dynamic_table_size(made, 0);
  nghttp2_option_set_max_outbound_ack(made, kMostAcks);
  nghttp2_option_set_max_settings(made, kMostSettings);
  nghttp2_session* session = nullptr;
  nghttp2_session_client_new3(&session, callbacks(), this, made, memory_.allocator());
  memory_.made();
  nghttp2_option_del(made);
  session_.reset(session);
  const auto window = static_cast<std::uint32_t>(std::min<std::size_t>(options_.limits.window, NGHTTP2_MAX_WINDOW_SIZE));
  const std::array<nghttp2_settings_entry, 5> settings = {{
      {NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 0},
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window},
      {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, serve::kHttp2LargeFrame},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(options_.limits.header)},
  }};
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
}

TunnelSession::~TunnelSession() = default;

Error TunnelSession::broken(std::string_view how) const {
  Error error;
  error.category = Category::kUnavailable;
  error.message = "the tunnel of cluster \"" + options_.identity.cluster + "\" " + std::string(how);
  error.cluster = options_.identity.cluster;
  return error;
}

TunnelInfo TunnelSession::info() const {
  TunnelInfo out;
  out.cluster = options_.identity.cluster;
  out.agent = options_.identity.agent;
  out.since = options_.since;
  out.streams = running_;
  out.waiting = queued_;
  out.draining = draining_;
  out.silent = silent_;
  return out;
}

void TunnelSession::count() {
  running_ = streams_.size();
  queued_ = waiting_.size();
}

void TunnelSession::run_later() {
  const auto self = shared_from_this();
  woken_ = nullptr;
  while (!later_.empty()) {
    for (const auto& task : std::exchange(later_, {})) task();
  }
  count();
}

// Requests

bool TunnelSession::takes_requests() const {
  return !gone_ && !failed_ && !draining_ && nghttp2_session_check_request_allowed(session_.get()) != 0;
}

bool TunnelSession::has_free_stream() const {
  const std::size_t allowed = nghttp2_session_get_remote_settings(session_.get(), NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
  return streams_.size() < std::min(options_.limits.streams, allowed);
}

void TunnelSession::send(serve::HttpRequest request, Done done) {
  if (request.left.stop_requested()) return done(fail(client_left()));
  if (!takes_requests()) return send_elsewhere(std::move(request), std::move(done), broken("takes no more requests"));
  if (waiting_.empty() && has_free_stream()) {
    begin(std::move(request), std::move(done));
  } else if (waiting_.size() < options_.limits.waiting) {
    wait(std::move(request), std::move(done));
  } else {
    Error full = broken("has too many requests");
    full.code = 429;
    full.retry_after_seconds = 1;
    return done(fail(std::move(full)));
  }
  count();
}

void TunnelSession::begin(serve::HttpRequest request, Done done) {
  const auto now = Steady::now();
  TunnelStream stream(std::move(request), std::move(done), now);
  const auto head = stream.head();
  std::vector<nghttp2_nv> fields;
  fields.reserve(head.size());
  for (const auto& [name, value] : head) fields.push_back(field_of(name, value));
  nghttp2_data_provider provider{};
  provider.read_callback = [](nghttp2_session*, std::int32_t id, std::uint8_t*, std::size_t size, std::uint32_t* flags,
                              nghttp2_data_source*,
                              void* self) { return static_cast<TunnelSession*>(self)->on_read(id, size, flags); };
  const auto id = nghttp2_submit_request(session_.get(), nullptr, fields.data(), fields.size(),
                                         stream.has_body() ? &provider : nullptr, nullptr);
  if (id < 0) {  // the numbers of streams are used up
    draining_ = true;
    const auto told = stream.take_done();
    return send_elsewhere(stream.take_request(), told, broken("takes no more requests"));
  }
  if (stream.content()) {
    stream.content()->on_ready([self = weak_from_this(), id, post = host_.post] {
      post([self, id] {
        if (const auto here = self.lock()) here->resume(id);
      });
    });
  }
  streams_.emplace(id, std::move(stream)).first->second.on_left([self = weak_from_this(), id] {
    if (const auto here = self.lock()) here->leave(id);
  });
  ask_for_life(now);
  host_.flush();
}

void TunnelSession::wait(serve::HttpRequest request, Done done) {
  auto left = when_left(request.left, [self = weak_from_this(), number = ++waited_] {
    if (const auto here = self.lock()) here->leave_waiting(number);
  });
  waiting_.push_back({std::move(request), std::move(done), Steady::now(), waited_, std::move(left)});
}

void TunnelSession::leave_waiting(std::uint64_t number) {
  const auto at = std::ranges::find(waiting_, number, &Waiting::number);
  if (at == waiting_.end()) return;
  const Waiting over = std::move(*at);
  waiting_.erase(at);
  count();
  over.done(fail(client_left()));
}

void TunnelSession::leave(std::int32_t id) {
  const auto at = streams_.find(id);
  if (at == streams_.end()) return;
  refuse(id, at->second, client_left());
  run_later();
}

/// What waits goes on as far as the agent lets it.
void TunnelSession::pump() {
  while (!waiting_.empty() && takes_requests() && has_free_stream()) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    begin(std::move(next.request), std::move(next.done));
  }
}

void TunnelSession::send_elsewhere(serve::HttpRequest request, Done done, const Error& otherwise) {
  const auto other = options_.elsewhere ? options_.elsewhere() : nullptr;
  if (!other || other.get() == this) return done(fail(otherwise));
  other->send(std::move(request), std::move(done));
}

void TunnelSession::give_away_waiting(const Error& otherwise) {
  for (auto& each : std::exchange(waiting_, {})) send_elsewhere(std::move(each.request), std::move(each.done), otherwise);
}

void TunnelSession::drain() {
  if (draining_.exchange(true)) return;
  nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE, 0, NGHTTP2_NO_ERROR, nullptr, 0);
  later([this] { give_away_waiting(broken("takes no more requests")); });
  run_later();
  host_.flush();
}

void TunnelSession::cut(std::string_view why) {
  why_ = why;
  failed_ = true;
  host_.flush();
}

// Bytes

bool TunnelSession::feed(std::string_view bytes) {
  if (failed_) return false;
  keep_alive_.heard(Steady::now());
  silent_ = false;
  const auto used = nghttp2_session_mem_recv(session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (used < 0 && !failed_) {
    failed_ = true;
    why_ = "broke the protocol: " + std::string(nghttp2_strerror(static_cast<int>(used)));
  }
  if (!waiting_.empty()) later([this] { pump(); });
  run_later();
  return !failed_;
}

void TunnelSession::output(std::string& into, std::size_t most) {
  into_ = &into;
  most_ = most;
  while (!failed_ && into.size() < most) {
    const std::uint8_t* data = nullptr;
    const auto size = nghttp2_session_mem_send(session_.get(), &data);
    if (size < 0) {
      failed_ = true;
      why_ = "broke: " + std::string(nghttp2_strerror(static_cast<int>(size)));
    }
    if (size <= 0) break;
    memory_.used();
    into.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
  }
  if (!later_.empty()) run_later();
}

bool TunnelSession::finished() const {
  return failed_ || (nghttp2_session_want_read(session_.get()) == 0 && nghttp2_session_want_write(session_.get()) == 0);
}

void TunnelSession::gone() {
  if (std::exchange(gone_, true)) return;
  const auto self = shared_from_this();
  if (options_.gone) options_.gone(this);
  const Error why = broken(why_.empty() ? "broke" : why_);
  auto streams = std::exchange(streams_, {});
  for (auto& [id, stream] : streams) {
    if (auto done = stream.take_done()) {
      later([done = std::move(done), why] { done(fail(why)); });
    } else if (const auto body = stream.body()) {
      body->end(false);
      later([body] { body->wake(); });
    }
  }
  later([this, why] { give_away_waiting(why); });
  run_later();
}

// Time

bool TunnelSession::tick(SteadyTime now) {
  switch (keep_alive_.due(now)) {
    case kube::KeepAlive::Due::kGone: why_ = "is dead: the agent does not answer"; return false;
    case kube::KeepAlive::Due::kPing:
      nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr);
      host_.flush();
      break;
    case kube::KeepAlive::Due::kNothing: break;
  }
  if (now - period_ > kPeriod) {
    period_ = now;
    control_frames_ = 0;
  }
  if (!draining_ && options_.expired && options_.expired()) drain();
  check_silence(now);
  give_up_late_ones(now);
  pump();
  run_later();
  if (streams_.empty() && nghttp2_session_want_write(session_.get()) == 0) memory_.give_back();
  return true;
}

/// A request does not wait for the next round of pings to learn that there is nobody.
void TunnelSession::ask_for_life(SteadyTime now) {
  if (now - keep_alive_.last_heard() < kFresh || !keep_alive_.ask(now)) return;
  nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr);
  host_.flush();
}

void TunnelSession::check_silence(SteadyTime now) {
  const bool waits = std::ranges::any_of(streams_, [](const auto& entry) { return !entry.second.answered(); });
  if (waits) ask_for_life(now);
  if (!keep_alive_.asked() || now - *keep_alive_.asked() < options_.limits.silence) return;
  silent_ = true;
  Error why = broken("is silent: the agent does not answer");
  why.category = Category::kTimeout;
  for (auto& [id, stream] : streams_) {
    if (!stream.answered()) refuse(id, stream, why);
  }
  later([this, why] { give_away_waiting(why); });
}

void TunnelSession::give_up_late_ones(SteadyTime now) {
  Error why = broken("had no answer in time");
  why.category = Category::kTimeout;
  for (auto& [id, stream] : streams_) {
    if (stream.is_late(now, options_.limits.head)) refuse(id, stream, why);
  }
  while (!waiting_.empty() && now - waiting_.front().since > options_.limits.queue) {
    Error busy = broken("had no room for another request in time");
    busy.code = 503;
    busy.retry_after_seconds = 1;
    later([done = std::move(waiting_.front().done), busy] { done(fail(busy)); });
    waiting_.pop_front();
  }
}

void TunnelSession::refuse(std::int32_t id, TunnelStream& stream, Error why) {
  auto done = stream.take_done();
  if (!done) return;
  later([done = std::move(done), why = std::move(why)] { done(fail(why)); });
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  host_.flush();
}

// Bodies

void TunnelSession::resume(std::int32_t id) {
  const auto at = streams_.find(id);
  if (at == streams_.end() || !at->second.take_deferred()) return;
  nghttp2_session_resume_data(session_.get(), id);
  host_.flush();
}

void TunnelSession::consumed(std::int32_t stream, std::size_t bytes) {
  if (!streams_.contains(stream)) return;
  nghttp2_session_consume_stream(session_.get(), stream, bytes);
  if (nghttp2_session_want_write(session_.get()) != 0) host_.flush();  // the agent is told once half of the window is free
}

void TunnelSession::dropped(std::int32_t stream) {
  if (!streams_.contains(stream)) return;
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
  host_.flush();
}

void TunnelSession::send(std::int32_t stream, std::string_view bytes) {
  const auto at = streams_.find(stream);
  if (at == streams_.end()) return;
  at->second.send(bytes);
  resume(stream);
}

bool TunnelSession::can_send(std::int32_t stream) const {
  const auto at = streams_.find(stream);
  return at == streams_.end() || at->second.unsent() < options_.limits.window;
}

/// How much of a body is to be sent in the next frame.
ssize_t TunnelSession::on_read(std::int32_t id, std::size_t size, std::uint32_t* flags) {
  memory_.frame_chosen();
  const auto at = streams_.find(id);
  if (at == streams_.end()) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  std::size_t count = 0;
  *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  const auto give = at->second.next(size, count);
  if (give == TunnelStream::Give::kLater) return NGHTTP2_ERR_DEFERRED;
  if (give == TunnelStream::Give::kCut) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // the stream is reset
  const auto payload = serve::frame_payload(size, at->second.unsent(), into_->size(), most_);
  if (give == TunnelStream::Give::kEnd && payload == count) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(payload);
}

/// The frame that on_read() has just been asked about, straight to where it is sent from.
int TunnelSession::on_send(std::int32_t id, const std::uint8_t* head, std::size_t count) {
  const auto at = streams_.find(id);
  if (at == streams_.end()) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  memory_.used();
  into_->append(reinterpret_cast<const char*>(head), serve::kHttp2FrameHead);
  at->second.give(*into_, count, Steady::now());
  // Whoever fills it may have been waiting for room.
  if (const auto body = at->second.body(); body && at->second.upgrade()) later([body] { body->wake(); });
  return into_->size() < most_ ? 0 : NGHTTP2_ERR_PAUSE;  // a pause ends output() for now
}

// What the agent sends

int TunnelSession::on_header(const nghttp2_frame* frame, std::string_view name, std::string_view value) {
  const auto at = streams_.find(frame->hd.stream_id);
  if (at == streams_.end()) return 0;
  return at->second.take_header(name, value, options_.limits.header) ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

/// An agent that sends without end what asks for nothing and brings nothing.
bool TunnelSession::is_flood(const nghttp2_frame* frame) {
  switch (frame->hd.type) {
    case NGHTTP2_DATA:
      if (frame->hd.length > 0 || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) return false;
      break;
    case NGHTTP2_SETTINGS:
    case NGHTTP2_PING:
      if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) return false;
      break;
    case NGHTTP2_PRIORITY: break;
    default: return false;
  }
  return ++control_frames_ > kMostControlFrames;
}

int TunnelSession::on_frame(const nghttp2_frame* frame) {
  if (is_flood(frame)) {
    failed_ = true;
    why_ = "was flooded by the agent";
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }
  if (frame->hd.type == NGHTTP2_GOAWAY) {
    draining_ = true;
    later([this] { give_away_waiting(broken("takes no more requests")); });
  }
  if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
  const auto id = frame->hd.stream_id;
  const auto at = streams_.find(id);
  if (at == streams_.end()) return 0;
  TunnelStream& stream = at->second;
  const bool last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  if (frame->hd.type == NGHTTP2_HEADERS) {
    switch (stream.end_head()) {
      case TunnelStream::Head::kFinal: on_head(id, stream); break;
      case TunnelStream::Head::kBad:
        nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_PROTOCOL_ERROR);
        return 0;
      case TunnelStream::Head::kInterim:
      case TunnelStream::Head::kTrailers: break;
    }
  }
  if (!last) return 0;
  if (const auto body = stream.body()) {
    body->end(true);
    later([body] { body->wake(); });
  }
  return 0;
}

void TunnelSession::on_head(std::int32_t id, TunnelStream& stream) {
  auto body = std::make_shared<TunnelBody>(weak_from_this(), id);
  const auto answer = std::make_shared<serve::HttpResponse>(stream.answer(body));
  auto done = stream.take_done();
  if (!done) return;  // it was given up
  later([done = std::move(done), answer, body = std::move(body), self = weak_from_this(), id]() mutable {
    if (body->is_whole() && !answer->upgrade) {  // it came with its head
      while (body->size() > 0) body->read(answer->body, body->size());
      answer->stream.reset();
    }
    body.reset();
    done(std::move(*answer));
    if (const auto here = self.lock()) here->resume(id);  // what it holds open for an upgrade that was refused
  });
}

int TunnelSession::on_data(std::int32_t id, std::string_view data) {
  // One body that is not read holds up its own stream, and not the connection.
  nghttp2_session_consume_connection(session_.get(), data.size());
  const auto at = streams_.find(id);
  const auto body = at == streams_.end() ? nullptr : at->second.body();
  if (!body) {
    nghttp2_session_consume_stream(session_.get(), id, data.size());
    return 0;
  }
  body->push(data);
  if (woken_ == body.get()) return 0;
  woken_ = body.get();
  later([body] { body->wake(); });
  return 0;
}

void TunnelSession::on_closed(std::int32_t id, std::uint32_t error) {
  auto node = streams_.extract(id);
  if (node.empty()) return;
  TunnelStream& stream = node.mapped();
  if (auto done = stream.take_done()) {
    if (error == NGHTTP2_REFUSED_STREAM && stream.repeatable()) {
      auto request = std::make_shared<serve::HttpRequest>(stream.take_request());
      later([this, request, done = std::move(done)] {
        send_elsewhere(std::move(*request), done, broken("has not taken the request"));
      });
    } else {
      later([done = std::move(done), why = broken("broke off the request")] { done(fail(why)); });
    }
  } else if (const auto body = stream.body()) {
    body->end(false);
    later([body] { body->wake(); });
  }
  later([this] { pump(); });
}

}  // namespace fleetadm::proxy
