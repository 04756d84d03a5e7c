// One request on its way: libcurl's handle, the credentials it was sent with, the repeat after a 401, and the delivery of the
// answer to a StreamSink. Lives on the I/O thread; cancel() may come from anywhere.
#pragma once

#include <array>
#include <atomic>
#include <curl/curl.h>
#include <map>
#include <memory>
#include <mutex>
#include <openssl/x509_vfy.h>
#include <optional>
#include <stop_token>
#include <string>

#include "kubeclient/config/rest_config.h"
#include "kubeclient/transport/curl_multi.h"
#include "kubeclient/transport/endpoint.h"
#include "kubeclient/transport/transport.h"

namespace fleetadm::kube {

/// What all requests of one transport share; never changes after construction.
struct ExchangeContext {
  RestConfig config;
  Endpoint endpoint;
  std::string user_agent;
  bool compress = true;                 // ask for gzip
  std::shared_ptr<X509_STORE> trusted;  // trust_store() of the CA
  std::shared_ptr<EpollLoop> loop;
  std::shared_ptr<CurlMulti> multi;
};

/// A body as -v 8 (1 KiB) and 9 (10 KiB) show it.
std::string shorten_for_log(std::string body);

class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(std::shared_ptr<const ExchangeContext> context, Request request, std::shared_ptr<StreamSink> sink);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// Reads the credentials on this thread and sends. Errors reach the sink through on_end (on the I/O thread).
  void begin();
  /// begin(), but credentials that may block are read elsewhere.
  void begin_without_blocking();
  /// After it returns the sink is not called again.
  void cancel();

 private:
  void authorize_and_send();
  void send(const Credentials& credentials);
  Status add_headers(const Credentials& credentials);
  void set_options(CURL* easy, const Credentials& credentials);
  void on_done(CURLcode code);
  void after_unauthorized();
  void head_complete();
  void deliver_head();
  void abort(Error error);
  void finish(std::optional<Error> error);
  template <class Call>
  void deliver(const Call& call);
  void log_outcome(std::string_view outcome) const;
  void await_answer(bool awaited);
  void tell_observer(const std::optional<Error>& error) const;

  template <class Take>
  std::size_t guarded(std::size_t length, const Take& take);
  std::size_t take_header(std::string_view line);
  std::size_t take_body(std::string_view data);
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);

  const std::shared_ptr<const ExchangeContext> context_;
  Request request_;  // without its query, which the URL has; does not change after construction
  std::string url_;
  bool awaited_ = false;  // sent, and the answer has not begun
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point deadline_;

  std::mutex sink_mutex_;  // held while the sink is called
  std::atomic<bool> cancelled_{false};
  std::shared_ptr<StreamSink> sink_;

  // I/O thread only from here on.
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy_{nullptr, &curl_easy_cleanup};
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers_{nullptr, &curl_slist_free_all};
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> connect_to_{nullptr, &curl_slist_free_all};
  std::array<char, CURL_ERROR_SIZE> detail_{};
  std::shared_ptr<Exchange> self_;                       // while in flight
  std::map<std::string, std::string> response_headers_;  // until they are delivered
  std::string audit_id_;
  std::size_t header_bytes_ = 0;  // of this response, repeated names among them
  std::string thrown_;            // by the sink, or for want of memory
  std::size_t body_bytes_ = 0;    // of this response
  int status_ = 0;
  bool head_delivered_ = false;
  bool repeated_ = false;  // after a 401
  bool hold_ = false;      // a 401 that may be repeated: kept back until that is decided
  std::string held_body_;
  bool finished_ = false;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

}  // namespace fleetadm::kube
