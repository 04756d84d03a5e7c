// A way to a server on loopback that breaks in the middle of what a client sends.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <cstdint>
#include <memory>
#include <thread>

namespace fleetadm::registry_suite {

class CuttingRelay {
 public:
  /// To a port of 127.0.0.1.
  explicit CuttingRelay(int target)
      : target_(boost::asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(target)),
        acceptor_(context_, {boost::asio::ip::address_v4::loopback(), 0}) {
    accept();
    thread_ = std::thread([this] { context_.run(); });
  }
  ~CuttingRelay() {
    context_.stop();
    thread_.join();
  }
  CuttingRelay(const CuttingRelay&) = delete;
  CuttingRelay& operator=(const CuttingRelay&) = delete;

  int port() const { return acceptor_.local_endpoint().port(); }
  /// The next `cuts` connections over which a client sends more than `bytes` break there.
  void cut_after(std::size_t bytes, int cuts) {
    boost::asio::post(context_, [this, bytes, cuts] {
      limit_ = bytes;
      cuts_ = cuts;
    });
  }

 private:
  using Socket = boost::asio::ip::tcp::socket;
  struct Way {
    std::shared_ptr<Socket> from;
    std::shared_ptr<Socket> to;
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
      server->connect(target_, failed);
      if (!failed) {
        pump(std::make_shared<Way>(Way{client, server, true, 0, {}}));
        pump(std::make_shared<Way>(Way{server, client, false, 0, {}}));
      }
      accept();
    });
  }

  static void close(const Way& way) {
    boost::system::error_code ignored;
    way.from->close(ignored);
    way.to->close(ignored);
  }

  void pump(const std::shared_ptr<Way>& way) {
    way->from->async_read_some(boost::asio::buffer(way->bytes),
                               [this, way](const boost::system::error_code& error, std::size_t count) {
                                 if (error) return close(*way);
                                 way->passed += count;
                                 if (way->upwards && cuts_ > 0 && way->passed > limit_) {
                                   --cuts_;
                                   return close(*way);
                                 }
                                 boost::asio::async_write(*way->to, boost::asio::buffer(way->bytes.data(), count),
                                                          [this, way](const boost::system::error_code& failed, std::size_t) {
                                                            if (failed) return close(*way);
                                                            pump(way);
                                                          });
                               });
  }

  boost::asio::io_context context_;
  boost::asio::ip::tcp::endpoint target_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::size_t limit_ = 0;
  int cuts_ = 0;
  std::thread thread_;
};

}  // namespace fleetadm::registry_suite
