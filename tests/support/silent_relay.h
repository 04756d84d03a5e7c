// A network between two ends that can go away without a word, when bytes are taken and not handed on, or that brings new
// connections to another end, as a Service does.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <cstdint>
#include <memory>
#include <thread>

namespace fleetadm::testkit {

class SilentRelay {
 public:
  using Endpoint = boost::asio::ip::tcp::endpoint;

  /// To a port of 127.0.0.1.
  explicit SilentRelay(int target, const Endpoint& at = {boost::asio::ip::address_v4::loopback(), 0})
      : target_(boost::asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(target)), acceptor_(context_, at) {
    accept();
    thread_ = std::thread([this] { context_.run(); });
  }
  ~SilentRelay() {
    context_.stop();
    thread_.join();
  }
  SilentRelay(const SilentRelay&) = delete;
  SilentRelay& operator=(const SilentRelay&) = delete;

  int port() const { return acceptor_.local_endpoint().port(); }
  /// From now on nothing passes on the connections that there are. New ones pass.
  void swallow() {
    boost::asio::post(context_, [this] { ++generation_; });
  }
  /// New connections go to this port of 127.0.0.1.
  void aim(int target) {
    boost::asio::post(context_, [this, target] { target_.port(static_cast<std::uint16_t>(target)); });
  }

 private:
  using Socket = boost::asio::ip::tcp::socket;
  struct Way {
    std::shared_ptr<Socket> from;
    std::shared_ptr<Socket> to;
    int generation = 0;
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
        pump(std::make_shared<Way>(Way{client, server, generation_, {}}));
        pump(std::make_shared<Way>(Way{server, client, generation_, {}}));
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
                                 boost::asio::async_write(*way->to, boost::asio::buffer(way->bytes.data(), size),
                                                          [this, way](const boost::system::error_code& failed, std::size_t) {
                                                            if (!failed) pump(way);
                                                          });
                               });
  }

  boost::asio::io_context context_{1};
  Endpoint target_;
  boost::asio::ip::tcp::acceptor acceptor_;
  int generation_ = 0;
  std::thread thread_;
};

}  // namespace fleetadm::testkit
