// One request from its head to the last byte of its answer: what is to be written down of it, and the places that it takes.
#pragma once

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
  std::vector<std::shared_ptr<ByteBudget>> budgets;  // the tightest counts; none: as much as comes

  /// Counts what the client sends.
  void count(serve::HttpRequest& request);
  /// A piece of an answer, as far as the budget has room for it.
  serve::BodyStream::More pass_on(serve::BodyStream& body, std::string& into, std::size_t most);
  bool may_go_on() const { return room() > 0; }
  void spend(std::size_t bytes) const;
  /// Counts what the client is sent, and keeps the exchange for as long as that takes.
  static void attach(const std::shared_ptr<Exchange>& exchange, serve::HttpResponse& answer);

 private:
  std::size_t room() const;

  const Audit audit_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::shared_ptr<const std::uint64_t> streamed_;  // of a body that comes in pieces
};

}  // namespace fleetadm::proxy
