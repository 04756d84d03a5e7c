#include "kubeclient/transport/exchange.h"

#include <algorithm>
#include <utility>

#include "kubeclient/base/log.h"
#include "kubeclient/config/credentials.h"
#include "kubeclient/transport/observer.h"
#include "kubeclient/transport/request_options.h"

namespace fleetadm::kube {

namespace {

constexpr std::size_t kMaxHeldBody = 64U * 1024U;
constexpr std::size_t kMaxHeaderBytes = 256U * 1024U;
constexpr std::string_view kLog = "http";

/// The connection ended under a transfer.
bool is_cut(CURLcode code) {
  return code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR || code == CURLE_HTTP2 ||
         code == CURLE_HTTP2_STREAM;
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
  url_ = server_url(context_->config, context_->endpoint) + context_->endpoint.prefix + request_.path +
         encode_query(std::exchange(request_.query, {}));
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
    const auto patient = std::dynamic_pointer_cast<PatientSource>(source);
    credentials = patient ? patient->current_within(deadline_, request_.stop) : source->current();
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
  if (easy_) tell_observer(error);
  if (easy_) context_->multi->remove(easy_.get());
  easy_.reset();
  on_stop_.reset();
  deliver([&](StreamSink& sink) { sink.on_end(std::move(error)); });
  const std::scoped_lock lock(sink_mutex_);
  sink_.reset();
}

Status Exchange::add_headers(const Credentials& credentials) {
  FLEETADM_TRY(const auto headers, request_headers(context_->config, context_->endpoint, request_));
  headers_.reset();
  const auto add = [this](const std::string& line) -> Status {
    curl_slist* grown = curl_slist_append(headers_.get(), line.c_str());
    if (grown == nullptr) return fail(Category::kInternal, "out of memory");
    static_cast<void>(headers_.release());
    headers_.reset(grown);
    return {};
  };
  for (const auto& [name, value] : headers) {
    // "Name;" is libcurl's spelling of a header without a value.
    FLEETADM_CHECK(add(value.empty() ? name + ";" : name + ": " + value));
    if (log::enabled(7)) log_header("> ", name + ": " + value);
  }
  if (!credentials.token.empty()) {
    FLEETADM_TRY(const std::string value, bearer(credentials));
    FLEETADM_CHECK(add("Authorization: " + value));
    log::info(7, kLog, "> Authorization: Bearer <redacted>");
  }
  // No "Expect: 100-continue" round trip for large bodies.
  return add("Expect:");
}

void Exchange::set_options(CURL* easy, const Credentials& credentials) {
  const auto& config = context_->config;
  const auto& endpoint = context_->endpoint;
  curl_easy_setopt(easy, CURLOPT_URL, url_.c_str());
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, context_->user_agent.c_str());
  if (context_->compress) curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
  // libcurl 7.88 pauses an HTTP/2 connection where a frame does not fit into its transfer's buffer, and forgets that the frame
  // was the stream's last until the server sends something else. Pages that are not used cost nothing, so the buffer is large.
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, static_cast<long>(CURL_MAX_READ_SIZE));
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, detail_.data());
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &Exchange::on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Exchange::on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers_.get());

  set_connection_options(easy, config, endpoint, credentials, context_->trusted.get(), connect_to_);
  if (deadline_ != std::chrono::steady_clock::time_point::max()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - std::chrono::steady_clock::now()).count();
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(std::max<std::int64_t>(left, 1)));
  }
  if (credentials.token.empty() && !credentials.username.empty()) {
    curl_easy_setopt(easy, CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
    curl_easy_setopt(easy, CURLOPT_USERNAME, credentials.username.c_str());
    curl_easy_setopt(easy, CURLOPT_PASSWORD, credentials.password.c_str());
  }

  if (request_.method == Method::kHead) {
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  } else if (request_.method != Method::kGet || !request_.body.empty()) {
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, std::string(to_string(request_.method)).c_str());
    if (request_.method != Method::kDelete || !request_.body.empty()) {
      curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
      curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request_.body.data());
    }
  }
}

void Exchange::send(const Credentials& credentials) {
  if (finished_) return;
  if (cancelled_) return finish(std::nullopt);
  if (request_.stop.stop_requested()) return finish(fail(Category::kCancelled, "cancelled").value());
  easy_.reset(curl_easy_init());
  if (!easy_) return finish(fail(Category::kInternal, "out of memory").value());
  await_answer(true);
  detail_.fill(0);
  response_headers_.clear();
  header_bytes_ = 0;
  body_bytes_ = 0;
  status_ = 0;
  if (auto added = add_headers(credentials); !added) return finish(added.error());
  set_options(easy_.get(), credentials);
  if (log::enabled(8) && !request_.body.empty()) log::info(8, kLog, "> " + shorten_for_log(log::redact_body(request_.body)));
  self_ = shared_from_this();
  if (!on_stop_ && request_.stop.stop_possible()) {
    on_stop_.emplace(request_.stop, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->abort(fail(Category::kCancelled, "cancelled").value());
    });
  }
  context_->multi->add(easy_.get(), [this](CURLcode code) { on_done(code); });
}

template <class Take>
std::size_t Exchange::guarded(std::size_t length, const Take& take) {
  try {
    return take();
  } catch (const std::exception& problem) {
    // Nothing may be thrown through libcurl.
    thrown_ = problem.what();
    return length + 1;  // not what it gave: it ends the transfer
  }
}

std::size_t Exchange::on_header(char* data, std::size_t size, std::size_t count, void* self_pointer) {
  auto* self = static_cast<Exchange*>(self_pointer);
  self->context_->multi->delivered();
  return self->guarded(size * count, [&] { return self->take_header({data, size * count}); });
}

std::size_t Exchange::take_header(std::string_view line) {
  const std::size_t length = line.size();
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  if (line.starts_with("HTTP/")) {
    response_headers_.clear();  // of a 1xx before
    header_bytes_ = 0;
    return length;
  }
  if (line.empty()) {
    head_complete();
    return cancelled_ ? 0 : length;
  }
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return length;
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  auto value = line.substr(colon + 1);
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  header_bytes_ += length + 64U;
  if (header_bytes_ > kMaxHeaderBytes) return 0;
  auto& slot = response_headers_[std::move(name)];
  if (!slot.empty()) slot += ", ";
  slot += value;
  return length;
}

void Exchange::head_complete() {
  long status = 0;
  long version = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(easy_.get(), CURLINFO_HTTP_VERSION, &version);
  if (status < 200 || head_delivered_) return;  // 1xx, or trailers
  status_ = static_cast<int>(status);
  context_->multi->learned_version(version);
  if (log::enabled(8)) {
    for (const auto& [name, value] : response_headers_) log_header("< ", name + ": " + value);
  }
  hold_ = status_ == 401 && !repeated_ && context_->config.credentials != nullptr;
  if (hold_) return;
  await_answer(false);
  deliver_head();
}

void Exchange::deliver_head() {
  head_delivered_ = true;
  // A watch goes on for minutes: what it does not need any more is not kept.
  const auto headers = std::exchange(response_headers_, {});
  if (const auto id = headers.find("audit-id"); id != headers.end()) audit_id_ = id->second;
  log_outcome(std::to_string(status_));
  deliver([&](StreamSink& sink) { sink.on_response(status_, headers); });
}

std::size_t Exchange::on_body(char* data, std::size_t size, std::size_t count, void* self_pointer) {
  auto* self = static_cast<Exchange*>(self_pointer);
  self->context_->multi->delivered();
  return self->guarded(size * count, [&] { return self->take_body({data, size * count}); });
}

std::size_t Exchange::take_body(std::string_view data) {
  if (cancelled_) return 0;
  body_bytes_ += data.size();
  if (hold_) {
    if (held_body_.size() < kMaxHeldBody) held_body_.append(data.substr(0, kMaxHeldBody));
    return data.size();
  }
  deliver([&](StreamSink& sink) { sink.on_data(data); });
  return cancelled_ ? 0 : data.size();
}

void Exchange::on_done(CURLcode code) {
  if (cancelled_) return finish(std::nullopt);
  // kube-apiserver closes an HTTP/2 connection right after a 401, sometimes before the answer is through: the status says it all.
  const bool answered = code == CURLE_OK || (status_ == 401 && thrown_.empty() && is_cut(code));
  if (!answered) {
    if (code == CURLE_OPERATION_TIMEDOUT && status_ == 0) context_->multi->unanswered();
    Error error = thrown_.empty() ? connection_error(easy_.get(), code, detail_.data(), context_->config, context_->endpoint)
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

void Exchange::log_outcome(std::string_view outcome) const {
  if (!log::enabled(5)) return;
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - started_).count();
  std::string text = std::string(to_string(request_.method)) + " " + (log::enabled(6) ? url_ : request_.path) + " " +
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
  facts.url = url_;
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
