#include "core/serve/http/connection.h"

#include <array>
#include <boost/asio/post.hpp>
#include <utility>

#include "core/serve/http/descriptor_watch.h"
#include "core/serve/http/spare_bytes.h"

namespace fleetadm::serve {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

constexpr std::size_t kLittle = 8 * 1024;  // that waits for the socket, and is worth no such room
constexpr int kReadsAtOnce = 4;            // of 16 KiB, as much as is written at once; then other connections get the thread

/// Of the other end; unspecified where it is gone already.
asio::ip::address address_of(const tcp::socket& socket) {
  boost::system::error_code error;
  const auto address = socket.remote_endpoint(error).address();
  if (error) return {};
  if (address.is_v6() && address.to_v6().is_v4_mapped()) return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  return address;
}

}  // namespace

Connection::Connection(tcp::socket socket, std::unique_ptr<SocketStream> stream, HttpLimits limits,
                       std::shared_ptr<MemoryBudget> room)
    : socket_(std::move(socket)),
      stream_(std::move(stream)),
      limits_(limits),
      room_(std::move(room)),
      since_(std::chrono::steady_clock::now()),
      last_request_(since_) {}

void Connection::start(MakeProtocol make_protocol, std::function<void(const std::shared_ptr<Connection>&)> gone) {
  make_protocol_ = std::move(make_protocol);
  gone_ = std::move(gone);
  boost::system::error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  shake_hands();
}

void Connection::tick(SteadyTime now) {
  if (closed_ || frozen_) return;
  const auto quiet = now - since_;
  if (!protocol_) {
    if (quiet > limits_.handshake) close();
    return;
  }
  if (writing_ && now - write_began_ > limits_.stuck) return close();
  if (!protocol_->tick(now)) return close();
  if (!protocol_->busy()) {
    if (quiet > (protocol_->receiving() ? limits_.request : limits_.idle)) close();
    return;
  }
  since_ = now;
  flush();
}

void Connection::drain() {
  if (closed_ || frozen_) return;
  if (!protocol_) return close();
  protocol_->drain();
  flush();
}

void Connection::reset() {
  boost::system::error_code ignored;
  if (!closed_) socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  close();
}

void Connection::close() {
  if (closed_) return;
  closed_ = true;
  boost::system::error_code ignored;
  socket_.close(ignored);
  // Bodies hold readers of the store: they go now, not when the last handler ends.
  if (const auto over = std::exchange(protocol_, nullptr)) over->gone();
  make_protocol_ = nullptr;
  if (const auto gone = std::exchange(gone_, nullptr)) gone(shared_from_this());
}

/// Calls the function once the socket can be read, or written; closes where the connection is over.
void Connection::wait(SocketStream::Step step, void (Connection::*then)()) {
  if (step == SocketStream::Step::kEnded) return close();
  const auto kind = step == SocketStream::Step::kWaitsToWrite ? tcp::socket::wait_write : tcp::socket::wait_read;
  socket_.async_wait(kind, [self = shared_from_this(), then](const boost::system::error_code& error) {
    if (self->closed_) return;
    if (error) return self->close();
    (self.get()->*then)();
  });
}

void Connection::shake_hands() {
  const auto step = stream_->handshake();
  if (step == SocketStream::Step::kDone) return open();
  wait(step, &Connection::shake_hands);
}

void Connection::open() {
  ProtocolHost host;
  auto peer = stream_->peer();
  const auto address = address_of(socket_);
  peer.loopback = address.is_loopback();
  peer.address = address.to_string();
  host.peer = std::make_shared<const Peer>(std::move(peer));
  host.limits = limits_;
  host.room = room_;
  const std::weak_ptr<Connection> weak = weak_from_this();
  const auto executor = socket_.get_executor();
  host.post = [weak, executor](std::function<void()> task) {
    asio::post(executor, [weak, task = std::move(task)] {
      const auto here = weak.lock();
      if (here && !here->closed_) task();
    });
  };
  host.flush = [weak, executor] {
    const auto here = weak.lock();
    if (!here || here->flush_posted_.exchange(true)) return;
    asio::post(executor, [here] {
      here->flush_posted_ = false;
      here->flush();
    });
  };
  host.watch = [executor, flush = host.flush](int descriptor) { return watch_descriptor(executor, descriptor, flush); };
  protocol_ = std::exchange(make_protocol_, nullptr)(std::move(host), *stream_);
  if (!protocol_) return close();
  stream_->forget_peer();
  since_ = std::chrono::steady_clock::now();
  flush();
  read();
}

void Connection::read() {
  static thread_local std::array<char, 16 * 1024> input;  // what is read is taken at once
  for (int i = 0; i < kReadsAtOnce; ++i) {
    const auto [step, size] = stream_->read(input);
    if (step != SocketStream::Step::kDone) {
      if (i > 0) flush();
      if (!closed_) wait(step, &Connection::read);
      return;
    }
    if (!take({input.data(), size})) return flush();
  }
  flush();
  read_later();
}

void Connection::read_later() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    if (!self->closed_) self->read();
  });
}

/// False where no more is to be read for now. What it asks to be sent goes out with what the next pieces ask.
bool Connection::take(std::string_view bytes) {
  if (frozen_) return true;
  if (!protocol_->receiving()) since_ = std::chrono::steady_clock::now();
  ending_ = !protocol_->feed(bytes);
  if (ending_ || closed_) return false;
  paused_ = !protocol_->wants_input();
  return !paused_;
}

void Connection::flush() {
  if (closed_ || frozen_ || writing_ || !protocol_) return;
  std::string next = take_spare_bytes();
  protocol_->output(next, kWrittenAtOnce);
  if (paused_ && protocol_->wants_input()) {
    paused_ = false;
    read_later();
  }
  if (next.empty()) {
    keep_spare_bytes(std::move(next));
    if (ending_ || protocol_->finished()) close();
    return;
  }
  output_ = std::move(next);
  written_ = 0;
  writing_ = true;
  write_began_ = std::chrono::steady_clock::now();
  write();
}

void Connection::write() {
  do {
    const auto [step, size] = stream_->write(std::string_view(output_).substr(written_));
    written_ += size;
    if (step == SocketStream::Step::kDone) continue;
    if (output_.size() - written_ <= kLittle) {
      std::string rest(output_, std::exchange(written_, 0));
      output_.swap(rest);
      keep_spare_bytes(std::move(rest));
    }
    return wait(step, &Connection::write);
  } while (written_ < output_.size());
  keep_spare_bytes(std::exchange(output_, {}));
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->writing_ = false;
    self->flush();
  });
}

}  // namespace fleetadm::serve
