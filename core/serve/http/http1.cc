// HTTP/1.1: Beast's parser on the way in; what goes out is simple enough to write by hand.
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/parser.hpp>
#include <optional>
#include <stop_token>

#include "core/serve/http/body_pipe.h"
#include "core/serve/http/http1_head.h"
#include "core/serve/http/protocol.h"

namespace fleetadm::serve {
namespace {

namespace http = boost::beast::http;
using Steady = std::chrono::steady_clock;

/// Beast's string_body, without room for as many bytes as the client says that it will send.
struct GrowingBody {
  using value_type = std::string;
  class reader {
   public:
    template <bool kRequest, class Fields>
    reader(http::header<kRequest, Fields>&, value_type& body) : body_(body) {}
    void init(const boost::optional<std::uint64_t>&, boost::beast::error_code& error) { error = {}; }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, boost::beast::error_code& error) {
      const auto before = body_.size();
      for (const boost::asio::const_buffer piece : boost::beast::buffers_range_ref(buffers))
        body_.append(static_cast<const char*>(piece.data()), piece.size());
      error = {};
      return body_.size() - before;
    }
    void finish(boost::beast::error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};

/// What is neither header nor body (chunk sizes, extensions, trailers): a client that sends its body byte by byte needs five
/// bytes of it for each.
constexpr std::size_t kFramingPerByte = 16;
constexpr auto kLinger = std::chrono::seconds(2);

class Http1 final : public Protocol, public std::enable_shared_from_this<Http1> {
 public:
  explicit Http1(ProtocolHost host) : host_(std::move(host)) { restart(); }
  ~Http1() override {
    if (content_) content_->cut();
  }
  Http1(const Http1&) = delete;
  Http1& operator=(const Http1&) = delete;

  bool feed(std::string_view bytes) override {
    if (finished_ && !lingers_until_) return false;
    if (upgrade_) return upgrade_->take(bytes);
    if (draining_) return true;
    input_.append(bytes);
    // A client that sends on while it is being answered is pipelining; a little of that is kept.
    if (busy_ && !content_) return input_.size() <= host_.limits.header;
    return parse();
  }

  bool wants_input() const override {
    if (upgrade_) return upgrade_->takes();
    return !content_ || content_->has_room();
  }

  void output(std::string& into, std::size_t most) override {
    if (content_ && content_->has_room() && Steady::now() - moved_ > host_.limits.idle) give_up_content();
    if (into.empty() && output_.size() > into.capacity()) {
      into = std::exchange(output_, {});
    } else {
      into.append(std::exchange(output_, {}));
    }
    if (upgrade_) return upgraded_output(into, most);
    if (!stream_) return;
    while (into.size() < most) {
      std::string piece;
      const auto more = stream_->read(piece, most - into.size());
      if (!piece.empty()) chunk(into, piece);
      if (more == BodyStream::More::kYes && !piece.empty()) continue;
      if (more == BodyStream::More::kEnd) {
        into += "0\r\n\r\n";
        end_of_answer();
      } else if (more == BodyStream::More::kCut) {
        stream_.reset();
        busy_ = false;
        finished_ = true;
      }
      return;
    }
  }

  bool finished() const override {
    return finished_ && !stream_ && output_.empty() && !busy_ && (!lingers_until_ || Steady::now() >= *lingers_until_);
  }
  bool busy() const override { return busy_; }
  bool receiving() const override { return !busy_ && (begun_ || !input_.empty()); }
  void gone() override { asks_.request_stop(); }
  void drain() override {
    leaving_ = true;
    keep_alive_ = false;
    if (!busy_ && !receiving()) finished_ = true;
  }

  void answer(HttpResponse response) {
    if (!busy_) return;
    asks_ = std::stop_source(std::nostopstate);
    std::string head = "HTTP/1.1 " + std::to_string(response.status) + " " + std::string(status_text(response.status)) + "\r\n";
    for (const auto& [name, value] : response.headers) head += name + ": " + value + "\r\n";
    if (response.upgrade) return upgrade(std::move(response), head);
    if (content_ && !response.stream) keep_alive_ = false;  // the rest of the body is not wanted
    if (!keep_alive_) head += "connection: close\r\n";
    if (response.stream) {
      output_ += head + "transfer-encoding: chunked\r\n\r\n";
      stream_ = std::move(response.stream);
      stream_->on_ready(host_.flush);
    } else {
      if (response.status != 304) head += "content-length: " + std::to_string(response.body.size()) + "\r\n";
      output_ += head + "\r\n";
      if (!head_only_ && response.status != 304) output_ += response.body;
      end_of_answer();
    }
    host_.flush();
  }

 private:
  void restart() {
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(host_.limits.header));
    // First the head alone: what it says decides about the body.
    parser_->body_limit(boost::none);
    parser_->eager(false);
    streamed_ = 0;
    share_ = std::make_shared<MemoryReservation>(host_.room);
    taken_ = 0;
    begun_ = false;
    judged_ = false;
    continued_ = false;
  }

  bool parse() {
    while (!input_.empty() && (!busy_ || content_)) {
      if (!judged_ && is_folded(input_)) return refuse({400, "a header of the request goes on in the next line"});
      boost::beast::error_code error;
      const auto used = parser_->put(boost::asio::const_buffer(input_.data(), input_.size()), error);
      input_.erase(0, used);
      taken_ += used;
      begun_ = true;
      if (!judged_ && parser_->is_header_done()) {
        judged_ = true;
        if (auto found = ambiguous(parser_->get())) return refuse(*found);
        parser_->eager(true);
        if (!parser_->is_done() && wants_stream()) {
          if (!share_->grow_to(host_.limits.window)) return refuse_for_now();
          begin_streaming();
        } else {
          parser_->body_limit(host_.limits.body);
          if (parser_->content_length().value_or(0) > host_.limits.body) return refuse_body();
        }
      }
      if (error == http::error::body_limit) return refuse_body();
      if (content_) pass_on();
      const auto body = streamed_ + parser_->get().body().size();
      if (!content_ && !share_->grow_to(body)) return refuse_for_now();
      if (error && error != http::error::need_more) return refuse(refusal_of(error, host_.limits.header));
      // The parser counts the header and the body. It takes a chunk's extensions and the trailers only as a whole, and counts
      // neither.
      const bool endless = input_.size() > host_.limits.header && !parser_->is_done();
      if (endless || taken_ > body * kFramingPerByte + 2 * host_.limits.header)
        return refuse({400, "the extensions of a chunk, or the trailers, are too large"});
      if (parser_->is_header_done() && !continued_ && !parser_->is_done() && parser_->get().count(http::field::expect) > 0) {
        continued_ = true;
        output_ += "HTTP/1.1 100 Continue\r\n\r\n";
      }
      if (parser_->is_done()) {
        if (content_) {
          std::exchange(content_, nullptr)->finish();
          restart();
          break;
        }
        begin(false);
      } else if (error == http::error::need_more || used == 0) {
        break;
      }
    }
    return true;
  }

  bool wants_stream() const { return host_.streams_body && host_.streams_body(request_of(parser_->get(), host_.peer)); }

  void begin_streaming() {
    auto pipe = make_body_pipe(host_.limits.window, host_.flush);
    content_ = std::move(pipe.writer);
    moved_ = Steady::now();
    HttpRequest request = request_of(parser_->get(), host_.peer);
    request.content = std::move(pipe.reader);
    request.share = std::move(share_);
    hand_over(std::move(request));
  }

  void pass_on() {
    std::string& body = parser_->get().body();
    if (body.empty()) return;
    streamed_ += body.size();
    moved_ = Steady::now();
    content_->push(body);
    body.clear();
  }

  /// The client broke the protocol in the middle of a body, or stopped.
  void give_up_content() {
    std::exchange(content_, nullptr)->cut();
    input_.clear();
    draining_ = true;
    keep_alive_ = false;
  }

  bool refuse(const Refusal& refusal) {
    if (content_) {  // the answer is the handler's to give; the connection ends after it
      give_up_content();
      return true;
    }
    input_.clear();
    output_ += "HTTP/1.1 " + std::to_string(refusal.status) + " " + std::string(status_text(refusal.status)) +
               "\r\nconnection: close\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: " +
               std::to_string(refusal.why.size() + 1) + "\r\n\r\n" + refusal.why + "\n";
    finished_ = true;
    return false;
  }

  bool refuse_body() {
    // What follows on this connection is the rest of the body: it is dropped, and the connection ends after the answer.
    input_.clear();
    draining_ = true;
    begin(true);
    keep_alive_ = false;
    return true;
  }

  bool refuse_for_now() {
    input_.clear();
    restart();
    draining_ = true;
    busy_ = true;
    keep_alive_ = false;
    answer(too_many_requests());
    return true;
  }

  void begin(bool too_large) {
    HttpRequest request = request_of(parser_->get(), host_.peer);
    request.body_too_large = too_large;
    if (!too_large) request.body = std::move(parser_->get().body());
    request.share = std::move(share_);
    hand_over(std::move(request));
    restart();
  }

  void hand_over(HttpRequest request) {
    keep_alive_ = !leaving_ && keeps_connection(parser_->get());
    head_only_ = request.method == "HEAD";
    busy_ = true;
    asks_ = std::stop_source();
    request.left = asks_.get_token();
    const std::weak_ptr<Http1> self = weak_from_this();
    host_.handle(std::move(request), [self, post = host_.post](HttpResponse response) {
      auto kept = std::make_shared<HttpResponse>(std::move(response));
      post([self, kept] {
        if (const auto here = self.lock()) here->answer(std::move(*kept));
      });
    });
  }

  void upgrade(HttpResponse response, const std::string& head) {
    output_ += head + "\r\n";
    upgrade_ = std::move(response.upgrade);
    stream_ = response.stream ? std::move(response.stream) : upgrade_;
    stream_->on_ready(host_.flush);
    upgrade_->begin(host_.watch);
    // It says itself that it is over, where these bytes end it.
    if (const auto early = std::exchange(input_, {}); !early.empty()) static_cast<void>(upgrade_->take(early));
    host_.flush();
  }

  void upgraded_output(std::string& into, std::size_t most) {
    while (into.size() < most) {
      const auto before = into.size();
      const auto more = stream_->read(into, most - into.size());
      if (more == BodyStream::More::kYes && into.size() > before) continue;
      if (more == BodyStream::More::kEnd || more == BodyStream::More::kCut) {
        stream_.reset();
        upgrade_.reset();
        busy_ = false;
        finished_ = true;
      }
      return;
    }
  }

  void end_of_answer() {
    stream_.reset();
    busy_ = false;
    if (content_) {  // it was not read to its end: closed at once, the answer could be lost with what the client still sends
      give_up_content();
      lingers_until_ = Steady::now() + kLinger;
    }
    if (!keep_alive_) {
      finished_ = true;
      return;
    }
    if (input_.empty()) return;
    const std::weak_ptr<Http1> self = weak_from_this();
    host_.post([self] {
      const auto here = self.lock();
      if (!here || here->busy_) return;
      here->parse();
      here->host_.flush();
    });
  }

  static void chunk(std::string& into, const std::string& piece) {
    static constexpr char kHex[] = "0123456789abcdef";
    std::string size;
    for (auto left = piece.size(); left > 0; left /= 16) size.insert(size.begin(), kHex[left % 16]);
    into.reserve(into.size() + size.size() + piece.size() + 4);  // not more: most connections are sent little
    into.append(size).append("\r\n").append(piece).append("\r\n");
  }

  ProtocolHost host_;
  std::optional<http::request_parser<GrowingBody>> parser_;
  std::shared_ptr<BodyWriter> content_;      // while the body of the request that is being answered comes
  std::size_t streamed_ = 0;                 // bytes of it
  std::stop_source asks_{std::nostopstate};  // whoever waits for the head of an answer
  std::optional<Steady::time_point> lingers_until_;
  Steady::time_point moved_;  // when the last of them came
  std::shared_ptr<MemoryReservation> share_;
  std::string input_;
  std::string output_;
  std::shared_ptr<BodyStream> stream_;
  std::shared_ptr<UpgradedStream> upgrade_;  // then the connection is no longer HTTP's
  std::size_t taken_ = 0;                    // bytes of this request that were parsed
  bool begun_ = false;
  bool judged_ = false;
  bool continued_ = false;
  bool busy_ = false;
  bool keep_alive_ = true;
  bool head_only_ = false;
  bool finished_ = false;
  bool draining_ = false;  // of the body that is not wanted
  bool leaving_ = false;   // this request is the last
};

}  // namespace

std::shared_ptr<Protocol> make_http1(ProtocolHost host) { return std::make_shared<Http1>(std::move(host)); }

}  // namespace fleetadm::serve
