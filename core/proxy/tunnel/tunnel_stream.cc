#include "core/proxy/tunnel/tunnel_stream.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "core/proxy/hop/error_answer.h"
#include "core/proxy/hop/headers.h"
#include "core/serve/http/body_pipe.h"

namespace fleetadm::proxy {
namespace {

constexpr std::string_view kUpgrade = "fleetadm-upgrade";
constexpr std::string_view kSwitched = "fleetadm-switched";
constexpr int kMostHeads = 10;                          // of one answer: interim ones and trailers
constexpr std::size_t kPiece = std::size_t{64} * 1024;  // that is read of a body at once
constexpr std::size_t kHeaderOverhead = 32;             // of a field, as HTTP/2 counts it

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 20 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

TunnelStream::TunnelStream(serve::HttpRequest request, Hop::Done done, SteadyTime now)
    : request_(std::move(request)), done_(std::move(done)), upgrade_(is_upgrade(request_.headers)), moved_(now) {}

serve::Headers TunnelStream::head() const {
  serve::Headers headers = request_.headers;
  const std::string wanted(request_.header("upgrade"));
  const std::string length(request_.header("content-length"));
  drop_hop_headers(headers);
  std::erase_if(headers, [](const auto& header) { return header.first == "host" || header.first == kUpgrade; });
  const std::string host(request_.header("host"));
  serve::Headers out = {{":method", request_.method},
                        {":scheme", "https"},
                        {":authority", host.empty() ? "member" : host},
                        {":path", request_.query.empty() ? request_.path : request_.path + "?" + request_.query}};
  out.insert(out.end(), std::make_move_iterator(headers.begin()), std::make_move_iterator(headers.end()));
  if (upgrade_) {
    out.emplace_back(kUpgrade, wanted);
  } else if (request_.content) {
    if (is_number(length)) out.emplace_back("content-length", length);
  } else if (!request_.body.empty()) {
    out.emplace_back("content-length", std::to_string(request_.body.size()));
  }
  return out;
}

TunnelStream::Give TunnelStream::refill(std::size_t most) {
  outgoing_.clear();
  given_ = 0;
  if (switched_) return Give::kLater;
  if (!request_.body.empty()) {
    taken_ = true;
    outgoing_ = std::exchange(request_.body, {});
    end_ = true;
    return Give::kMore;
  }
  // An upgraded stream is open until it is known whether there will be anything to send on it.
  if (!request_.content) return upgrade_ && !answered_ ? Give::kLater : Give::kEnd;
  taken_ = true;
  switch (request_.content->read(outgoing_, std::max(most, kPiece))) {
    case serve::BodyStream::More::kYes: return Give::kMore;
    case serve::BodyStream::More::kLater: return Give::kLater;
    case serve::BodyStream::More::kCut: return Give::kCut;
    case serve::BodyStream::More::kEnd: break;
  }
  end_ = true;
  return Give::kEnd;
}

TunnelStream::Give TunnelStream::next(std::size_t most, std::size_t& count) {
  count = 0;
  if (unsent() == 0) {
    const Give came = end_ ? Give::kEnd : refill(most);
    if (unsent() == 0) {
      if (came == Give::kEnd || came == Give::kCut) return came;
      deferred_ = true;
      return Give::kLater;
    }
  }
  count = std::min(most, unsent());
  return end_ && count == unsent() ? Give::kEnd : Give::kMore;
}

void TunnelStream::give(std::string& into, std::size_t count, SteadyTime now) {
  if (count == 0) return;
  into.append(outgoing_, given_, count);
  given_ += count;
  moved_ = now;
  if (unsent() > 0) return;
  outgoing_ = {};
  given_ = 0;
}

void TunnelStream::send(std::string_view bytes) {
  if (given_ >= kPiece) outgoing_.erase(0, std::exchange(given_, 0));
  outgoing_ += bytes;
}

bool TunnelStream::is_late(SteadyTime now, std::chrono::milliseconds patience) const {
  const bool waits_for_client = deferred_ && !upgrade_;
  return !answered_ && !waits_for_client && now - moved_ > patience;
}

bool TunnelStream::take_header(std::string_view name, std::string_view value, std::size_t most) {
  head_bytes_ += name.size() + value.size() + kHeaderOverhead;
  if (head_bytes_ > most) return false;
  if (answered_) return true;  // trailers
  if (name == ":status") {
    std::from_chars(value.data(), value.data() + value.size(), status_);
  } else if (!name.empty() && name.front() != ':') {
    headers_.emplace_back(name, value);
  }
  return true;
}

TunnelStream::Head TunnelStream::end_head() {
  if (++heads_ > kMostHeads) return Head::kBad;
  if (answered_) return Head::kTrailers;
  if (status_ >= 200 && status_ <= 599) return Head::kFinal;
  if (status_ < 100 || status_ == 101 || status_ > 599) return Head::kBad;
  status_ = 0;
  headers_.clear();
  return Head::kInterim;
}

serve::HttpResponse TunnelStream::answer(std::shared_ptr<TunnelBody> body) {
  answered_ = true;
  serve::HttpResponse out;
  out.status = status_;
  const auto to = std::ranges::find(headers_, kSwitched, &std::pair<std::string, std::string>::first);
  switched_ = upgrade_ && status_ == 200 && to != headers_.end() && !to->second.empty();
  const std::string protocol = switched_ ? to->second : std::string();
  out.headers = std::exchange(headers_, {});
  drop_hop_headers(out.headers);
  std::erase_if(out.headers,
                [](const auto& header) { return header.first.starts_with("fleetadm-") && header.first != kHopHeader; });
  body_ = body;
  if (switched_) {
    out.status = 101;
    out.headers.emplace_back("connection", "Upgrade");
    out.headers.emplace_back("upgrade", protocol);
    out.upgrade = body;
  }
  out.stream = std::move(body);
  return out;
}

}  // namespace fleetadm::proxy
