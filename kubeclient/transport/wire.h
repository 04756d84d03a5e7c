// One way to send a request and to take its answer: what an Exchange asks of it, and what it is told. I/O thread only.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kubeclient/config/rest_config.h"
#include "kubeclient/transport/curl_errors.h"
#include "kubeclient/transport/transport.h"

namespace fleetadm::kube {

/// A request as it is sent. It and what it points at live as long as the wire.
struct Outgoing {
  Method method = Method::kGet;
  std::string_view path;                                     // with the server's prefix and the query
  std::string_view authority;                                // unless the headers have Host
  std::string_view user_agent;                               // unless the headers have it
  bool compress = false;                                     // ask for gzip
  std::vector<std::pair<std::string, std::string>> headers;  // Authorization among them, but for a user's name and password
  const std::string* body = nullptr;
  Credentials credentials;
  std::chrono::steady_clock::time_point deadline;  // max(): none
};

/// Of one request, in this order. The last two may destroy the wire.
class WireEvents {
 public:
  WireEvents() = default;
  WireEvents(const WireEvents&) = delete;
  WireEvents& operator=(const WireEvents&) = delete;
  virtual ~WireEvents() = default;
  /// The final answer's; names in lower case. False: no more is wanted, and the wire ends with a failure.
  virtual bool take_head(int status, std::map<std::string, std::string> headers) = 0;
  /// Decompressed. False as above.
  virtual bool take_body(std::string_view data) = 0;
  /// Last, once. Of the failure its code, detail, results and `connected` are set.
  virtual void take_end(const std::optional<CurlFailure>& failure) = 0;
  /// Instead of all of them: the server does not speak what this wire does; nothing of the request was sent.
  virtual void take_refusal() = 0;
};

/// A request on its way. The destructor ends it, and nothing is told any more.
class Wire {
 public:
  Wire() = default;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  virtual ~Wire() = default;
};

/// Of one answer; repeated names are joined. 256 KiB at most.
class AnswerHeaders {
 public:
  /// `name` in lower case. False: there are too many.
  bool add(std::string name, std::string_view value);
  void clear();
  const std::map<std::string, std::string>& fields() const { return fields_; }
  std::map<std::string, std::string> take();

 private:
  std::map<std::string, std::string> fields_;
  std::size_t bytes_ = 0;  // repeated names among them
};

}  // namespace fleetadm::kube
