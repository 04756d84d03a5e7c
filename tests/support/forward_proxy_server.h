// A proxy that is asked by CONNECT, in the test's own process, in the clear or under TLS. It knows names that nobody else does.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::testkit {

struct ForwardProxyOptions {
  std::optional<pki::KeyPair> certificate{};    // it is reached by TLS
  std::string credentials{};                    // "user:password" that it wants
  std::map<std::string, std::uint16_t> ways{};  // "host:port" to a port of 127.0.0.1; all others are refused
  std::string answer{};                         // to CONNECT, whatever was asked, instead of a connection
};

class ForwardProxyServer {
 public:
  explicit ForwardProxyServer(ForwardProxyOptions options)
      : options_(std::move(options)), acceptor_(context_, {boost::asio::ip::address_v4::loopback(), 0}) {
    if (options_.certificate) {
      tls_.use_certificate_chain(boost::asio::buffer(options_.certificate->certificate));
      tls_.use_private_key(boost::asio::buffer(options_.certificate->key), boost::asio::ssl::context::pem);
    }
    accept();
    thread_ = std::thread([this] { context_.run(); });
  }
  ~ForwardProxyServer() {
    context_.stop();
    thread_.join();
  }
  ForwardProxyServer(const ForwardProxyServer&) = delete;
  ForwardProxyServer& operator=(const ForwardProxyServer&) = delete;

  int port() const { return acceptor_.local_endpoint().port(); }
  /// With the credentials, where it wants some.
  std::string url() const {
    return (options_.certificate ? "https://" : "http://") + (options_.credentials.empty() ? "" : options_.credentials + "@") +
           "127.0.0.1:" + std::to_string(port());
  }
  /// "host:port" of each connection that was made, in order.
  std::vector<std::string> connected() const {
    const std::lock_guard lock(mutex_);
    return connected_;
  }
  /// The heads of all requests.
  std::vector<std::string> heads() const {
    const std::lock_guard lock(mutex_);
    return heads_;
  }

 private:
  using Socket = boost::asio::ip::tcp::socket;
  using TlsSocket = boost::asio::ssl::stream<Socket>;

  void accept() {
    acceptor_.async_accept([this](const boost::system::error_code& error, Socket socket) {
      if (error) return;
      if (options_.certificate) {
        const auto client = std::make_shared<TlsSocket>(std::move(socket), tls_);
        client->async_handshake(TlsSocket::server, [this, client](const boost::system::error_code& failed) {
          if (!failed) greet(client);
        });
      } else {
        greet(std::make_shared<Socket>(std::move(socket)));
      }
      accept();
    });
  }

  template <class Client>
  void greet(const std::shared_ptr<Client>& client) {
    const auto head = std::make_shared<std::string>();
    boost::asio::async_read_until(*client, boost::asio::dynamic_buffer(*head, 16384), "\r\n\r\n",
                                  [this, client, head](const boost::system::error_code& error, std::size_t) {
                                    if (!error) answer(client, *head);
                                  });
  }

  template <class Client>
  void answer(const std::shared_ptr<Client>& client, const std::string& head) {
    const std::string target = head.starts_with("CONNECT ") ? head.substr(8, head.find(' ', 8) - 8) : "";
    const auto way = options_.ways.find(target);
    const auto server = std::make_shared<Socket>(context_);
    std::string said = options_.answer;
    if (said.empty() && !options_.credentials.empty() &&
        head.find("Proxy-Authorization: Basic " + base64_encode(options_.credentials) + "\r\n") == std::string::npos)
      said = "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n";
    if (said.empty() && way == options_.ways.end()) said = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n";
    boost::system::error_code failed;
    if (said.empty()) {
      server->connect({boost::asio::ip::address_v4::loopback(), way->second}, failed);
      if (failed) said = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n";
    }
    const bool connects = said.empty();
    {
      const std::lock_guard lock(mutex_);
      heads_.push_back(head);
      if (connects) connected_.push_back(target);
    }
    const auto reply = std::make_shared<std::string>(connects ? "HTTP/1.1 200 Connection established\r\n\r\n" : said);
    boost::asio::async_write(*client, boost::asio::buffer(*reply),
                             [this, client, server, reply, connects](const boost::system::error_code& error, std::size_t) {
                               if (error) return;
                               if (!connects) return hold(client);
                               const auto back = std::make_shared<std::array<char, 16384>>();
                               pump(client, server, std::make_shared<std::array<char, 16384>>());
                               pump(server, client, back);
                             });
  }

  /// Until the client is gone.
  template <class Client>
  void hold(const std::shared_ptr<Client>& client) {
    const auto ignored = std::make_shared<std::array<char, 512>>();
    client->async_read_some(boost::asio::buffer(*ignored),
                            [this, client, ignored](const boost::system::error_code& error, std::size_t) {
                              if (!error) hold(client);
                            });
  }

  template <class From, class To, class Bytes>
  void pump(const std::shared_ptr<From>& from, const std::shared_ptr<To>& to, const std::shared_ptr<Bytes>& bytes) {
    from->async_read_some(
        boost::asio::buffer(*bytes), [this, from, to, bytes](const boost::system::error_code& error, std::size_t size) {
          if (error) return over(*from, *to);
          boost::asio::async_write(*to, boost::asio::buffer(bytes->data(), size),
                                   [this, from, to, bytes](const boost::system::error_code& failed, std::size_t) {
                                     if (failed) return over(*from, *to);
                                     pump(from, to, bytes);
                                   });
        });
  }
  template <class One, class Other>
  static void over(One& one, Other& other) {
    boost::system::error_code ignored;
    one.lowest_layer().close(ignored);
    other.lowest_layer().close(ignored);
  }

  const ForwardProxyOptions options_;
  boost::asio::io_context context_{1};
  boost::asio::ssl::context tls_{boost::asio::ssl::context::tls_server};
  boost::asio::ip::tcp::acceptor acceptor_;
  mutable std::mutex mutex_;
  std::vector<std::string> connected_;
  std::vector<std::string> heads_;
  std::thread thread_;
};

}  // namespace fleetadm::testkit
