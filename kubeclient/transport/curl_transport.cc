#include <condition_variable>
#include <mutex>

#include "kubeclient/base/log.h"
#include "kubeclient/config/rest_config.h"
#include "kubeclient/transport/answer_limit.h"
#include "kubeclient/transport/exchange.h"
#include "kubeclient/transport/lent_connections.h"
#include "kubeclient/transport/transport.h"
#include "kubeclient/transport/trust_store.h"

namespace fleetadm::kube {

namespace {

constexpr std::string_view kHttpsPort = "443";

/// Collects a whole answer and wakes the one who waits for it.
class Collector final : public StreamSink {
 public:
  void on_response(int status, const std::map<std::string, std::string>& headers) override {
    response_.status = status;
    response_.headers = headers;
  }
  void on_data(std::string_view chunk) override {
    if (response_.body.size() + chunk.size() <= kMaxAnswer) {
      response_.body += chunk;
      return;
    }
    Error error = fail(Category::kInvalid, "the server's answer is longer than 64 MiB").value();
    error.reason = kAnswerTooLong;
    on_end(std::move(error));
  }
  void on_end(std::optional<Error> error) override {
    const std::scoped_lock lock(mutex_);
    if (ended_) return;
    error_ = std::move(error);
    ended_ = true;
    ready_.notify_all();
  }

  Result<Response> wait() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return ended_; });
    if (error_) return fail(std::move(*error_));
    return std::move(response_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  Response response_;
  std::optional<Error> error_;
  bool ended_ = false;
};

class CurlStream final : public StreamHandle {
 public:
  explicit CurlStream(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  ~CurlStream() override { exchange_->cancel(); }
  CurlStream(const CurlStream&) = delete;
  CurlStream& operator=(const CurlStream&) = delete;
  void cancel() override { exchange_->cancel(); }

 private:
  std::shared_ptr<Exchange> exchange_;
};

class NoStream final : public StreamHandle {
 public:
  explicit NoStream(std::shared_ptr<std::atomic<bool>> cancelled) : cancelled_(std::move(cancelled)) {}
  ~NoStream() override { *cancelled_ = true; }
  NoStream(const NoStream&) = delete;
  NoStream& operator=(const NoStream&) = delete;
  void cancel() override { *cancelled_ = true; }

 private:
  std::shared_ptr<std::atomic<bool>> cancelled_;
};

class CurlTransport final : public Transport {
 public:
  explicit CurlTransport(std::shared_ptr<const ExchangeContext> context) : context_(std::move(context)) {}

  Result<Response> call(const Request& request) override {
    if (request.stop.stop_requested()) return fail(Category::kCancelled, "cancelled");
    if (context_->loop->on_thread()) return fail(Category::kInternal, "a blocking call on the I/O thread");
    const auto collector = std::make_shared<Collector>();
    const auto exchange = std::make_shared<Exchange>(context_, request, collector);
    exchange->begin();
    auto response = collector->wait();
    if (!response) exchange->cancel();  // the rest of an answer that is too long is not waited for
    if (response && log::enabled(8)) log::info(8, "http", "< " + shorten_for_log(log::redact_body(response->body)));
    return response;
  }

  std::unique_ptr<StreamHandle> stream(const Request& request, std::shared_ptr<StreamSink> sink) override {
    auto exchange = std::make_shared<Exchange>(context_, request, std::move(sink));
    exchange->begin_without_blocking();
    return std::make_unique<CurlStream>(std::move(exchange));
  }

  std::string address() const override { return context_->config.server; }

 private:
  std::shared_ptr<const ExchangeContext> context_;
};

/// Stands in for a connection that the configuration forbids: every request answers why.
class RefusedTransport final : public Transport {
 public:
  RefusedTransport(Error error, std::shared_ptr<IoLoop> loop) : error_(std::move(error)), loop_(std::move(loop)) {}

  Result<Response> call(const Request&) override { return fail(error_); }

  std::unique_ptr<StreamHandle> stream(const Request&, std::shared_ptr<StreamSink> sink) override {
    auto cancelled = std::make_shared<std::atomic<bool>>(false);
    loop_->post([sink = std::move(sink), error = error_, cancelled] {
      if (!*cancelled) sink->on_end(error);
    });
    return std::make_unique<NoStream>(cancelled);
  }

 private:
  Error error_;
  std::shared_ptr<IoLoop> loop_;
};

}  // namespace

std::string_view to_string(Method method) {
  switch (method) {
    case Method::kGet: return "GET";
    case Method::kPost: return "POST";
    case Method::kPut: return "PUT";
    case Method::kPatch: return "PATCH";
    case Method::kDelete: return "DELETE";
    case Method::kHead: return "HEAD";
  }
  return "GET";
}

std::shared_ptr<Transport> make_transport(const RestConfig& config, std::shared_ptr<IoLoop> loop) {
  auto endpoint = parse_endpoint(config);
  if (!endpoint) {
    Error error = endpoint.error();
    error.cluster = config.name;
    return std::make_shared<RefusedTransport>(std::move(error), std::move(loop));
  }
  auto context = std::make_shared<ExchangeContext>();
  context->config = config;
  context->endpoint = std::move(*endpoint);
  context->user_agent = config.user_agent.empty() ? default_user_agent() : config.user_agent;
  // Between processes of one machine there is no bandwidth to save, and the server's half of the time would go into it.
  context->compress = !config.disable_compression && !context->endpoint.loopback;
  context->authority = context->endpoint.port == kHttpsPort ? context->endpoint.host : context->endpoint.authority();
  context->loop = std::static_pointer_cast<EpollLoop>(loop);  // there is no other
  give_connections(context);
  if (!context->http2) context->trusted = trust_store(config.ca_data);
  return std::make_shared<CurlTransport>(std::move(context));
}

}  // namespace fleetadm::kube
