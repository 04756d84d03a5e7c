// HTTP/2 on nghttp2.
#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <chrono>
#include <map>
#include <nghttp2/nghttp2.h>
#include <optional>
#include <stop_token>
#include <utility>

#include "core/serve/http/body_pipe.h"
#include "core/serve/http/http2_output.h"
#include "core/serve/http/protocol.h"
#include "kubeclient/http2/http2_session.h"
#include "kubeclient/http2/keep_alive.h"

namespace fleetadm::serve {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::array<std::uint8_t, 8> kLeavingPing = {'l', 'e', 'a', 'v', 'i', 'n', 'g', '.'};
constexpr auto kLeaveLinger = std::chrono::seconds(1);            // for clients that do not answer it
constexpr auto kAnsweredLinger = std::chrono::milliseconds(500);  // for what a client still sends behind the whole answer

struct Exchange {
  HttpRequest request;
  std::size_t header_bytes = 0;
  bool head_too_large = false;
  bool begun = false;     // handed to the handler
  bool whole = false;     // the client has sent all of it
  bool answered = false;  // headers were submitted
  bool waiting = false;   // its data is deferred
  std::string body;
  std::size_t sent = 0;
  std::shared_ptr<BodyStream> stream;
  std::shared_ptr<std::atomic<bool>> ready;  // set on any thread: the stream may have something again
  bool ended = false;
  std::shared_ptr<MemoryReservation> share;  // of the request's body
  Steady::time_point since = Steady::now();  // when it began; of an answer: when the client last took something of it
  Steady::time_point heard = since;          // when the last piece of a body that is streamed came
  bool given_up = false;
  std::optional<Steady::time_point> lingers_until;
  std::stop_source asks{std::nostopstate};  // the client, until it is answered
  std::shared_ptr<BodyWriter> content;      // while the request's body comes, where it is streamed
};

class Http2 final : public Protocol, public std::enable_shared_from_this<Http2> {
 public:
  explicit Http2(ProtocolHost host) : host_(std::move(host)), keep_alive_(host_.keep_alive, Steady::now()) {
    const kube::Http2Options options;
    nghttp2_option_set_no_auto_window_update(options.get(), 1);  // a stream's window opens as its body is read
    session_ = kube::make_http2_server(callbacks(), this, options, output_.memory());
    const std::array<nghttp2_settings_entry, 4> settings = {{
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, static_cast<std::uint32_t>(host_.limits.streams)},
        {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, host_.frame},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(host_.limits.header)},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
         static_cast<std::uint32_t>(std::min<std::size_t>(host_.limits.window, 0x7fffffff))},
    }};
    nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, settings.data(), settings.size());
    nghttp2_session_set_local_window_size(session_.get(), NGHTTP2_FLAG_NONE, 0, 4 * 1024 * 1024);
  }

  bool feed(std::string_view bytes) override {
    keep_alive_.heard(Steady::now());
    const auto used = nghttp2_session_mem_recv(session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    return used >= 0;
  }

  void output(std::string& into, std::size_t most) override {
    give_up_slow_ones();
    for (auto& [id, exchange] : exchanges_) {
      if (exchange.content) {
        if (const auto read = exchange.content->take_consumed(); read > 0)
          nghttp2_session_consume_stream(session_.get(), id, read);
      }
      if (exchange.waiting && (exchange.ready->exchange(false) || (ticked_ && exchange.stream->due(*ticked_)))) {
        exchange.waiting = false;
        nghttp2_session_resume_data(session_.get(), id);
      }
    }
    ticked_.reset();
    failed_ = output_.write(session_.get(), into, most) < 0 || failed_;
  }

  bool finished() const override {
    return failed_ || (nghttp2_session_want_read(session_.get()) == 0 && nghttp2_session_want_write(session_.get()) == 0);
  }
  bool busy() const override {
    return std::any_of(exchanges_.begin(), exchanges_.end(), [](const auto& entry) { return entry.second.begun; });
  }
  bool receiving() const override {
    return std::any_of(exchanges_.begin(), exchanges_.end(), [](const auto& entry) { return !entry.second.begun; });
  }

  std::size_t streams() const override { return exchanges_.size(); }

  bool tick(Steady::time_point now) override {
    ticked_ = now;
    switch (keep_alive_.due(now)) {
      case kube::KeepAlive::Due::kGone: return false;
      case kube::KeepAlive::Due::kPing:
        nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr);
        host_.flush();
        break;
      case kube::KeepAlive::Due::kNothing: break;
    }
    if (leaving_since_ && now - *leaving_since_ > kLeaveLinger) leave();
    if (exchanges_.empty() && nghttp2_session_want_write(session_.get()) == 0) output_.memory().give_back();
    return true;
  }

  void gone() override {
    for (auto& [id, exchange] : std::exchange(exchanges_, {})) exchange.asks.request_stop();
  }

  /// First all are told not to ask any more; what they asked before they heard of it is still answered. Its ping comes back when
  /// they have.
  void drain() override {
    if (leaving_since_ || left_) return;
    leaving_since_ = Steady::now();
    nghttp2_submit_shutdown_notice(session_.get());
    nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, kLeavingPing.data());
  }

  void answer(std::int32_t id, HttpResponse response) {
    const auto at = exchanges_.find(id);
    if (at == exchanges_.end() || at->second.answered) return;
    Exchange& exchange = at->second;
    exchange.answered = true;
    exchange.asks = std::stop_source(std::nostopstate);
    exchange.since = Steady::now();
    if (response.upgrade) {  // no request of this protocol asks for one in the right way
      response = HttpResponse();
      response.status = 400;
      response.headers = {{"content-type", "text/plain"}};
      response.body = "an upgrade needs HTTP/1.1\n";
    }
    exchange.body = std::move(response.body);
    exchange.stream = std::move(response.stream);
    if (!exchange.stream && response.status != 304) {
      response.headers.emplace_back("content-length", std::to_string(exchange.body.size()));
    }
    if (exchange.request.method == "HEAD" || response.status == 304) exchange.body.clear();
    const std::string status = std::to_string(response.status);
    std::vector<nghttp2_nv> fields{kube::http2_field(":status", status)};
    for (auto& [name, value] : response.headers) {
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      fields.push_back(kube::http2_field(name, value));
    }
    if (exchange.stream) {
      exchange.ready = std::make_shared<std::atomic<bool>>(false);
      exchange.stream->on_ready([ready = exchange.ready, flush = host_.flush] {
        ready->store(true);
        flush();
      });
    }
    nghttp2_data_provider provider{};
    provider.read_callback = [](nghttp2_session*, std::int32_t stream, std::uint8_t*, std::size_t size, std::uint32_t* flags,
                                nghttp2_data_source*,
                                void* self) { return static_cast<Http2*>(self)->on_read(stream, size, flags); };
    const bool empty = !exchange.stream && exchange.body.empty();
    nghttp2_submit_response(session_.get(), id, fields.data(), fields.size(), empty ? nullptr : &provider);
    host_.flush();
  }

 private:
  void leave() {
    leaving_since_.reset();
    left_ = true;
    nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_.get()),
                          NGHTTP2_NO_ERROR, nullptr, 0);
    host_.flush();
  }

  static const nghttp2_session_callbacks* callbacks() {
    static const nghttp2_session_callbacks* const kCallbacks = kube::Http2Callbacks<Http2>()
                                                                   .begin_headers<&Http2::on_begin>()
                                                                   .header<&Http2::on_header>()
                                                                   .data<&Http2::on_data>()
                                                                   .frame_received<&Http2::on_frame>()
                                                                   .closed<&Http2::on_closed>()
                                                                   .frame_sent<&Http2::on_sent>()
                                                                   .send_data<&Http2::on_send>()
                                                                   .frame_size<&Http2::on_frame_size>()
                                                                   .keep();
    return kCallbacks;
  }

  /// A connection that is busy with one request is not to keep parts of others, or answers that nobody takes, for ever.
  void give_up_slow_ones() {
    const auto now = Steady::now();
    for (auto& [id, exchange] : exchanges_) {
      const bool late = !exchange.begun && now - exchange.since > host_.limits.request;
      const bool stuck = exchange.answered && !exchange.stream && now - exchange.since > host_.limits.stuck;
      const bool silent = exchange.content && exchange.content->has_room() && now - exchange.heard > host_.limits.idle;
      const bool over = exchange.lingers_until && now > *exchange.lingers_until;
      if (exchange.given_up || (!late && !stuck && !silent && !over)) continue;
      exchange.given_up = true;
      nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, over ? NGHTTP2_NO_ERROR : NGHTTP2_CANCEL);
    }
  }

  int on_begin(const nghttp2_frame* frame) {
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
      exchanges_[frame->hd.stream_id].request.peer = host_.peer;
    }
    return 0;
  }

  int on_header(const nghttp2_frame* frame, std::string_view name, std::string_view value) {
    const auto at = exchanges_.find(frame->hd.stream_id);
    if (at == exchanges_.end() || at->second.begun) return 0;
    Exchange& exchange = at->second;
    exchange.header_bytes += name.size() + value.size() + 32;
    if (exchange.header_bytes > host_.limits.header) {
      exchange.head_too_large = true;
      exchange.request.headers.clear();
      return 0;
    }
    if (name == ":method") {
      exchange.request.method = value;
    } else if (name == ":path") {
      const auto mark = value.find('?');
      exchange.request.path = value.substr(0, mark);
      if (mark != std::string_view::npos) exchange.request.query = value.substr(mark + 1);
    } else if (name == ":authority") {
      exchange.request.headers.emplace_back("host", value);
    } else if (!name.empty() && name.front() != ':') {
      exchange.request.headers.emplace_back(name, value);
    }
    return 0;
  }

  int on_data(std::int32_t id, std::string_view data) {
    // One body that is not read holds up its own stream, and not the connection.
    nghttp2_session_consume_connection(session_.get(), data.size());
    const auto at = exchanges_.find(id);
    if (at != exchanges_.end() && at->second.content) {
      at->second.heard = Steady::now();
      at->second.content->push(data);
      return 0;
    }
    nghttp2_session_consume_stream(session_.get(), id, data.size());
    if (at == exchanges_.end()) return 0;
    Exchange& exchange = at->second;
    if (exchange.begun) return 0;  // the rest of what was refused
    HttpRequest& request = exchange.request;
    const auto size = request.body.size() + data.size();
    const bool too_large = size > host_.limits.body;
    if (!exchange.share) exchange.share = std::make_shared<MemoryReservation>(host_.room);
    if (!too_large && exchange.share->grow_to(size)) {
      request.body.append(data);
      return 0;
    }
    request.body_too_large = too_large;
    request.body.clear();
    request.body.shrink_to_fit();
    exchange.share.reset();
    if (too_large) {
      begin(id, exchange);
    } else {
      exchange.begun = true;
      answer(id, too_many_requests());
    }
    return 0;
  }

  int on_frame(const nghttp2_frame* frame) {
    if (frame->hd.type == NGHTTP2_GOAWAY && host_.told_to_leave) host_.told_to_leave();
    if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0 && leaving_since_ &&
        std::equal(kLeavingPing.begin(), kLeavingPing.end(), frame->ping.opaque_data)) {
      leave();
    }
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    const auto id = frame->hd.stream_id;
    const auto at = exchanges_.find(id);
    if (at == exchanges_.end()) return 0;
    Exchange& exchange = at->second;
    if (exchange.head_too_large && !exchange.begun) {
      exchange.begun = true;
      answer(id, answer_text(431, "the head of the request is larger than " + std::to_string(host_.limits.header) + " bytes\n"));
    }
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
      exchange.whole = true;
      if (exchange.content) std::exchange(exchange.content, nullptr)->finish();
      begin(id, exchange);
    } else if (!exchange.begun && frame->hd.type == NGHTTP2_HEADERS && host_.streams_body &&
               host_.streams_body(exchange.request)) {
      begin_streaming(id, exchange);
    }
    return 0;
  }

  /// An answer that is whole needs no more of the request, and clients that stop sending wait to be told so. Told at once, they
  /// would take the answer for lost.
  int on_sent(const nghttp2_frame* frame) {
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    const auto at = exchanges_.find(frame->hd.stream_id);
    if (at != exchanges_.end() && !at->second.whole) at->second.lingers_until = Steady::now() + kAnsweredLinger;
    return 0;
  }

  void begin_streaming(std::int32_t id, Exchange& exchange) {
    exchange.share = std::make_shared<MemoryReservation>(host_.room);
    if (!exchange.share->grow_to(host_.limits.window)) {
      exchange.begun = true;
      return answer(id, too_many_requests());
    }
    auto pipe = make_body_pipe(host_.limits.window, host_.flush);
    exchange.content = std::move(pipe.writer);
    exchange.heard = Steady::now();
    exchange.request.content = std::move(pipe.reader);
    begin(id, exchange);
  }

  void begin(std::int32_t id, Exchange& exchange) {
    if (exchange.begun) return;
    exchange.begun = true;
    const std::weak_ptr<Http2> self = weak_from_this();
    HttpRequest request = std::move(exchange.request);
    request.share = std::move(exchange.share);
    exchange.request.method = request.method;
    exchange.asks = std::stop_source();
    request.left = exchange.asks.get_token();
    host_.handle(std::move(request), [self, id, post = host_.post](HttpResponse response) {
      auto kept = std::make_shared<HttpResponse>(std::move(response));
      post([self, id, kept] {
        if (const auto here = self.lock()) here->answer(id, std::move(*kept));
      });
    });
  }

  /// Its body, if that is not whole, is cut.
  void on_closed(std::int32_t id, std::uint32_t) {
    if (auto over = exchanges_.extract(id)) over.mapped().asks.request_stop();
  }

  ssize_t on_frame_size(std::uint32_t peer_takes) { return output_.size_of_frame(peer_takes); }

  /// How much of a body is to be sent in the next frame.
  ssize_t on_read(std::int32_t id, std::size_t size, std::uint32_t* flags) {
    output_.frame_chosen();
    const auto at = exchanges_.find(id);
    if (at == exchanges_.end()) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    Exchange& exchange = at->second;
    if (exchange.stream && exchange.sent == exchange.body.size() && !exchange.ended) {
      exchange.body.clear();
      exchange.sent = 0;
      const auto more = exchange.stream->read(exchange.body, 64 * 1024);
      if (more == BodyStream::More::kCut) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // the stream is reset
      exchange.ended = more == BodyStream::More::kEnd;
      if (exchange.body.empty() && !exchange.ended) {
        if (more == BodyStream::More::kYes) exchange.ready->store(true);
        exchange.waiting = true;
        return NGHTTP2_ERR_DEFERRED;
      }
    }
    const auto count = output_.payload(size, exchange.body.size() - exchange.sent);
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (exchange.sent + count == exchange.body.size() && (!exchange.stream || exchange.ended)) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(count);
  }

  /// The frame that on_read() has just been asked about, straight to where it is sent from.
  int on_send(std::int32_t id, const std::uint8_t* head, std::size_t count) {
    const auto at = exchanges_.find(id);
    if (at == exchanges_.end()) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    Exchange& exchange = at->second;
    output_.begin_frame(head).append(exchange.body, exchange.sent, count);
    exchange.sent += count;
    if (count > 0) exchange.since = Steady::now();
    return output_.end_frame();
  }

  ProtocolHost host_;
  std::map<std::int32_t, Exchange> exchanges_;
  std::optional<Steady::time_point> ticked_;  // then streams are asked whether they are due
  Http2Output output_;
  kube::Http2Session session_;
  kube::KeepAlive keep_alive_;
  std::optional<Steady::time_point> leaving_since_;  // until left_
  bool left_ = false;                                // the client knows which was the last request
  bool failed_ = false;
};

}  // namespace

std::shared_ptr<Protocol> make_http2(ProtocolHost host) { return std::make_shared<Http2>(std::move(host)); }

}  // namespace fleetadm::serve
