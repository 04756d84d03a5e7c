// An agent's end of a tunnel that says what a test wants, byte by byte, behind a proper handshake.
#pragma once

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <chrono>
#include <cstdint>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <vector>

#include "core/serve/http/tls_context.h"
#include "core/serve/http/tls_stream.h"
#include "kubeclient/base/owned_fd.h"

namespace fleetadm::proxy {

/// A frame of HTTP/2 as it is on the wire.
inline std::string wire_frame(unsigned type, unsigned flags, std::uint32_t stream, std::string_view payload = {}) {
  std::string out;
  for (const int shift : {16, 8, 0}) out += static_cast<char>(payload.size() >> shift & 0xFFU);
  out += static_cast<char>(type);
  out += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(stream >> shift & 0xFFU);
  return out.append(payload);
}
/// A header as HPACK writes it without any of its tables.
inline std::string wire_header(std::string_view name, std::string_view value) {
  std::string out(1, '\0');
  out += static_cast<char>(name.size() & 0x7FU);
  out.append(name);
  out += static_cast<char>(value.size() & 0x7FU);
  return out.append(value);
}
inline std::string wire_number(std::uint32_t value) {
  std::string out;
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(value >> shift & 0xFFU);
  return out;
}

enum WireFrame : unsigned {
  kWireData,
  kWireHeaders,
  kWirePriority,
  kWireReset,
  kWireSettings,
  kWirePush,
  kWirePing,
  kWireGoaway,
  kWireWindow,
  kWireContinuation
};
inline constexpr unsigned kWireEndStream = 1;
inline constexpr unsigned kWireAck = 1;
inline constexpr unsigned kWireEndHeaders = 4;

class HostileAgent {
 public:
  /// `announces`: the name that it asks for in its handshake (SNI).
  HostileAgent(int port, const std::string& ca, const pki::KeyPair& who, std::string announces = {})
      : context_(*serve::make_client_tls({.ca = ca, .certificate = who, .http2 = true, .only_tls13 = true})) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    if (::connect(socket_.get(), static_cast<sockaddr*>(static_cast<void*>(&address)), sizeof address) != 0) return;
    stream_ = serve::TlsStream::connect(socket_.get(), context_->native_handle(), "127.0.0.1");
    if (!announces.empty()) {
      SSL_ctrl(stream_->ssl(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, announces.data());
    }
    const auto until = now() + std::chrono::seconds(10);
    auto step = stream_->handshake();
    while (waits(step, until)) step = stream_->handshake();
    connected_ = step == Step::kDone;
  }

  bool connected() const { return connected_; }
  /// False once the gateway does not take any more.
  bool say(std::string_view bytes) {
    const auto until = now() + std::chrono::seconds(10);
    while (connected_ && !bytes.empty()) {
      const auto [step, size] = stream_->write(bytes);
      if (step == Step::kDone) {
        bytes.remove_prefix(size);
      } else if (!waits(step, until)) {
        connected_ = false;
      }
    }
    return connected_;
  }
  /// Listens for so long; true once the gateway has closed.
  bool is_closed_within(std::chrono::milliseconds patience) {
    const auto until = now() + patience;
    while (connected_ && now() < until) {
      std::array<char, 16 * 1024> piece{};
      const auto [step, size] = stream_->read(piece);
      if (step == Step::kDone) {
        heard_.append(piece.data(), size);
      } else if (!waits(step, until)) {
        connected_ = connected_ && step != Step::kEnded;
      }
    }
    return !connected_;
  }
  /// Until a frame of that kind has come.
  bool hears(WireFrame kind, std::chrono::milliseconds patience = std::chrono::seconds(10)) {
    const auto until = now() + patience;
    while (count(kind) == 0 && now() < until) {
      if (is_closed_within(std::chrono::milliseconds(20))) break;
    }
    return count(kind) > 0;
  }
  std::ptrdiff_t count(WireFrame kind) const {
    std::vector<unsigned> kinds;
    std::string_view rest = heard_;
    if (rest.starts_with(kFirstWords)) rest.remove_prefix(kFirstWords.size());  // the gateway is the client
    while (rest.size() >= 9) {
      const auto byte = [&](std::size_t at) { return static_cast<unsigned>(static_cast<unsigned char>(rest[at])); };
      const std::size_t size = byte(0) << 16U | byte(1) << 8U | byte(2);
      kinds.push_back(byte(3));
      rest.remove_prefix(std::min(rest.size(), size + 9));
    }
    return std::ranges::count(kinds, static_cast<unsigned>(kind));
  }

 private:
  static constexpr std::string_view kFirstWords = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  using Step = serve::SocketStream::Step;
  using Steady = std::chrono::steady_clock;

  static Steady::time_point now() { return Steady::now(); }
  bool waits(Step step, Steady::time_point until) const {
    if (step != Step::kWaitsToRead && step != Step::kWaitsToWrite) return false;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now()).count();
    pollfd ready{socket_.get(), static_cast<short>(step == Step::kWaitsToRead ? POLLIN : POLLOUT), 0};
    return left > 0 && ::poll(&ready, 1, static_cast<int>(left)) > 0;
  }

  std::shared_ptr<boost::asio::ssl::context> context_;
  OwnedFd socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::unique_ptr<serve::TlsStream> stream_;
  bool connected_ = false;
  std::string heard_;
};

}  // namespace fleetadm::proxy
