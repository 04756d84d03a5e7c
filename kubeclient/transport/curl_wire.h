// A request that libcurl sends: by HTTP/1.1, through a proxy, and to whatever else an Http2Pool leaves to it.
#pragma once

#include <array>
#include <curl/curl.h>
#include <memory>
#include <string>
#include <string_view>

#include "kubeclient/transport/exchange_context.h"
#include "kubeclient/transport/request_options.h"
#include "kubeclient/transport/wire.h"

namespace fleetadm::kube {

class CurlWire final : public Wire {
 public:
  CurlWire(const ExchangeContext& context, const Outgoing& request, WireEvents& events);
  ~CurlWire() override;
  CurlWire(const CurlWire&) = delete;
  CurlWire& operator=(const CurlWire&) = delete;

  /// Sends. On failure nothing is told through the events.
  Status start();

 private:
  Status add_headers();
  void set_options();
  void on_done(CURLcode code);
  bool take_line(std::string_view line);
  bool head_complete();
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);

  const ExchangeContext& context_;
  const Outgoing& request_;
  WireEvents& events_;
  std::array<char, CURL_ERROR_SIZE> detail_{};
  CurlList headers_{nullptr, &curl_slist_free_all};
  std::shared_ptr<X509_STORE> trusted_;  // as the next one, longer than the handle
  CurlList connect_to_{nullptr, &curl_slist_free_all};
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy_{nullptr, &curl_easy_cleanup};
  AnswerHeaders answer_;
  bool head_told_ = false;
  int status_ = 0;
};

}  // namespace fleetadm::kube
