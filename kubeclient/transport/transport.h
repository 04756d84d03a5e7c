// The HTTP seam: everything above speaks Request/Response; CurlTransport is production, tests/support has a fake.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/result.h"

namespace fleetadm::kube {

struct RestConfig;  // kubeclient/config/rest_config.h

enum class Method { kGet, kPost, kPut, kPatch, kDelete, kHead };
std::string_view to_string(Method method);

using Query = std::vector<std::pair<std::string, std::string>>;  // unencoded, in order

struct Request {
  Method method = Method::kGet;
  std::string path;  // "/apis/apps/v1/namespaces/x/deployments", already percent-encoded where needed
  Query query;
  std::string body;
  std::string content_type = "application/json";
  std::string accept = "application/json";
  std::map<std::string, std::string> headers;   // further ones
  Duration timeout = std::chrono::seconds(32);  // of the whole call; zero: none (streams)
  std::stop_token stop;                         // ends the call with Category::kCancelled
};

struct Response {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

/// Receives a streamed response. Called on the I/O thread: no blocking, no long work. on_end is called exactly once, last,
/// unless the stream was cancelled first (then nothing more is called).
class StreamSink {
 public:
  virtual ~StreamSink() = default;
  virtual void on_response(int status, const std::map<std::string, std::string>& headers) = 0;
  virtual void on_data(std::string_view chunk) = 0;
  virtual void on_end(std::optional<Error> error) = 0;
};

/// Cancels its stream when destroyed. After cancel() returns, the sink is not called again (safe from the I/O thread too).
class StreamHandle {
 public:
  virtual ~StreamHandle() = default;
  virtual void cancel() = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  /// Sends and waits. Any HTTP status is a Response; no answer is an Error (kUnavailable, kTls, kTimeout, kCancelled).
  /// Not from the I/O thread. Response bodies are bounded (64 MiB; beyond: kAnswerTooLong).
  virtual Result<Response> call(const Request& request) = 0;
  /// Sends and delivers the answer as it comes. Streams with an idle TCP connection are cut after a bounded silence
  /// (keepalive), so that a black-holed server is noticed.
  virtual std::unique_ptr<StreamHandle> stream(const Request& request, std::shared_ptr<StreamSink> sink) = 0;
  /// The server's address, to tell servers apart (caches); empty where there is none.
  virtual std::string address() const { return {}; }
};

/// One thread with epoll that drives all sockets and timers of the process.
class IoLoop {
 public:
  virtual ~IoLoop() = default;
  /// Runs `work` on the I/O thread soon.
  virtual void post(std::function<void()> work) = 0;
  /// Runs `work` on the I/O thread after `delay`; the returned id can be cancelled.
  virtual std::uint64_t after(Duration delay, std::function<void()> work) = 0;
  virtual void cancel(std::uint64_t timer) = 0;
  /// The process's loop, started on first use.
  static std::shared_ptr<IoLoop> shared();
};

/// A transport for `config` on the process's I/O loop. Connections are made on first use.
std::shared_ptr<Transport> make_transport(const RestConfig& config, std::shared_ptr<IoLoop> loop = IoLoop::shared());

}  // namespace fleetadm::kube
