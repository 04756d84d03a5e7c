// One request from its head to the last byte of its answer: what is to be written down of it, and the places that it takes.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/proxy/gateway/audit_record.h"
#include "core/proxy/gateway/request_limits.h"
#include "core/proxy/hop/hop.h"
#include "core/serve/http/message.h"

namespace fleetadm::proxy {

/// Lives until the answer was sent, or its client is gone. I/O thread only.
class Exchange {
 public:
  using Audit = std::function<void(const AuditRecord&)>;

  Exchange(AuditRecord record, Audit audit);
  /// Writes the record.
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  AuditRecord record;
  std::vector<RequestLimits::Place> places;
  ByteBudgets budgets;  // empty: as much as comes

  /// Counts what the client sends.
  void count(serve::HttpRequest& request);
  /// Lets the request's body go on as fast as the budgets allow. `executor`: the I/O thread's.
  void slow_down(serve::HttpRequest& request, const boost::asio::any_io_executor& executor) const;
  /// A piece of an answer, as far as the budget has room for it.
  serve::BodyStream::More pass_on(serve::BodyStream& body, std::string& into, std::size_t most);
  bool may_go_on() const { return budgets.room(std::chrono::steady_clock::now()) > 0; }
  /// Counts what the client is sent, and keeps the exchange for as long as that takes.
  static void attach(const std::shared_ptr<Exchange>& exchange, serve::HttpResponse& answer);

 private:
  const Audit audit_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::shared_ptr<const std::uint64_t> streamed_;  // of a body that comes in pieces
};

}  // namespace fleetadm::proxy
