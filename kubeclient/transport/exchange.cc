#include "kubeclient/transport/exchange.h"

#include <algorithm>
#include <utility>

#include "kubeclient/base/log.h"
#include "kubeclient/config/credentials.h"
#include "kubeclient/transport/curl_wire.h"
#include "kubeclient/transport/http2_stream.h"
#include "kubeclient/transport/observer.h"
#include "kubeclient/transport/request_options.h"

namespace fleetadm::kube {

namespace {

constexpr std::size_t kMaxHeldBody = std::size_t{64} * 1024;
constexpr std::string_view kLog = "http";

/// The connection ended under a transfer.
bool is_cut(CURLcode code) {
  return code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR || code == CURLE_HTTP2 ||
         code == CURLE_HTTP2_STREAM;
}

/// A user's name and password, and paths that have to be escaped, are left to libcurl.
bool is_for_http2(const Outgoing& request) {
  const bool is_basic = request.credentials.token.empty() && !request.credentials.username.empty();
  return !is_basic && std::ranges::none_of(request.path, [](char c) { return c <= ' ' || c == '\x7f'; });
}

}  // namespace

std::string shorten_for_log(std::string body) {
  const std::size_t limit = log::enabled(9) ? 10240 : 1024;
  if (body.size() <= limit) return body;
  const std::size_t cut = body.size() - limit;
  body.resize(limit);
  return body + " [" + std::to_string(cut) + " more bytes]";
}

Exchange::Exchange(std::shared_ptr<const ExchangeContext> context, Request request, std::shared_ptr<StreamSink> sink)
    : context_(std::move(context)),
      request_(std::move(request)),
      started_(std::chrono::steady_clock::now()),
      deadline_(request_.timeout > Duration::zero() ? started_ + request_.timeout : std::chrono::steady_clock::time_point::max()),
      sink_(std::move(sink)) {
  target_ = context_->endpoint.prefix + request_.path + encode_query(std::exchange(request_.query, {}));
}

Exchange::~Exchange() = default;

void Exchange::begin() { authorize_and_send(); }

void Exchange::begin_without_blocking() {
  const auto& credentials = context_->config.credentials;
  if (credentials && credentials->blocks()) {
    context_->loop->offload([self = shared_from_this()] { self->authorize_and_send(); });
  } else {
    authorize_and_send();
  }
}

void Exchange::authorize_and_send() {
  Result<Credentials> credentials = Credentials{};
  // Over plain http no credential leaves the process.
  const auto& source = context_->config.credentials;
  if (source && context_->endpoint.scheme == "https") {
    credentials = source->current_within(deadline_, request_.stop);
  }
  context_->loop->post([self = shared_from_this(), credentials = std::move(credentials)] {
    if (!credentials) return self->finish(credentials.error());
    self->send(*credentials);
  });
}

void Exchange::cancel() {
  if (context_->loop->on_thread()) {
    cancelled_ = true;
  } else {
    // Whoever is inside the sink now finishes first.
    const std::scoped_lock lock(sink_mutex_);
    cancelled_ = true;
  }
  context_->loop->post([self = shared_from_this()] { self->finish(std::nullopt); });
}

template <class Call>
void Exchange::deliver(const Call& call) {
  const std::scoped_lock lock(sink_mutex_);
  if (cancelled_ || !sink_) return;
  const auto sink = sink_;
  call(*sink);
}

void Exchange::abort(Error error) {
  context_->loop->post([self = shared_from_this(), error = std::move(error)] { self->finish(error); });
}

void Exchange::finish(std::optional<Error> error) {
  if (finished_) return;
  finished_ = true;
  const auto keep = shared_from_this();
  self_.reset();
  await_answer(false);
  if (sent_) tell_observer(error);
  wire_.reset();
  on_stop_.reset();
  deliver([&](StreamSink& sink) { sink.on_end(std::move(error)); });
  const std::scoped_lock lock(sink_mutex_);
  sink_.reset();
}

Status Exchange::prepare(Credentials credentials) {
  outgoing_ = {};
  FLEETADM_TRY(outgoing_.headers, request_headers(context_->config, context_->endpoint, request_));
  for (const auto& [name, value] : outgoing_.headers) log_header("> ", name + ": " + value);
  if (!credentials.token.empty()) {
    FLEETADM_TRY(std::string value, bearer(credentials));
    outgoing_.headers.emplace_back("Authorization", std::move(value));
    log::info(7, kLog, "> Authorization: Bearer <redacted>");
  }
  outgoing_.method = request_.method;
  outgoing_.path = target_;
  outgoing_.authority = context_->authority;
  outgoing_.user_agent = context_->user_agent;
  outgoing_.compress = context_->compress;
  outgoing_.body = &request_.body;
  outgoing_.credentials = std::move(credentials);
  outgoing_.deadline = deadline_;
  return {};
}

void Exchange::send(Credentials credentials) {
  if (finished_) return;
  if (cancelled_) return finish(std::nullopt);
  if (request_.stop.stop_requested()) return finish(fail(Category::kCancelled, "cancelled").value());
  sent_ = true;
  await_answer(true);
  wire_.reset();
  response_headers_.clear();
  body_bytes_ = 0;
  status_ = 0;
  if (auto prepared = prepare(std::move(credentials)); !prepared) return finish(prepared.error());
  if (log::enabled(8) && !request_.body.empty()) log::info(8, kLog, "> " + shorten_for_log(log::redact_body(request_.body)));
  self_ = shared_from_this();
  if (!on_stop_ && request_.stop.stop_possible()) {
    on_stop_.emplace(request_.stop, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->abort(fail(Category::kCancelled, "cancelled").value());
    });
  }
  put_on_wire();
}

void Exchange::put_on_wire() {
  if (context_->http2 && context_->http2->usable() && is_for_http2(outgoing_)) {
    auto wire = context_->http2->make_wire(outgoing_, *this);
    Http2Stream& stream = *wire;
    wire_ = std::move(wire);
    return context_->http2->send(stream);
  }
  auto wire = std::make_unique<CurlWire>(*context_, outgoing_, *this);
  CurlWire& transfer = *wire;
  wire_ = std::move(wire);
  if (auto started = transfer.start(); !started) finish(started.error());
}

void Exchange::take_refusal() {
  wire_.reset();
  put_on_wire();
}

template <class Take>
bool Exchange::guarded(const Take& take) {
  try {
    return take();
  } catch (const std::exception& problem) {
    thrown_ = problem.what();
    return false;
  }
}

bool Exchange::take_head(int status, std::map<std::string, std::string> headers) {
  return guarded([&] { return head_complete(status, std::move(headers)); });
}

bool Exchange::head_complete(int status, std::map<std::string, std::string> headers) {
  status_ = status;
  response_headers_ = std::move(headers);
  // It is not sent again as it was, and a watch goes on for minutes. Assigned to, strings would keep their memory.
  std::exchange(outgoing_.headers, std::vector<std::pair<std::string, std::string>>());
  std::exchange(outgoing_.credentials, Credentials());
  if (log::enabled(8)) {
    for (const auto& [name, value] : response_headers_) log_header("< ", name + ": " + value);
  }
  hold_ = status_ == 401 && !repeated_ && context_->config.credentials != nullptr;
  if (hold_) return !cancelled_;
  await_answer(false);
  deliver_head();
  return !cancelled_;
}

void Exchange::deliver_head() {
  // A watch goes on for minutes: what it does not need any more is not kept.
  const auto headers = std::exchange(response_headers_, {});
  if (const auto id = headers.find("audit-id"); id != headers.end()) audit_id_ = id->second;
  log_outcome(std::to_string(status_));
  deliver([&](StreamSink& sink) { sink.on_response(status_, headers); });
}

bool Exchange::take_body(std::string_view data) {
  if (cancelled_) return false;
  body_bytes_ += data.size();
  return guarded([&] {
    if (hold_) {
      if (held_body_.size() < kMaxHeldBody) held_body_.append(data.substr(0, kMaxHeldBody));
      return true;
    }
    deliver([&](StreamSink& sink) { sink.on_data(data); });
    return !cancelled_;
  });
}

void Exchange::take_end(const std::optional<CurlFailure>& failure) {
  if (cancelled_) return finish(std::nullopt);
  // kube-apiserver closes an HTTP/2 connection right after a 401, sometimes before the answer is through: the status says it all.
  const bool answered = !failure || (status_ == 401 && thrown_.empty() && is_cut(failure->code));
  if (!answered) {
    Error error = thrown_.empty() ? connection_error(*failure, context_->config, context_->endpoint)
                                  : fail(Category::kInternal, "the answer cannot be taken: " + thrown_).value();
    log_outcome(error.message);
    return finish(std::move(error));
  }
  if (hold_) return after_unauthorized();
  finish(std::nullopt);
}

void Exchange::after_unauthorized() {
  repeated_ = true;
  hold_ = false;
  const auto decide = [self = shared_from_this()] {
    const bool again = self->context_->config.credentials->refresh();
    if (again) return self->authorize_and_send();
    self->context_->loop->post([self] {
      if (self->finished_) return;
      self->deliver_head();
      self->deliver([&](StreamSink& sink) { sink.on_data(self->held_body_); });
      self->finish(std::nullopt);
    });
  };
  if (context_->config.credentials->blocks()) {
    context_->loop->offload(decide);
  } else {
    decide();
  }
}

std::string Exchange::url() const { return server_url(context_->config, context_->endpoint) + target_; }

void Exchange::log_outcome(std::string_view outcome) const {
  if (!log::enabled(5)) return;
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - started_).count();
  std::string text = std::string(to_string(request_.method)) + " " + (log::enabled(6) ? url() : request_.path) + " " +
                     std::string(outcome) + " in " + std::to_string(took) + " ms";
  if (log::enabled(6) && !audit_id_.empty()) text += ", id " + audit_id_;
  log::info(5, kLog, text);
}

void Exchange::await_answer(bool awaited) {
  if (awaited == awaited_) return;
  awaited_ = awaited;
  const auto observer = request_observer();
  if (!observer) return;
  if (awaited) {
    observer->sent();
  } else {
    observer->answered();
  }
}

void Exchange::tell_observer(const std::optional<Error>& error) const {
  const auto observer = request_observer();
  if (!observer) return;
  RequestFacts facts;
  facts.method = request_.method;
  facts.url = url();
  facts.status = status_;
  if (error) facts.error = error->message;
  facts.id = audit_id_;
  facts.begun = started_;
  facts.took = std::chrono::steady_clock::now() - started_;
  facts.sent = request_.body.size();
  facts.received = body_bytes_;
  observer->ended(facts);
}

}  // namespace fleetadm::kube
