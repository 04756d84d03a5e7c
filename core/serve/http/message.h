// HTTP as the API sees it: whole requests in, answers (whole or streamed) out. Nothing of sockets.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fleetadm::serve {

using Headers = std::vector<std::pair<std::string, std::string>>;  // names in lower case

/// Who the client is, by its connection: TLS says all but the last two.
struct Peer {
  enum class Certificate { kNone, kValid, kInvalid };
  Certificate certificate = Certificate::kNone;
  std::string common_name;
  std::vector<std::string> organizations;
  std::string sha256;     // of the certificate's DER, hex
  bool loopback = false;  // a process of this host (or pod): its address is a loopback one
  std::string address;    // IP; of whoever is in between, where somebody is
};

class MemoryReservation;  // http/memory_budget.h
class BodyReader;         // http/body_pipe.h

struct HttpRequest {
  std::string method;
  std::string path;   // as sent, percent-encoded
  std::string query;  // after '?', as sent
  Headers headers;
  std::string body;
  bool body_too_large = false;  // then the body is empty
  /// Instead of the body, where the listener's streams_body says so: the client sends no more than HttpLimits::window ahead of
  /// what is read of it. Dropped, the rest is not wanted. An answer may have it as its stream.
  std::shared_ptr<BodyReader> content;
  std::shared_ptr<const Peer> peer;
  /// A stop is requested, on the I/O thread, when the client goes away before it was given the head of an answer. After that, the
  /// answer's stream is dropped instead.
  std::stop_token left;
  std::shared_ptr<const MemoryReservation> share;  // keeps the server's count of the memory that bodies take

  /// The first header of a name (lower case); empty where there is none.
  std::string_view header(std::string_view name) const;
  std::vector<std::string> all(std::string_view name) const;
};

/// A body that comes piece by piece. All calls come from the server's I/O thread; they must not block.
class BodyStream {
 public:
  enum class More { kYes, kLater, kEnd, kCut };  // kCut: end the connection (stream) without a proper end
  virtual ~BodyStream() = default;
  /// Appends up to about `most` bytes.
  virtual More read(std::string& into, std::size_t most) = 0;
  /// What to call, on any thread, when read() may have something again after kLater.
  virtual void on_ready(std::function<void()> wake) = 0;
  /// Asked every half second after kLater: whether to read although nothing woke. Time-driven bodies need no timer.
  virtual bool due(std::chrono::steady_clock::time_point /*now*/) const { return true; }
};

class UpgradedStream;  // http/upgrade.h

struct HttpResponse {
  int status = 200;
  Headers headers;  // without content-length and transfer-encoding
  std::string body;
  std::shared_ptr<BodyStream> stream;  // instead of the body
  /// Of 101 (HTTP/1.1 only): gets what the client sends from then on. `stream` is the same object, or what it is wrapped in.
  std::shared_ptr<UpgradedStream> upgrade;
  std::chrono::milliseconds delay{0};  // sent so much later
};

HttpResponse answer_text(int status, std::string text, std::string type = "text/plain; charset=utf-8");
/// 429: the client is to try again.
HttpResponse too_many_requests();

using Reply = std::function<void(HttpResponse)>;
/// Called on the I/O thread; must not block. `reply` may be called from any thread, once.
using HttpHandler = std::function<void(HttpRequest, Reply)>;

struct HttpLimits {
  std::size_t body = 3 * 1024 * 1024;
  std::size_t bodies = 256 * 1024 * 1024;  // of all requests together, until they are answered
  std::size_t window = 1024 * 1024;        // of a body that is streamed: what is held of it; no limit to the whole
  std::size_t header = 64 * 1024;
  std::chrono::seconds handshake{10};
  std::chrono::seconds request{60};  // from its first byte to its last
  std::chrono::seconds idle{180};    // between requests, and between the pieces of a body that is streamed
  std::chrono::seconds stuck{30};    // a client that takes nothing of what is sent to it
  std::size_t connections = 4096;
  std::size_t streams = 250;    // of one HTTP/2 connection
  std::size_t answers = 10000;  // that are streamed at the same time (watches, logs)
  std::size_t upgrades = 250;   // connections that speak another protocol (exec, attach, port-forward)
};

std::string_view status_text(int status);

}  // namespace fleetadm::serve
