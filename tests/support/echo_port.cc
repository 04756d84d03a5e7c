#include "tests/support/echo_port.h"

#include <arpa/inet.h>
#include <cctype>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <vector>

#include "core/serve/streams/nonblocking.h"

namespace fleetadm::testkit {

EchoPort::EchoPort(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int yes = 1;
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(::listen(socket_.get(), 16), 0);
  socklen_t size = sizeof(address);
  EXPECT_EQ(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
}

void EchoPort::serve(const std::stop_token& stop) const {
  std::vector<std::jthread> clients;
  while (!stop.stop_requested()) {
    pollfd ready{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 20) <= 0) continue;
    const int client = ::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    clients.emplace_back([client] {
      const OwnedFd own(client);
      std::string text;
      while (text.clear(), serve::read_some(client, text, 64 * 1024) == serve::FdResult::kSome) {
        for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        std::size_t taken = 0;
        for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(taken)) {
          if (serve::write_some(client, rest, taken) != serve::FdResult::kSome) return;
        }
      }
    });
  }
}

}  // namespace fleetadm::testkit
