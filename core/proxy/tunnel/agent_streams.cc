#include "core/proxy/tunnel/agent_streams.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/serve/http/body_pipe.h"

namespace fleetadm::proxy {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::int32_t kConnectionWindow = 8 * 1024 * 1024;  // of all streams; what comes is taken at once
constexpr auto kPeriod = std::chrono::seconds(10);
constexpr std::size_t kMostControlFrames = 1000;  // in a period: of those that answer nothing and carry nothing
constexpr std::size_t kMostAcks = 100;            // that wait to be sent, to an agent that does not read
constexpr std::size_t kMostSettings = 32;         // of a frame

}  // namespace

const nghttp2_session_callbacks* AgentStreams::callbacks() {
  static const nghttp2_session_callbacks* const kCallbacks = kube::Http2Callbacks<AgentStreams>()
                                                                 .header<&AgentStreams::on_header>()
                                                                 .frame_received<&AgentStreams::on_frame>()
                                                                 .data<&AgentStreams::on_data>()
                                                                 .closed<&AgentStreams::on_closed>()
                                                                 .frame_not_sent<&AgentStreams::on_not_sent>()
                                                                 .send_data<&AgentStreams::on_send>()
                                                                 .frame_size<&AgentStreams::on_frame_size>()
                                                                 .keep();
  return kCallbacks;
}

AgentStreams::AgentStreams(serve::ProtocolHost host, const TunnelLimits& limits, Owner& owner)
    : host_(std::move(host)), limits_(limits), owner_(owner), period_(Steady::now()) {
  const kube::Http2Options options;
  nghttp2_option_set_no_auto_window_update(options.get(), 1);  // a stream's window opens as its body is read
  nghttp2_option_set_max_outbound_ack(options.get(), kMostAcks);
  nghttp2_option_set_max_settings(options.get(), kMostSettings);
  session_ = kube::make_http2_client(callbacks(), this, options, output_.memory());
  const auto window = static_cast<std::uint32_t>(std::min<std::size_t>(limits_.window, NGHTTP2_MAX_WINDOW_SIZE));
  const std::array<nghttp2_settings_entry, 5> settings = {{
      {NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 0},
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window},
      {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, serve::kHttp2LargeFrame},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(limits_.header)},
  }};
  nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session_.get(), NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
}

void AgentStreams::run_later() {
  woken_ = nullptr;
  while (!later_.empty()) {
    auto tasks = std::exchange(later_, std::exchange(spare_later_, {}));
    for (const auto& task : tasks) task();
    tasks.clear();
    spare_later_ = std::move(tasks);
  }
}

// Requests

bool AgentStreams::has_free_stream() const {
  const std::size_t allowed = nghttp2_session_get_remote_settings(session_.get(), NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
  return streams_.size() < std::min(limits_.streams, allowed);
}

bool AgentStreams::begin(serve::HttpRequest& request, Hop::Done& done, SteadyTime now) {
  TunnelStream stream(std::move(request), std::move(done), now);
  const auto head = stream.head();
  std::vector<nghttp2_nv> fields;
  fields.reserve(head.size());
  for (const auto& [name, value] : head) fields.push_back(kube::http2_field(name, value));
  nghttp2_data_provider provider{};
  provider.read_callback = [](nghttp2_session*, std::int32_t id, std::uint8_t*, std::size_t size, std::uint32_t* flags,
                              nghttp2_data_source*,
                              void* self) { return static_cast<AgentStreams*>(self)->on_read(id, size, flags); };
  const auto id = nghttp2_submit_request(session_.get(), nullptr, fields.data(), fields.size(),
                                         stream.has_body() ? &provider : nullptr, nullptr);
  if (id < 0) {
    done = stream.take_done();
    request = stream.take_request();
    return false;
  }
  if (stream.content()) {
    stream.content()->on_ready([this, owner = std::weak_ptr(owner_.self()), id, post = host_.post] {
      post([this, owner, id] {
        if (const auto here = owner.lock()) resume(id);
      });
    });
  }
  streams_.emplace(id, std::move(stream)).first->second.on_left([this, owner = std::weak_ptr(owner_.self()), id] {
    if (const auto here = owner.lock()) leave(id);
  });
  return true;
}

bool AgentStreams::waits_for_answers() const {
  return std::ranges::any_of(streams_, [](const auto& entry) { return !entry.second.answered(); });
}

void AgentStreams::leave(std::int32_t id) {
  const auto at = streams_.find(id);
  if (at == streams_.end()) return;
  refuse(id, at->second, client_left());
  owner_.settle();
}

void AgentStreams::refuse(std::int32_t id, TunnelStream& stream, Error why) {
  auto done = stream.take_done();
  if (!done) return;
  later([done = std::move(done), why = std::move(why)] { done(fail(why)); });
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  host_.flush();
}

void AgentStreams::refuse_unanswered(const Error& why) {
  for (auto& [id, stream] : streams_) {
    if (!stream.answered()) refuse(id, stream, why);
  }
}

void AgentStreams::refuse_late(SteadyTime now, const Error& why) {
  for (auto& [id, stream] : streams_) {
    if (stream.is_late(now, limits_.head)) refuse(id, stream, why);
  }
}

void AgentStreams::cut_all(const Error& why) {
  auto streams = std::exchange(streams_, {});
  for (auto& [id, stream] : streams) {
    if (auto done = stream.take_done()) {
      later([done = std::move(done), why] { done(fail(why)); });
    } else {
      end_body(stream, false);
    }
  }
}

// Bytes

void AgentStreams::feed(std::string_view bytes) {
  const auto used = nghttp2_session_mem_recv(session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (used < 0 && !failed_) break_off("broke the protocol: " + std::string(nghttp2_strerror(static_cast<int>(used))));
}

void AgentStreams::output(std::string& into, std::size_t most) {
  if (failed_) return;
  const bool rested = output_.memory().idle();
  const auto error = output_.write(session_.get(), into, most);
  if (error < 0) return break_off("broke: " + std::string(nghttp2_strerror(static_cast<int>(error))));
  if (rested) give_memory_back();  // that was a ping, or an answer to one
}

bool AgentStreams::finished() const {
  return failed_ || (nghttp2_session_want_read(session_.get()) == 0 && nghttp2_session_want_write(session_.get()) == 0);
}

void AgentStreams::break_off(std::string_view why) {
  failed_ = true;
  why_ = why;
}

void AgentStreams::ping() {
  nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr);
  host_.flush();
}

void AgentStreams::say_goodbye() { nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE, 0, NGHTTP2_NO_ERROR, nullptr, 0); }

void AgentStreams::tick(SteadyTime now) {
  if (now - period_ <= kPeriod) return;
  period_ = now;
  control_frames_ = 0;
}

void AgentStreams::give_memory_back() {
  if (streams_.empty() && nghttp2_session_want_write(session_.get()) == 0) output_.memory().give_back();
}

// Bodies

void AgentStreams::resume(std::int32_t id) {
  const auto at = streams_.find(id);
  if (at == streams_.end() || !at->second.take_deferred()) return;
  nghttp2_session_resume_data(session_.get(), id);
  host_.flush();
}

void AgentStreams::consumed(std::int32_t stream, std::size_t bytes) {
  if (!streams_.contains(stream)) return;
  nghttp2_session_consume_stream(session_.get(), stream, bytes);
  if (nghttp2_session_want_write(session_.get()) != 0) host_.flush();  // the agent is told once half of the window is free
}

void AgentStreams::dropped(std::int32_t stream) {
  if (!streams_.contains(stream)) return;
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
  host_.flush();
}

void AgentStreams::send(std::int32_t stream, std::string_view bytes) {
  const auto at = streams_.find(stream);
  if (at == streams_.end()) return;
  at->second.send(bytes);
  resume(stream);
}

bool AgentStreams::can_send(std::int32_t stream) const {
  const auto at = streams_.find(stream);
  return at == streams_.end() || at->second.unsent() < limits_.window;
}

/// How much of a body is to be sent in the next frame.
ssize_t AgentStreams::on_read(std::int32_t id, std::size_t size, std::uint32_t* flags) {
  output_.frame_chosen();
  const auto at = streams_.find(id);
  if (at == streams_.end()) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  std::size_t count = 0;
  *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  const auto give = at->second.next(size, count);
  if (give == TunnelStream::Give::kLater) return NGHTTP2_ERR_DEFERRED;
  if (give == TunnelStream::Give::kCut) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // the stream is reset
  const auto payload = output_.payload(size, at->second.unsent());
  if (give == TunnelStream::Give::kEnd && payload == count) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(payload);
}

/// The frame that on_read() has just been asked about, straight to where it is sent from.
int AgentStreams::on_send(std::int32_t id, const std::uint8_t* head, std::size_t count) {
  const auto at = streams_.find(id);
  if (at == streams_.end()) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  at->second.give(output_.begin_frame(head), count, Steady::now());
  // Whoever fills it may have been waiting for room.
  if (const auto body = at->second.body(); body && at->second.upgrade()) later([body] { body->wake(); });
  return output_.end_frame();
}

void AgentStreams::end_body(const TunnelStream& stream, bool whole) {
  const auto body = stream.body();
  if (!body) return;
  body->end(whole);
  later([body] { body->wake(); });
}

// What the agent sends

int AgentStreams::on_header(const nghttp2_frame* frame, std::string_view name, std::string_view value) {
  const auto at = streams_.find(frame->hd.stream_id);
  if (at == streams_.end()) return 0;
  return at->second.take_header(name, value, limits_.header) ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

/// An agent that sends without end what asks for nothing and brings nothing.
bool AgentStreams::is_flood(const nghttp2_frame* frame) {
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

int AgentStreams::on_frame(const nghttp2_frame* frame) {
  if (is_flood(frame)) {
    break_off("was flooded by the agent");
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }
  if (frame->hd.type == NGHTTP2_GOAWAY) owner_.agent_leaves();
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
  if (last) end_body(stream, true);
  return 0;
}

void AgentStreams::on_head(std::int32_t id, TunnelStream& stream) {
  auto body = std::make_shared<TunnelBody>(std::shared_ptr<Source>(owner_.self(), this), id);
  const auto answer = std::make_shared<serve::HttpResponse>(stream.answer(body));
  auto done = stream.take_done();
  if (!done) return;  // it was given up
  later([done = std::move(done), answer, body = std::move(body), this, self = std::weak_ptr(owner_.self()), id]() mutable {
    if (body->is_whole() && !answer->upgrade) {  // it came with its head
      while (body->size() > 0) body->read(answer->body, body->size());
      answer->stream.reset();
    }
    body.reset();
    done(std::move(*answer));
    if (const auto here = self.lock()) resume(id);  // what it holds open for an upgrade that was refused
  });
}

int AgentStreams::on_data(std::int32_t id, std::string_view data) {
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

int AgentStreams::on_not_sent(const nghttp2_frame* frame) {
  if (frame->hd.type == NGHTTP2_HEADERS) on_closed(frame->hd.stream_id, NGHTTP2_REFUSED_STREAM);
  return 0;
}

void AgentStreams::on_closed(std::int32_t id, std::uint32_t error) {
  auto node = streams_.extract(id);
  if (node.empty()) return;
  TunnelStream& stream = node.mapped();
  if (auto done = stream.take_done()) {
    if (error == NGHTTP2_REFUSED_STREAM && stream.repeatable()) {
      owner_.not_taken(stream.take_request(), std::move(done));
    } else {
      later([done = std::move(done), why = owner_.broken("broke off the request")] { done(fail(why)); });
    }
  } else {
    end_body(stream, false);
  }
  owner_.stream_over();
}

}  // namespace fleetadm::proxy
