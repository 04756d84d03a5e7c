// One connection, taken or made: it moves bytes between a socket and a protocol, and ends peers that keep it waiting.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/serve/http/protocol.h"
#include "core/serve/http/socket_stream.h"

namespace fleetadm::serve {

/// I/O thread only.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using SteadyTime = std::chrono::steady_clock::time_point;

  Connection(boost::asio::ip::tcp::socket socket, std::unique_ptr<SocketStream> stream, HttpLimits limits,
             std::shared_ptr<MemoryBudget> room);

  /// `gone` is called once, when it has closed.
  void start(MakeProtocol make_protocol, std::function<void(const std::shared_ptr<Connection>&)> gone);
  /// Every half second: time-driven bodies and overdue clients.
  void tick(SteadyTime now);
  /// Takes what comes, and answers nothing.
  void freeze() { frozen_ = true; }
  /// Closes when what runs on it is done; at once in the handshake.
  void drain();
  /// The client sees a reset, not an end.
  void reset();
  void close();

  /// A request of it is being answered.
  bool busy() const { return protocol_ && protocol_->busy(); }
  std::size_t streams() const { return protocol_ ? protocol_->streams() : 0; }
  /// When its last request came, or where none has come, the client itself.
  SteadyTime last_request() const { return last_request_; }
  void saw_request() { last_request_ = std::chrono::steady_clock::now(); }

 private:
  void wait(SocketStream::Step step, void (Connection::*then)());
  void shake_hands();
  void open();
  void read();
  void read_later();
  bool take(std::string_view bytes);
  void flush();
  void write();

  boost::asio::ip::tcp::socket socket_;
  std::unique_ptr<SocketStream> stream_;
  HttpLimits limits_;
  std::shared_ptr<MemoryBudget> room_;
  std::shared_ptr<Protocol> protocol_;
  MakeProtocol make_protocol_;  // until the handshake is done
  std::function<void(const std::shared_ptr<Connection>&)> gone_;
  std::string output_;  // that is being written
  std::size_t written_ = 0;
  std::atomic<bool> flush_posted_{false};
  bool writing_ = false;
  bool ending_ = false;
  bool paused_ = false;  // the client is to wait with what it sends
  bool closed_ = false;
  bool frozen_ = false;
  SteadyTime since_;
  SteadyTime last_request_;
  SteadyTime write_began_;
};

}  // namespace fleetadm::serve
