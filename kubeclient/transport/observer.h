// Who is told of this process's requests: the command line's traces, profiles and notices. One observer a process, as with the
// log's level; none costs one load a request.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/result.h"
#include "kubeclient/transport/transport.h"

namespace fleetadm::kube {

/// A request that has ended. Nothing of it is secret: no headers and no bodies.
struct RequestFacts {
  Method method = Method::kGet;
  std::string url;    // with the query
  int status = 0;     // 0: no answer
  std::string error;  // why there was none, or why it broke off; may be empty
  std::string id;     // the server's name for it (Audit-Id); may be empty
  std::chrono::steady_clock::time_point begun;
  Duration took{};
  std::size_t sent = 0;      // bytes of the body
  std::size_t received = 0;  // of the answer's
};

/// A request that is about to be sent again.
struct RetryFacts {
  Error error;      // of the last try
  Duration waited;  // since the first
  Duration delay;   // until the next
  Duration left;    // until there is none more; zero: no limit
};

class RequestObserver {
 public:
  virtual ~RequestObserver() = default;
  /// From the I/O thread; no blocking. For each request once, then once when its answer begins or will not come.
  virtual void sent() {}
  virtual void answered() {}
  /// From the I/O thread; no blocking.
  virtual void ended(const RequestFacts& facts) = 0;
  /// From the thread that waits.
  virtual void retrying(const RetryFacts& facts) = 0;
};

/// Null: nobody is told any more.
void observe_requests(std::shared_ptr<RequestObserver> observer);
std::shared_ptr<RequestObserver> request_observer();

}  // namespace fleetadm::kube
