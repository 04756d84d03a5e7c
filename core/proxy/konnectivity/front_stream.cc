#include "core/proxy/konnectivity/front_stream.h"

#include <random>
#include <utility>

namespace fleetadm::konnectivity {
namespace {

namespace asio = boost::asio;

constexpr auto kGoodbye = std::chrono::seconds(2);  // for the answer to a close

std::int64_t random_number() {
  std::random_device device;
  return static_cast<std::int64_t>((std::uint64_t{device()} << 31U) ^ device()) & 0x7FFFFFFFFFFFFFFF;
}

}  // namespace

FrontStream::FrontStream(serve::ProtocolHost host, asio::any_io_executor executor, const std::string& authority,
                         std::string target, std::chrono::milliseconds patience, Done done)
    : PacketStream(std::move(host), authority, "/ProxyService/Proxy", {}),
      executor_(std::move(executor)),
      done_(std::move(done)),
      target_(std::move(target)),
      deadline_(std::chrono::steady_clock::now() + patience),
      connection_(target_, random_number()) {
  say(connection_.dial());
}

bool FrontStream::tick(std::chrono::steady_clock::time_point now) {
  if (done_ && now >= deadline_) {
    break_off({.category = Category::kTimeout, .message = "the konnectivity server did not connect to " + target_ + " in time"});
    return false;
  }
  return !closing_ || now - *closing_ < kGoodbye;
}

bool FrontStream::is_full() const { return pipe_ && pipe_->held() >= kWindow / 2; }

void FrontStream::has_room() {
  if (pipe_ && !closing_) pipe_->await();
}

void FrontStream::ended(const Error& why) {
  if (const auto pipe = std::exchange(pipe_, nullptr)) pipe->finish();
  if (const auto done = std::exchange(done_, nullptr)) done(fail(why));
}

void FrontStream::take(const Packet& packet) {
  const auto event = connection_.take(packet);
  if (!event) return break_off(event.error());
  switch (*event) {
    case ClientConnection::Event::kNothing: break;
    case ClientConnection::Event::kOpened: opened(); break;
    case ClientConnection::Event::kData:
      if (pipe_) pipe_->write(packet.data);
      break;
    case ClientConnection::Event::kClosed: end(); break;
  }
}

void FrontStream::opened() {
  const std::weak_ptr<FrontStream> weak = weak_from_this();
  proxy::LocalPipe::Events events;
  events.read = [weak](std::string_view bytes) {
    const auto self = weak.lock();
    if (!self || self->over() || self->closing_) return;
    self->say(self->connection_.data(std::string(bytes)));
  };
  events.taken = [weak] {
    const auto self = weak.lock();
    if (!self || self->over()) return;
    self->give_credit();
    self->host().flush();
  };
  events.closed = [weak] {
    if (const auto self = weak.lock()) self->close_connection();
  };
  auto ends = proxy::LocalPipe::make(executor_, std::move(events));
  if (!ends) return break_off(ends.error());
  pipe_ = ends->pipe;
  pipe_->await();
  // Not from within nghttp2: whoever gets it may do anything.
  host().post([self = shared_from_this(), other = std::make_shared<asio::ip::tcp::socket>(std::move(ends->other))] {
    if (const auto done = std::exchange(self->done_, nullptr)) done(std::move(*other));
  });
}

void FrontStream::close_connection() {
  if (over() || closing_) return;
  closing_ = std::chrono::steady_clock::now();
  say(connection_.close());
}

}  // namespace fleetadm::konnectivity
