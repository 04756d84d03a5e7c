// One request on its way: the wire that sends it, the credentials it was sent with, the repeat after a 401, and the delivery of
// the answer to a StreamSink. Lives on the I/O thread; cancel() may come from anywhere.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "kubeclient/transport/exchange_context.h"
#include "kubeclient/transport/transport.h"
#include "kubeclient/transport/wire.h"

namespace fleetadm::kube {

/// A body as -v 8 (1 KiB) and 9 (10 KiB) show it.
std::string shorten_for_log(std::string body);

class Exchange final : public WireEvents, public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(std::shared_ptr<const ExchangeContext> context, Request request, std::shared_ptr<StreamSink> sink);
  ~Exchange() override;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// Reads the credentials on this thread and sends. Errors reach the sink through on_end (on the I/O thread).
  void begin();
  /// begin(), but credentials that may block are read elsewhere.
  void begin_without_blocking();
  /// After it returns the sink is not called again.
  void cancel();

  bool take_head(int status, std::map<std::string, std::string> headers) override;
  bool take_body(std::string_view data) override;
  void take_end(const std::optional<CurlFailure>& failure) override;
  void take_refusal() override;

 private:
  void authorize_and_send();
  void send(Credentials credentials);
  Status prepare(Credentials credentials);
  /// By HTTP/2 where that can be, else by libcurl.
  void put_on_wire();
  void after_unauthorized();
  void deliver_head();
  void abort(Error error);
  void finish(std::optional<Error> error);
  template <class Call>
  void deliver(const Call& call);
  std::string url() const;
  void log_outcome(std::string_view outcome) const;
  void await_answer(bool awaited);
  void tell_observer(const std::optional<Error>& error) const;

  /// False where it throws: nothing may be thrown through the libraries below.
  template <class Take>
  bool guarded(const Take& take);
  bool head_complete(int status, std::map<std::string, std::string> headers);

  const std::shared_ptr<const ExchangeContext> context_;
  Request request_;       // without its query, which the URL has; does not change after construction
  std::string target_;    // path and query, behind the server's prefix
  bool awaited_ = false;  // sent, and the answer has not begun
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point deadline_;

  std::mutex sink_mutex_;  // held while the sink is called
  std::atomic<bool> cancelled_{false};
  std::shared_ptr<StreamSink> sink_;

  // I/O thread only from here on.
  Outgoing outgoing_;  // until its answer begins
  std::unique_ptr<Wire> wire_;
  bool sent_ = false;
  std::shared_ptr<Exchange> self_;                       // while in flight
  std::map<std::string, std::string> response_headers_;  // until they are delivered
  std::string audit_id_;
  std::string thrown_;          // by the sink, or for want of memory
  std::size_t body_bytes_ = 0;  // of this response
  int status_ = 0;
  bool repeated_ = false;  // after a 401
  bool hold_ = false;      // a 401 that may be repeated: kept back until that is decided
  std::string held_body_;
  bool finished_ = false;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

}  // namespace fleetadm::kube
