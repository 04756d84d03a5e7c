#include "kubeclient/stream/forward_stream.h"

#include <algorithm>

#include "kubeclient/stream/channels.h"

namespace fleetadm::kube {
namespace {

constexpr std::size_t kMaxUnsent = std::size_t{256} * 1024;
constexpr std::size_t kMaxWhy = std::size_t{4} * 1024;
constexpr std::size_t kMaxConnections = SpdyConnection::kMaxStreams / 2;

}  // namespace

ForwardStream::ForwardStream(OpenedStream stream, bool tunnelled, std::string cluster)
    : connection_(std::move(stream.connection)),
      wire_(tunnelled ? make_websocket_wire(StreamRole::kClient) : make_plain_wire()),
      cluster_(std::move(cluster)) {}

Result<std::unique_ptr<ForwardStream>> ForwardStream::open(const RestConfig& config, const Request& request) {
  auto stream = open_websocket(config, request, {kTunnelledForwarding});
  const bool tunnelled = stream.has_value();
  // A server that does not know the tunnel says so in several ways; one that is not to be asked says it again.
  const bool other_way = !tunnelled && stream.error().code >= 400 && stream.error().code != 401 && stream.error().code != 404;
  if (other_way) stream = open_spdy(config, request, kForwarding);
  if (!stream) return fail(stream.error());
  return std::unique_ptr<ForwardStream>(new ForwardStream(std::move(*stream), tunnelled, config.name));
}

Status ForwardStream::push(Duration patience) {
  wire_->send(spdy_.output());
  std::string& output = wire_->output();
  if (output.empty() && !connection_->unsent()) return {};
  FLEETADM_TRY(const std::size_t taken, connection_->send(output, patience));
  output.erase(0, taken);
  return {};
}

Result<ForwardStream::Id> ForwardStream::connect(int port) {
  if (port <= 0 || port > 0xffff) return fail(Category::kUsage, std::to_string(port) + " is no port");
  if (gone_ || pairs_.size() >= kMaxConnections)
    return fail(fail(Category::kUnavailable, gone_ ? "the port-forward is over" : "too many connections of one port-forward")
                    .value()
                    .with_cluster(cluster_));
  const std::string request = std::to_string(requests_++);
  const auto headers = [&](const char* type) {
    return SpdyHeaders{{"streamtype", type}, {"port", std::to_string(port)}, {"requestid", request}};
  };
  const auto errors = spdy_.open(headers("error"));
  const auto data = errors == 0 ? 0 : spdy_.open(headers("data"));
  if (data == 0) return fail(fail(Category::kUnavailable, "the port-forward has no streams left").value().with_cluster(cluster_));
  spdy_.end(errors);  // a client says nothing on it
  pairs_[data].errors = errors;
  FLEETADM_CHECK(push(Duration::zero()));
  return data;
}

Result<std::size_t> ForwardStream::send(Id id, std::string_view bytes, Duration patience) {
  if (!pairs_.contains(id))
    return fail(fail(Category::kUnavailable, "the forwarded connection is over").value().with_cluster(cluster_));
  FLEETADM_CHECK(push(patience));
  if (wire_->output().size() >= kMaxUnsent) return 0U;
  const auto taken = bytes.substr(0, kMaxUnsent);
  spdy_.send(id, taken);
  FLEETADM_CHECK(push(Duration::zero()));
  return taken.size();
}

Status ForwardStream::end(Id id) {
  if (const auto at = pairs_.find(id); at != pairs_.end()) {
    spdy_.end(id);
    at->second.ended_here = true;
    forget_if_over(at);
  }
  return push(Duration::zero());
}

Status ForwardStream::abandon(Id id) {
  const auto at = pairs_.find(id);
  if (at == pairs_.end()) return {};
  spdy_.cancel(id);
  spdy_.cancel(at->second.errors);
  pairs_.erase(at);
  std::erase_if(events_, [id](const Event& event) { return event.id == id; });
  return push(Duration::zero());
}

std::map<ForwardStream::Id, ForwardStream::Pair>::iterator ForwardStream::of_errors(SpdyStreamId stream) {
  return std::find_if(pairs_.begin(), pairs_.end(), [stream](const auto& one) { return one.second.errors == stream; });
}

void ForwardStream::on_data(SpdyStreamId stream, std::string_view bytes) {
  if (pairs_.contains(stream)) {
    events_.push_back({Event::Kind::kData, stream, std::string(bytes)});
  } else if (const auto at = of_errors(stream); at != pairs_.end() && at->second.why.size() < kMaxWhy) {
    at->second.why += bytes.substr(0, kMaxWhy - at->second.why.size());
  }
}

void ForwardStream::on_end(SpdyStreamId stream) {
  auto at = pairs_.find(stream);
  if (at != pairs_.end()) {
    at->second.data_ended = true;
    events_.push_back({Event::Kind::kEnd, stream, {}});
    return forget_if_over(at);
  }
  at = of_errors(stream);
  if (at == pairs_.end()) return;
  at->second.errors_ended = true;
  if (at->second.why.empty()) return forget_if_over(at);
  events_.push_back({Event::Kind::kFailed, at->first, std::move(at->second.why)});
  spdy_.cancel(at->first);
  pairs_.erase(at);
}

void ForwardStream::forget_if_over(std::map<Id, Pair>::iterator at) {
  const Pair& pair = at->second;
  if (pair.ended_here && pair.data_ended && pair.errors_ended) pairs_.erase(at);
}

void ForwardStream::on_reset(SpdyStreamId stream) {
  auto at = pairs_.find(stream);
  if (at == pairs_.end()) at = of_errors(stream);
  if (at == pairs_.end()) return;
  const Id id = at->first;
  events_.push_back({Event::Kind::kFailed, id, at->second.why.empty() ? "the server has reset the connection" : at->second.why});
  spdy_.cancel(id == stream ? at->second.errors : id);
  pairs_.erase(at);
}

Status ForwardStream::pull(Duration patience) {
  const auto received = connection_->receive(input_, patience);
  if (received && !*received) return {};
  const bool more =
      received && wire_->feed(std::exchange(input_, {}), [this](std::string_view bytes) { return spdy_.feed(bytes, *this); });
  static_cast<void>(push(Duration::zero()));  // answers to pings, and the last words
  if (more) return {};
  gone_ = true;
  pairs_.clear();
  if (!events_.empty()) return {};
  return fail(received ? fail(Category::kUnavailable, "the server has ended the port-forward").value().with_cluster(cluster_)
                       : received.error());
}

Result<std::optional<ForwardStream::Event>> ForwardStream::next(Duration patience) {
  const auto deadline = std::chrono::steady_clock::now() + std::min<Duration>(patience, std::chrono::hours(24));
  while (events_.empty()) {
    if (gone_) return fail(fail(Category::kUnavailable, "the port-forward is over").value().with_cluster(cluster_));
    const auto left = std::chrono::duration_cast<Duration>(deadline - std::chrono::steady_clock::now());
    FLEETADM_CHECK(push(Duration::zero()));
    const bool waiting = !wire_->output().empty() || connection_->unsent();
    const Duration most = waiting ? std::chrono::milliseconds(20) : std::chrono::hours(24);
    FLEETADM_CHECK(pull(std::clamp<Duration>(left, Duration::zero(), most)));
    if (left <= Duration::zero()) break;
  }
  if (events_.empty()) return std::nullopt;
  Event event = std::move(events_.front());
  events_.pop_front();
  return event;
}

}  // namespace fleetadm::kube
