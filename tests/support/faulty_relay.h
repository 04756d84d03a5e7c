// A network between two ends that can go away without a word, when bytes are taken and not handed on, that can break in the
// middle of what a client sends, or that brings new connections to another end, as a Service does.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace fleetadm::testkit {

class FaultyRelay {
 public:
  using Endpoint = boost::asio::ip::tcp::endpoint;

  /// To a port of 127.0.0.1.
  explicit FaultyRelay(int target, const Endpoint& at = {boost::asio::ip::address_v4::loopback(), 0})
      : targets_{target}, acceptor_(context_, at) {
    accept();
    thread_ = std::thread([this] { context_.run(); });
  }
  ~FaultyRelay() {
    context_.stop();
    thread_.join();
  }
  FaultyRelay(const FaultyRelay&) = delete;
  FaultyRelay& operator=(const FaultyRelay&) = delete;

  int port() const { return acceptor_.local_endpoint().port(); }
  /// From now on nothing passes on the connections that there are. New ones pass.
  void swallow() {
    boost::asio::post(context_, [this] { ++generation_; });
  }
  /// The next `cuts` connections over which a client sends more than `bytes` break there.
  void cut_after(std::size_t bytes, int cuts) {
    boost::asio::post(context_, [this, bytes, cuts] {
      limit_ = bytes;
      cuts_ = cuts;
    });
  }
  /// New connections go to this port of 127.0.0.1.
  void aim(int target) { aim_in_turn({target}); }
  /// And now to these, one after the other.
  void aim_in_turn(std::vector<int> targets) {
    boost::asio::post(context_, [this, targets = std::move(targets)] { targets_ = targets; });
  }

 private:
  using Socket = boost::asio::ip::tcp::socket;
  struct Way {
    std::shared_ptr<Socket> from;
    std::shared_ptr<Socket> to;
    int generation = 0;
    bool upwards = false;
    std::size_t passed = 0;
    std::array<char, 16384> bytes{};
  };

  void accept() {
    acceptor_.async_accept([this](const boost::system::error_code& error, Socket socket) {
      if (error) return;
      const auto client = std::make_shared<Socket>(std::move(socket));
      const auto server = std::make_shared<Socket>(context_);
      boost::system::error_code failed;
      const int target = targets_[accepted_++ % targets_.size()];
      server->connect({boost::asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(target)}, failed);
      if (!failed) {
        pump(std::make_shared<Way>(Way{client, server, generation_, true, 0, {}}));
        pump(std::make_shared<Way>(Way{server, client, generation_, false, 0, {}}));
      }
      accept();
    });
  }
  void pump(const std::shared_ptr<Way>& way) {
    way->from->async_read_some(boost::asio::buffer(way->bytes),
                               [this, way](const boost::system::error_code& error, std::size_t size) {
                                 if (way->generation != generation_) {
                                   if (!error) pump(way);  // neither bytes nor an end
                                   return;
                                 }
                                 boost::system::error_code ignored;
                                 if (error) {
                                   way->to->shutdown(Socket::shutdown_send, ignored);
                                   return;
                                 }
                                 way->passed += size;
                                 if (way->upwards && cuts_ > 0 && way->passed > limit_) {
                                   --cuts_;
                                   way->from->close(ignored);
                                   way->to->close(ignored);
                                   return;
                                 }
                                 boost::asio::async_write(*way->to, boost::asio::buffer(way->bytes.data(), size),
                                                          [this, way](const boost::system::error_code& failed, std::size_t) {
                                                            if (!failed) pump(way);
                                                          });
                               });
  }

  boost::asio::io_context context_{1};
  std::vector<int> targets_;  // at least one
  std::size_t accepted_ = 0;
  boost::asio::ip::tcp::acceptor acceptor_;
  int generation_ = 0;
  std::size_t limit_ = 0;
  int cuts_ = 0;
  std::thread thread_;
};

}  // namespace fleetadm::testkit
