#include "kubeclient/transport/http2_stream.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "kubeclient/transport/http2_connection.h"
#include "kubeclient/transport/http2_pool.h"

namespace fleetadm::kube {
namespace {

constexpr int kMostRepeats = 3;

CurlFailure failed(CURLcode code, std::string detail) {
  CurlFailure failure;
  failure.code = code;
  failure.detail = std::move(detail);
  failure.connected = true;
  return failure;
}

}  // namespace

Http2Stream::Http2Stream(std::shared_ptr<Http2Pool> pool, const Outgoing& request, WireEvents& events)
    : pool_(std::move(pool)), request_(request), events_(events) {
  if (request_.deadline == std::chrono::steady_clock::time_point::max()) return;
  timer_ = pool_->loop().after(request_.deadline - std::chrono::steady_clock::now(), [this] {
    timer_ = 0;
    CurlFailure late = failed(CURLE_OPERATION_TIMEDOUT, {});
    late.connected = connection_ != nullptr;
    if (connection_ != nullptr && status_ == 0) connection_->ask_for_life();
    end(std::move(late));
  });
}

Http2Stream::~Http2Stream() {
  if (timer_ != 0) pool_->loop().cancel(timer_);
  if (connection_ != nullptr) {
    connection_->leave(*this);
  } else {
    pool_->forget(*this);
  }
}

void Http2Stream::on_connection(Http2Connection* connection, std::int32_t id) {
  connection_ = connection;
  id_ = id;
  sent_ = false;
  body_sent_ = 0;
}

bool Http2Stream::next_body(std::span<char> into, std::size_t& count) {
  const std::string_view rest = std::string_view(*request_.body).substr(body_sent_);
  count = std::min(rest.size(), into.size());
  std::copy_n(rest.data(), count, into.data());
  body_sent_ += count;
  return count == rest.size();
}

bool Http2Stream::take_field(std::string_view name, std::string_view value) {
  if (answered_) return true;  // trailers
  if (name == ":status") {
    const auto [end, wrong] = std::from_chars(value.data(), value.data() + value.size(), status_);
    return wrong == std::errc() && end == value.data() + value.size();
  }
  if (headers_.add(std::string(name), value)) return true;
  failure_ = failed(CURLE_WRITE_ERROR, "the head of its answer is too long");
  return false;
}

bool Http2Stream::end_head(bool last) {
  if (answered_) return true;
  if (status_ < 200) {  // an interim answer
    headers_.clear();
    status_ = 0;
    return !last;
  }
  answered_ = true;
  auto headers = headers_.take();
  const auto encoding = headers.find("content-encoding");
  if (encoding != headers.end() && encoding->second == "gzip" && request_.method != Method::kHead)
    gunzip_ = std::make_unique<Gunzip>();
  if (events_.take_head(status_, std::move(headers))) return true;
  failure_ = failed(CURLE_WRITE_ERROR, "no more of the answer is wanted");
  return false;
}

bool Http2Stream::deliver(std::string_view data) {
  if (events_.take_body(data)) return true;
  failure_ = failed(CURLE_WRITE_ERROR, "no more of the answer is wanted");
  return false;
}

bool Http2Stream::take_data(std::string_view data) {
  if (failure_) return true;  // it is being reset
  if (!gunzip_) return deliver(data);
  const auto state = gunzip_->feed(data, [this](std::string_view piece) { return deliver(piece); });
  if (state == Gunzip::State::kBroken) failure_ = failed(CURLE_BAD_CONTENT_ENCODING, "its answer is not gzip");
  return state == Gunzip::State::kGoesOn;
}

void Http2Stream::end(std::optional<CurlFailure> failure) {
  if (failure_) failure = std::exchange(failure_, std::nullopt);
  if (!failure && !answered_) failure = failed(CURLE_HTTP2_STREAM, "its answer has no head");
  if (!failure && (!whole_ || (gunzip_ && !gunzip_->ended()))) failure = failed(CURLE_PARTIAL_FILE, "its answer is cut");
  events_.take_end(failure);
}

bool Http2Stream::may_repeat(bool unprocessed, bool reused) {
  connection_ = nullptr;
  if (status_ != 0 || failure_ || repeats_ == kMostRepeats) return false;
  const bool harmless =
      !sent_ || unprocessed || (reused && (request_.method == Method::kGet || request_.method == Method::kHead));
  if (harmless) ++repeats_;
  return harmless;
}

}  // namespace fleetadm::kube
