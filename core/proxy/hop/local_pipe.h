// One end of a connection within this process, whose other end somebody uses as a socket.
#pragma once

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kubeclient/base/result.h"

namespace fleetadm::proxy {

/// I/O thread only. Nothing is called from within the functions below.
class LocalPipe : public std::enable_shared_from_this<LocalPipe> {
 public:
  struct Events {
    std::function<void(std::string_view bytes)> read;  // after await()
    std::function<void()> taken;                       // some of what was written
    std::function<void()> closed;                      // the other end, once
  };
  struct Ends {
    std::shared_ptr<LocalPipe> pipe;
    boost::asio::ip::tcp::socket other;
  };

  static Result<Ends> make(const boost::asio::any_io_executor& executor, Events events);
  explicit LocalPipe(const boost::asio::any_io_executor& executor) : socket_(executor) {}

  /// Reads one piece, or learns that the other end has closed.
  void await();
  void write(std::string_view bytes);
  /// Of what was written and not taken yet.
  std::size_t held() const { return held_.size() - begin_; }
  /// Closes when all that was written is taken. No more events.
  void finish();

 private:
  void drain();
  void over();

  boost::asio::local::stream_protocol::socket socket_;
  Events events_;
  std::array<char, 32 * 1024> input_{};
  std::string held_;
  std::size_t begin_ = 0;
  bool reading_ = false;
  bool draining_ = false;
  bool finishing_ = false;
  bool closed_ = false;
};

}  // namespace fleetadm::proxy
