#include "core/proxy/konnectivity/front_line.h"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace fleetadm::konnectivity {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kClientPiece = std::size_t{64} * 1024;
constexpr std::size_t kMostHeldBack = std::size_t{128} * 1024;  // each way: then the side that it comes from is not read

}  // namespace

/// The target's connection, which outlives the line until it has what it was sent.
class FrontLine::Target : public std::enable_shared_from_this<Target> {
 public:
  Target(asio::ip::tcp::socket socket, std::weak_ptr<FrontLine> line) : socket_(std::move(socket)), line_(std::move(line)) {}

  std::size_t held() const { return waiting_.size() + sending_.size(); }
  void await() {
    if (reading_ || closing_) return;
    reading_ = true;
    socket_.async_read_some(asio::buffer(input_),
                            [self = shared_from_this()](const boost::system::error_code& error, std::size_t size) {
                              self->reading_ = false;
                              const auto line = self->line_.lock();
                              if (!line || self->closing_) return;
                              if (error) return line->target_ended();
                              line->target_said({self->input_.data(), size});
                            });
  }
  void write(std::string_view bytes) {
    waiting_ += bytes;
    write_on();
  }
  void finish() {
    closing_ = true;
    if (held() == 0) close();
  }
  void close() {
    closing_ = true;
    boost::system::error_code ignored;
    socket_.close(ignored);
  }

 private:
  void write_on() {
    if (!sending_.empty() || waiting_.empty()) return;
    sending_.swap(waiting_);
    asio::async_write(socket_, asio::buffer(sending_),
                      [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
                        self->sending_.clear();
                        self->wrote(error);
                      });
  }
  void wrote(const boost::system::error_code& error) {
    if (error) {
      waiting_.clear();
      const auto line = line_.lock();
      if (line && !closing_) return line->target_ended();
      return close();
    }
    write_on();
    if (closing_ && held() == 0) return close();
    if (const auto line = line_.lock()) line->wake();
  }

  asio::ip::tcp::socket socket_;
  const std::weak_ptr<FrontLine> line_;
  std::array<char, 32 * 1024> input_{};
  std::string waiting_;
  std::string sending_;
  bool reading_ = false;
  bool closing_ = false;
};

FrontLine::~FrontLine() { close_target(); }

FrontLine::More FrontLine::read(std::string& into, std::size_t most) {
  bool any = false;
  if (!take_content(any)) {
    over_ = true;
    close_target();
    return More::kCut;
  }
  const std::size_t size = std::min(most, outgoing_.size());
  into.append(outgoing_, 0, size);
  outgoing_.erase(0, size);
  read_target();
  if (over_ && outgoing_.empty()) return More::kEnd;
  return size > 0 || any ? More::kYes : More::kLater;
}

void FrontLine::on_ready(std::function<void()> wake) {
  wake_ = wake;
  content_->on_ready(std::move(wake));
}

bool FrontLine::take_content(bool& any) {
  if (over_ || (target_ && target_->held() >= kMostHeldBack)) return true;
  std::string came;
  const More more = content_->read(came, kClientPiece);
  any = !came.empty();
  frames_.feed(came);
  while (true) {
    const auto message = frames_.next();
    if (!message) return false;
    if (!*message) break;
    const auto packet = decode_packet(**message);
    if (!packet) return false;
    take(*packet);
  }
  if (more == More::kEnd || more == More::kCut) {
    over_ = true;
    close_target();
  }
  return true;
}

void FrontLine::take(const Packet& packet) {
  const auto event = connections_.take(packet);
  if (event.answer) say(*event.answer);
  switch (event.kind) {
    case AgentConnections::Event::Kind::kNothing: break;
    case AgentConnections::Event::Kind::kDial: dial(packet); break;
    case AgentConnections::Event::Kind::kGiveUp: over_ = true; break;
    case AgentConnections::Event::Kind::kData:
      if (target_) target_->write(packet.data);
      break;
    case AgentConnections::Event::Kind::kClose:
      over_ = true;
      close_target();
      break;
  }
}

void FrontLine::dial(const Packet& packet) {
  if (number_ != 0) {  // one stream is one connection
    if (const auto answer = connections_.failed(packet.random, "the stream has had its connection")) say(*answer);
    return;
  }
  dial_(packet.address, [weak = weak_from_this(), random = packet.random](Result<asio::ip::tcp::socket> socket) {
    if (const auto self = weak.lock()) self->dialed(random, std::move(socket));
  });
}

void FrontLine::dialed(std::int64_t random, Result<asio::ip::tcp::socket> socket) {
  if (over_) return;
  const auto answer = socket ? connections_.connected(random) : connections_.failed(random, socket.error().message);
  if (!answer) return;
  if (socket) {
    number_ = answer->connection;
    target_ = std::make_shared<Target>(std::move(*socket), weak_from_this());
  }
  say(*answer);
  read_target();
}

void FrontLine::read_target() {
  if (target_ && outgoing_.size() < kMostHeldBack) target_->await();
}

void FrontLine::target_said(std::string_view bytes) {
  say({.type = PacketType::kData, .connection = number_, .data = std::string(bytes)});
  read_target();
}

void FrontLine::target_ended() {
  if (const auto packet = connections_.closed(number_)) say(*packet);
  target_->close();
  target_.reset();
}

void FrontLine::close_target() {
  if (const auto target = std::exchange(target_, nullptr)) target->finish();
}

void FrontLine::say(const Packet& packet) {
  append_grpc_frame(outgoing_, encode_packet(packet));
  wake();
}

void FrontLine::wake() const {
  if (wake_) wake_();
}

}  // namespace fleetadm::konnectivity
