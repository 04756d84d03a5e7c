#include "core/proxy/konnectivity/agent_line.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace fleetadm::konnectivity {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kPiece = std::size_t{64} * 1024;
constexpr std::size_t kMostWaiting = std::size_t{256} * 1024;  // to be sent: then nothing more is read of those who write

}  // namespace

AgentLine::~AgentLine() { end(); }

void AgentLine::dial(const std::string& target, std::chrono::milliseconds patience, Done done) {
  const std::int64_t random = ++last_;
  const auto dialed = std::make_shared<Dialed>(ClientConnection(target, random));
  dialed->done = std::move(done);
  dialed->deadline = std::make_shared<asio::steady_timer>(executor_, patience);
  dialed->deadline->async_wait([weak = weak_from_this(), random, target](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (error || !self) return;
    auto node = self->dialing_.extract(random);
    if (node.empty()) return;
    self->say(node.mapped()->connection.close());
    self->finish(node.mapped(), fail(Category::kTimeout, "the agent did not connect to " + target + " in time"));
  });
  dialing_.emplace(random, dialed);
  say(dialed->connection.dial());
}

void AgentLine::cut() {
  end();
  if (wake_) wake_();
}

AgentLine::More AgentLine::read(std::string& into, std::size_t most) {
  if (over_) return More::kCut;
  std::string came;
  const More more = content_->read(came, kPiece);
  frames_.feed(came);
  while (!over_) {
    const auto message = frames_.next();
    if (message && !*message) break;
    const auto packet = message ? decode_packet(**message) : Result<Packet>(fail(message.error()));
    if (!packet) {
      end();
      break;
    }
    take(*packet);
  }
  if (more == More::kEnd || more == More::kCut) end();
  if (over_) return More::kCut;
  const std::size_t size = std::min(most, outgoing_.size());
  into.append(outgoing_, 0, size);
  outgoing_.erase(0, size);
  if (outgoing_.size() < kMostWaiting) {
    for (const auto& [number, dialed] : open_) dialed->pipe->await();
  }
  return size > 0 || !came.empty() ? More::kYes : More::kLater;
}

void AgentLine::on_ready(std::function<void()> wake) {
  wake_ = wake;
  content_->on_ready(std::move(wake));
}

void AgentLine::take(const Packet& packet) {
  if (packet.type == PacketType::kDrain) draining_ = true;
  if (packet.type == PacketType::kDialResponse) return answered(packet);
  if (packet.type != PacketType::kData && packet.type != PacketType::kCloseRequest && packet.type != PacketType::kCloseResponse)
    return;
  const auto at = open_.find(packet.connection);
  if (at == open_.end()) return;  // it was on its way, or is made up
  const DialedPtr dialed = at->second;
  const auto event = dialed->connection.take(packet);
  if (event && *event == ClientConnection::Event::kData) {
    if (dialed->pipe->held() + packet.data.size() > kMostHeld) return close(packet.connection);
    return dialed->pipe->write(packet.data);
  }
  open_.erase(at);
  dialed->pipe->finish();
}

void AgentLine::answered(const Packet& packet) {
  auto node = dialing_.extract(packet.random);
  if (node.empty()) {  // it was given up meanwhile
    if (packet.error.empty() && !open_.contains(packet.connection))
      say({.type = PacketType::kCloseRequest, .connection = packet.connection});
    return;
  }
  const DialedPtr dialed = node.mapped();
  dialed->deadline->cancel();
  const auto event = dialed->connection.take(packet);
  if (!event) return finish(dialed, fail(event.error()));
  if (open_.contains(packet.connection)) {
    finish(dialed, fail(Category::kInvalid, "the agent gave two connections the same number"));
    return end();
  }
  open(packet.connection, dialed);
}

void AgentLine::open(std::int64_t number, const DialedPtr& dialed) {
  const std::weak_ptr<AgentLine> weak = weak_from_this();
  proxy::LocalPipe::Events events;
  events.read = [weak, number](std::string_view bytes) {
    const auto self = weak.lock();
    if (!self || self->over_) return;
    const auto at = self->open_.find(number);
    if (at != self->open_.end()) self->say(at->second->connection.data(std::string(bytes)));
  };
  events.closed = [weak, number] {
    if (const auto self = weak.lock()) self->close(number);
  };
  auto ends = proxy::LocalPipe::make(executor_, std::move(events));
  if (!ends) {
    say(dialed->connection.close());
    return finish(dialed, fail(ends.error()));
  }
  dialed->pipe = ends->pipe;
  dialed->pipe->await();
  open_.emplace(number, dialed);
  finish(dialed, std::move(ends->other));
}

void AgentLine::close(std::int64_t number) {
  auto node = open_.extract(number);
  if (node.empty() || over_) return;
  node.mapped()->pipe->finish();
  say(node.mapped()->connection.close());
}

void AgentLine::say(const Packet& packet) {
  if (over_) return;
  append_grpc_frame(outgoing_, encode_packet(packet));
  if (wake_) wake_();
}

void AgentLine::finish(const DialedPtr& dialed, Result<asio::ip::tcp::socket> outcome) {
  auto done = std::exchange(dialed->done, nullptr);
  if (!done) return;
  asio::post(executor_, [done = std::move(done), kept = std::make_shared<Result<asio::ip::tcp::socket>>(std::move(outcome))] {
    done(std::move(*kept));
  });
}

void AgentLine::end() {
  if (std::exchange(over_, true)) return;
  for (const auto& [random, dialed] : std::exchange(dialing_, {})) {
    dialed->deadline->cancel();
    finish(dialed, fail(Category::kUnavailable, "the agent's tunnel broke"));
  }
  for (const auto& [number, dialed] : std::exchange(open_, {})) dialed->pipe->finish();
}

}  // namespace fleetadm::konnectivity
