#include "kubeclient/transport/http2_connection.h"

#include <algorithm>
#include <array>
#include <span>
#include <sys/epoll.h>
#include <utility>
#include <vector>

#include "kubeclient/base/ascii.h"
#include "kubeclient/transport/request_options.h"

namespace fleetadm::kube {
namespace {

constexpr std::int32_t kStreamWindow = 8 * 1024 * 1024;
constexpr std::int32_t kConnectionWindow = 64 * 1024 * 1024;
constexpr std::uint32_t kMaxHeaderList = 256U * 1024U;
constexpr std::size_t kWrite = std::size_t{16} * 1024;  // a TLS record
constexpr std::size_t kRead = std::size_t{16} * 1024;
constexpr int kReadsAtOnce = 64;                        // then others have their turn
constexpr std::size_t kMostStreams = 100;               // as libcurl's
constexpr auto kFresh = std::chrono::seconds(5);        // what was heard so lately is there
constexpr auto kIdleLasts = std::chrono::seconds(120);  // then a connection without streams is closed
constexpr auto kBeat = std::chrono::seconds(1);         // on which pings go out
// A frame of type PING on stream 0 with 8 bytes. nghttp2 would touch the pages of its frame buffer for it, which an idle
// connection has given back, and takes any answer.
constexpr std::string_view kPing("\0\0\x08\x06\0\0\0\0\0\0\0\0\0\0\0\0\0", 17);

CurlFailure broken(std::string detail, CURLcode code = CURLE_HTTP2) {
  CurlFailure failure;
  failure.code = code;
  failure.detail = std::move(detail);
  failure.connected = true;
  return failure;
}

/// Names in lower case, the pseudo-headers first.
std::vector<std::pair<std::string, std::string>> fields_of(const Outgoing& request) {
  std::vector<std::pair<std::string, std::string>> fields = {{":method", std::string(to_string(request.method))},
                                                             {":scheme", "https"},
                                                             {":authority", std::string(request.authority)},
                                                             {":path", request.path.empty() ? "/" : std::string(request.path)}};
  bool has_agent = false;
  bool has_length = false;
  for (const auto& [name, value] : request.headers) {
    std::string lower = lower_case(name);
    if (lower == "host") {
      fields[2].second = value;
      continue;
    }
    has_agent = has_agent || lower == "user-agent";
    has_length = has_length || lower == "content-length";
    fields.emplace_back(std::move(lower), value);
  }
  if (!has_agent) fields.emplace_back("user-agent", std::string(request.user_agent));
  if (request.compress) fields.emplace_back("accept-encoding", "gzip");
  const bool has_body = !request.body->empty() || request.method == Method::kPost || request.method == Method::kPut ||
                        request.method == Method::kPatch;
  if (has_body && !has_length) fields.emplace_back("content-length", std::to_string(request.body->size()));
  return fields;
}

}  // namespace

Http2Connection::Http2Connection(std::shared_ptr<EpollLoop> loop, TlsStream tls, KeepAliveTimes times, Http2Owner& owner)
    : loop_(std::move(loop)),
      owner_(owner),
      tls_(std::move(tls)),
      times_(times),
      keep_alive_(times, Steady::now()),
      idle_since_(Steady::now()) {
  make_session();
}

Http2Connection::~Http2Connection() { close(); }

void Http2Connection::make_session() {
  static const nghttp2_session_callbacks* const kCallbacks = Http2Callbacks<Http2Connection>()
                                                                 .header<&Http2Connection::on_header>()
                                                                 .frame_received<&Http2Connection::on_frame>()
                                                                 .data<&Http2Connection::on_data>()
                                                                 .frame_sent<&Http2Connection::on_sent>()
                                                                 .closed<&Http2Connection::on_closed>()
                                                                 .keep();
  session_ = make_http2_client(kCallbacks, this, Http2Options(), memory_);
  const std::array<nghttp2_settings_entry, 4> settings = {{
      {NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 0},
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kMaxHeaderList},
  }};
  nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session_.get(), NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
}

void Http2Connection::start() {
  watch(false);
  arm();
  flush_soon();
}

Http2Stream* Http2Connection::stream_of(std::int32_t id) const {
  const auto at = streams_.find(id);
  return at == streams_.end() ? nullptr : at->second;
}

bool Http2Connection::has_room() const {
  const std::size_t allowed = nghttp2_session_get_remote_settings(session_.get(), NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
  return !closed_ && !draining_ && streams_.size() < std::clamp<std::size_t>(allowed, 1, kMostStreams);
}

bool Http2Connection::begin(Http2Stream& stream) {
  const Outgoing& request = stream.request();
  const auto named = fields_of(request);
  std::vector<nghttp2_nv> fields;
  fields.reserve(named.size());
  for (const auto& [name, value] : named) fields.push_back(http2_field(name, value));
  nghttp2_data_provider body{};
  body.read_callback = [](nghttp2_session*, std::int32_t id, std::uint8_t* into, std::size_t size, std::uint32_t* flags,
                          nghttp2_data_source*, void* self) -> ssize_t {
    auto* const sender = static_cast<Http2Connection*>(self)->stream_of(id);
    if (sender == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // the stream is reset
    std::size_t count = 0;
    if (sender->next_body({reinterpret_cast<char*>(into), size}, count)) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(count);
  };
  const auto id = nghttp2_submit_request(session_.get(), nullptr, fields.data(), fields.size(),
                                         request.body->empty() ? nullptr : &body, nullptr);
  if (id < 0) {  // the numbers of streams are used up
    draining_ = true;
    return false;
  }
  stream.on_connection(this, id);
  streams_.emplace(id, &stream);
  if (streams_.size() == 1) arm();
  if (Steady::now() - keep_alive_.last_heard() > kFresh) ask_for_life();
  flush_soon();
  return true;
}

void Http2Connection::leave(const Http2Stream& stream) {
  if (streams_.erase(stream.id()) == 0) return;
  freed_ = true;
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream.id(), NGHTTP2_CANCEL);
  flush_soon();
}

void Http2Connection::close() {
  if (std::exchange(closed_, true)) return;
  if (timer_ != 0) loop_->cancel(std::exchange(timer_, 0));
  loop_->unwatch(tls_.descriptor());
  if (loop_->on_thread()) tls_.shut_down();  // elsewhere a peer that is gone would be a SIGPIPE
}

void Http2Connection::fail(const CurlFailure& failure) {
  if (closed_) return;
  close();
  for (const auto& [id, stream] : std::exchange(streams_, {})) owner_.take_back(*stream, failure, false, has_answered_);
  owner_.look_again();
}

// Bytes

void Http2Connection::watch(bool writing) {
  watches_write_ = writing;
  loop_->watch(tls_.descriptor(), writing ? EPOLLIN | EPOLLOUT : EPOLLIN, [weak = weak_from_this()](std::uint32_t events) {
    if (const auto self = weak.lock()) self->on_ready(events);
  });
}

void Http2Connection::on_ready(std::uint32_t events) {
  if ((events & ~std::uint32_t{EPOLLOUT}) != 0) read_all();
  flush();
  look_at_end();
}

void Http2Connection::flush_soon() {
  if (closed_ || std::exchange(flushing_soon_, true)) return;
  loop_->post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->flushing_soon_ = false;
    self->flush();
    self->look_at_end();
  });
}

void Http2Connection::read_all() {
  std::array<char, kRead> buffer;
  for (int i = 0; i < kReadsAtOnce && !closed_; ++i) {
    std::size_t count = 0;
    const auto step = tls_.read(buffer, count);
    if (step == TlsStream::Step::kFailed) return fail(tls_.failure());
    if (step != TlsStream::Step::kDone) return;
    keep_alive_.heard(Steady::now());
    const auto used = nghttp2_session_mem_recv(session_.get(), reinterpret_cast<const std::uint8_t*>(buffer.data()), count);
    if (used < 0) return fail(broken(std::string("the server broke the protocol: ") + nghttp2_strerror(static_cast<int>(used))));
    if (!tls_.holds_back()) return;  // what comes next is told by the socket
  }
  // Decrypted bytes may wait without the socket being readable.
  loop_->post([weak = weak_from_this()] {
    if (const auto self = weak.lock(); self && !self->closed_) self->on_ready(EPOLLIN);
  });
}

void Http2Connection::gather() {
  out_.clear();
  written_ = 0;
  while (out_.size() < kWrite) {
    const std::uint8_t* data = nullptr;
    const auto size = nghttp2_session_mem_send(session_.get(), &data);
    if (size < 0) return fail(broken(nghttp2_strerror(static_cast<int>(size))));
    if (size == 0) {  // all frames are whole
      if (std::exchange(asks_, false)) out_.append(kPing);
      return;
    }
    memory_.used();
    out_.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
  }
}

void Http2Connection::flush() {
  while (!closed_) {
    if (written_ == out_.size()) gather();
    if (closed_ || out_.empty()) break;
    std::size_t count = 0;
    const auto step = tls_.write(std::string_view(out_).substr(written_), count);
    if (step == TlsStream::Step::kFailed) return fail(tls_.failure());
    if (step == TlsStream::Step::kWantsRead) return;
    if (step == TlsStream::Step::kWantsWrite) {
      if (!watches_write_) watch(true);
      return;
    }
    written_ += count;
  }
  if (closed_) return;
  std::string().swap(out_);  // an idle connection holds no buffer
  if (watches_write_) watch(false);
}

/// After bytes: what is to be told to the owner, and whether anything is left to do here.
void Http2Connection::look_at_end() {
  if (closed_) return;
  const bool over = (nghttp2_session_want_read(session_.get()) == 0 && nghttp2_session_want_write(session_.get()) == 0) ||
                    (draining_ && streams_.empty());
  if (over) return fail(broken("the server has ended it"));
  if (!std::exchange(freed_, false)) return;
  if (streams_.empty()) idle_since_ = Steady::now();
  owner_.look_again();
}

// Time

/// Those of many connections go out together, and are answered together: that wakes the thread once, and not for each.
std::chrono::steady_clock::time_point Http2Connection::ping_due() const {
  const auto due = keep_alive_.last_heard() + times_.silence;
  return times_.silence < 2 * kBeat ? due : std::chrono::floor<std::chrono::seconds>(due);
}

void Http2Connection::arm() {
  if (timer_ != 0) loop_->cancel(timer_);
  Steady::time_point due = idle_since_ + kIdleLasts;
  if (keep_alive_.asked()) {
    due = *keep_alive_.asked() + times_.patience;
  } else if (!streams_.empty()) {
    due = ping_due();
  }
  timer_ = loop_->after(due - Steady::now(), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->tick();
  });
}

void Http2Connection::tick() {
  timer_ = 0;
  if (closed_) return;
  const auto now = Steady::now();
  if (const auto asked = keep_alive_.asked(); asked && now - *asked >= times_.patience)
    return fail(broken("the server does not answer", CURLE_RECV_ERROR));
  if (streams_.empty() && now - idle_since_ >= kIdleLasts) {
    draining_ = true;
    return look_at_end();
  }
  if (!streams_.empty() && now >= ping_due()) ask_for_life();
  if (out_.empty()) memory_.give_back();
  arm();
}

void Http2Connection::ask_for_life() {
  if (closed_ || !keep_alive_.ask(Steady::now())) return;
  asks_ = true;
  flush_soon();
  arm();
}

// What the server sends

int Http2Connection::on_header(const nghttp2_frame* frame, std::string_view name, std::string_view value) {
  auto* const stream = stream_of(frame->hd.stream_id);
  return stream == nullptr || stream->take_field(name, value) ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

int Http2Connection::on_frame(const nghttp2_frame* frame) {
  if (frame->hd.type == NGHTTP2_GOAWAY) draining_ = true;
  if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
  auto* const stream = stream_of(frame->hd.stream_id);
  if (stream == nullptr) return 0;
  const bool last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  if (last) stream->note_whole();
  if (frame->hd.type == NGHTTP2_DATA) return 0;
  has_answered_ = true;
  if (!stream->end_head(last)) nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_CANCEL);
  return 0;
}

int Http2Connection::on_data(std::int32_t id, std::string_view data) {
  auto* const stream = stream_of(id);
  if (stream != nullptr && !stream->take_data(data))
    nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  return 0;
}

int Http2Connection::on_sent(const nghttp2_frame* frame) {
  if (frame->hd.type != NGHTTP2_HEADERS) return 0;
  if (auto* const stream = stream_of(frame->hd.stream_id)) stream->note_sent();
  return 0;
}

void Http2Connection::on_closed(std::int32_t id, std::uint32_t code) {
  auto node = streams_.extract(id);
  if (node.empty()) return;
  freed_ = true;
  Http2Stream& stream = *node.mapped();
  stream.on_connection(nullptr, 0);
  if (code == NGHTTP2_NO_ERROR) return stream.end(std::nullopt);
  const CurlFailure failure = broken(std::string("the stream was reset: ") + nghttp2_http2_strerror(code), CURLE_HTTP2_STREAM);
  if (code == NGHTTP2_REFUSED_STREAM) return owner_.take_back(stream, failure, true, has_answered_);
  stream.end(failure);
}

}  // namespace fleetadm::kube
