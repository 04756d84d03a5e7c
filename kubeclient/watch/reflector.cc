#include "kubeclient/watch/reflector.h"

#include <algorithm>

#include "kubeclient/base/json_shallow.h"
#include "kubeclient/base/log.h"

namespace fleetadm::kube {

namespace {

constexpr int kPage = 500;
constexpr Duration kLongLife = std::chrono::seconds(10);
constexpr Duration kHeadTimeout = std::chrono::seconds(30);
constexpr Duration kSilence = std::chrono::seconds(15);
constexpr Duration kListTimeout = std::chrono::seconds(120);
constexpr std::size_t kMaxErrorText = std::size_t{64} * 1024;

bool version_too_large(const Error& error) { return error.message.find("Too large resource version") != std::string::npos; }

}  // namespace

/// Carries a stream's calls to the reflector while both still belong together.
class Reflector::Sink final : public StreamSink {
 public:
  Sink(std::weak_ptr<Reflector> owner, std::uint64_t generation) : owner_(std::move(owner)), generation_(generation) {}

  void on_response(int status, const std::map<std::string, std::string>&) override {
    with([&](Reflector& r) { r.head(status); });
  }
  void on_data(std::string_view chunk) override {
    with([&](Reflector& r) { r.data(chunk); });
  }
  void on_end(std::optional<Error> error) override {
    with([&](Reflector& r) { r.end(std::move(error)); });
  }

 private:
  template <class Call>
  void with(const Call& call) {
    const auto owner = owner_.lock();
    if (!owner || owner->stopped_ || owner->generation_ != generation_) return;
    try {
      call(*owner);
    } catch (const std::exception& e) {
      // A handler or projection that throws is a defect; the list or watch it broke is done again.
      if (owner->generation_ != generation_) return;
      owner->failed(fail(Category::kInternal, std::string("watch of ") + owner->resource_.qualified() + ": " + e.what()).value(),
                    true);
    }
  }

  std::weak_ptr<Reflector> owner_;
  std::uint64_t generation_;
};

std::shared_ptr<Informer> Informer::make(Client client, Resource resource, InformerOptions options,
                                         std::shared_ptr<IoLoop> loop) {
  return std::make_shared<Reflector>(std::move(client), std::move(resource), std::move(options), std::move(loop));
}

Reflector::Reflector(Client client, Resource resource, InformerOptions options, std::shared_ptr<IoLoop> loop)
    : client_(std::move(client)),
      resource_(std::move(resource)),
      options_(std::move(options)),
      loop_(std::move(loop)),
      store_(options_.indexes) {}

Reflector::~Reflector() {
  stopped_ = true;
  if (timer_ != 0) loop_->cancel(timer_);
  if (watchdog_ != 0) loop_->cancel(watchdog_);
}

void Reflector::on_event(EventHandler handler) { handlers_.push_back(std::move(handler)); }

void Reflector::on_synced(std::function<void()> handler) { synced_handlers_.push_back(std::move(handler)); }

void Reflector::start() {
  if (started_.exchange(true)) return;
  loop_->post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->step();
  });
}

void Reflector::stop() {
  stopped_ = true;
  if (handler_thread_.load() != std::this_thread::get_id()) {
    const std::scoped_lock wait_for_handlers(handler_mutex_);
  }
  { const std::scoped_lock lock(state_mutex_); }
  synced_changed_.notify_all();
  loop_->post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    ++self->generation_;
    self->stream_.reset();
  });
}

bool Reflector::synced() const {
  const std::scoped_lock lock(state_mutex_);
  return synced_;
}

bool Reflector::wait_synced(Duration timeout, std::stop_token stop) const {
  std::unique_lock lock(state_mutex_);
  synced_changed_.wait_for(lock, stop, timeout, [&] { return synced_ || stopped_; });
  return synced_;
}

std::optional<Error> Reflector::last_error() const {
  const std::scoped_lock lock(state_mutex_);
  return last_error_ ? std::optional(*last_error_) : std::nullopt;
}

// ---- what to ask for ----

Request Reflector::watch_request(bool initial_events) {
  Request request;
  request.path = resource_.path(options_.ns);
  request.query.emplace_back("watch", "true");
  request.query.emplace_back("allowWatchBookmarks", "true");
  if (initial_events) {
    request.query.emplace_back("sendInitialEvents", "true");
    request.query.emplace_back("resourceVersionMatch", "NotOlderThan");
  }
  if (!options_.label_selector.empty()) request.query.emplace_back("labelSelector", options_.label_selector);
  if (!options_.field_selector.empty()) request.query.emplace_back("fieldSelector", options_.field_selector);
  if (!last_version_.empty() && !(initial_events && version_unavailable_)) {
    request.query.emplace_back("resourceVersion", last_version_);
  }
  const auto timeout = std::chrono::ceil<std::chrono::seconds>(jittered(std::chrono::minutes(5), 1.0));
  request.query.emplace_back("timeoutSeconds", std::to_string(timeout.count()));
  // The server ends it first; a proxy that hangs does not.
  request.timeout = timeout + std::chrono::seconds(30);
  return request;
}

Request Reflector::list_page(const std::string& token) {
  Request request;
  request.path = resource_.path(options_.ns);
  if (!options_.label_selector.empty()) request.query.emplace_back("labelSelector", options_.label_selector);
  if (!options_.field_selector.empty()) request.query.emplace_back("fieldSelector", options_.field_selector);
  request.timeout = kListTimeout;
  if (!token.empty()) {
    request.query.emplace_back("limit", std::to_string(kPage));
    request.query.emplace_back("continue", token);
    return request;
  }
  // Never back in time: what was seen once is the least that a relist may answer.
  const std::string version = version_unavailable_ ? "" : last_version_.empty() ? "0" : last_version_;
  if (version.empty() || version == "0") request.query.emplace_back("limit", std::to_string(kPage));
  if (!version.empty()) request.query.emplace_back("resourceVersion", version);
  return request;
}

void Reflector::step() {
  timer_ = 0;
  if (stopped_) return;
  if (!need_list_) return open(Phase::kWatch, watch_request(false));
  staged_.clear();
  left_out_.clear();
  list_version_.clear();
  if (streaming_lists_) return open(Phase::kStreamingList, watch_request(true));
  open(Phase::kList, list_page({}));
}

void Reflector::open(Phase phase, const Request& request) {
  phase_ = phase;
  ++generation_;
  status_ = 0;
  events_seen_ = 0;
  error_body_.clear();
  stream_error_.reset();
  lines_ = {};
  scanner_.reset();
  if (phase == Phase::kList) {
    scanner_ = std::make_unique<ListScanner>([this](std::string_view text) -> Status {
      FLEETADM_TRY(ShallowJson item, parse_json_shallow(text, kMaxObjectDepth));
      if (!item.value.is_object()) return fail(Category::kInvalid, "an item of the server's list is no object");
      if (!item.cut) return take_object(std::move(item.value), staged_);
      leave_out(item.value, &staged_);
      return {};
    });
  }
  opened_ = std::chrono::steady_clock::now();
  stream_.reset();
  stream_ = client_.transport()->stream(request, std::make_shared<Sink>(weak_from_this(), generation_));
  arm_watchdog();
}

void Reflector::arm_watchdog() {
  if (watchdog_ != 0) loop_->cancel(std::exchange(watchdog_, 0));
  if (phase_ == Phase::kList) return;
  const auto patience = status_ == 0 ? kHeadTimeout : kSilence;
  watchdog_ = loop_->after(patience, [weak = weak_from_this(), generation = generation_, seen = events_seen_, status = status_] {
    const auto self = weak.lock();
    if (!self) return;
    self->watchdog_ = 0;
    if (self->stopped_ || self->generation_ != generation) return;
    if (self->status_ == 0) {
      return self->failed(
          fail(Category::kTimeout, "the server did not answer the watch of " + self->resource_.qualified()).value(), false);
    }
    if (self->phase_ != Phase::kStreamingList) return;
    if (status != 0 && self->events_seen_ == seen) {
      // A server that does not know streaming lists never says that the list is complete.
      self->streaming_lists_ = false;
      return self->step();
    }
    self->arm_watchdog();
  });
}

// ---- what comes back ----

void Reflector::head(int status) {
  status_ = status;
  if (phase_ == Phase::kStreamingList) arm_watchdog();
  if (phase_ == Phase::kWatch && status >= 200 && status < 300) recovered();
}

void Reflector::data(std::string_view chunk) {
  if (stream_error_) return;
  if (status_ < 200 || status_ >= 300) {
    error_body_ += chunk.substr(0, kMaxErrorText - std::min(kMaxErrorText, error_body_.size()));
    return;
  }
  Status read;
  if (phase_ == Phase::kList) {
    read = scanner_->feed(chunk);
  } else if (!lines_.feed(chunk, [this](std::string_view line) {
               if (!stream_error_) watch_line(line);
             })) {
    read = fail(Category::kInvalid, "a watch event is too long");
  }
  if (!read) stream_error_ = std::make_unique<Error>(read.error());
  if (!stream_error_) return;
  // Nothing more of this stream is wanted; what it broke is repaired outside of its own call.
  loop_->post([weak = weak_from_this(), generation = generation_] {
    const auto self = weak.lock();
    if (!self || self->stopped_ || self->generation_ != generation) return;
    self->end(std::nullopt);
  });
}

void Reflector::end(std::optional<Error> error) {
  if (stream_error_) {
    error = std::move(*stream_error_);
  } else if (!error && (status_ < 200 || status_ >= 300)) {
    Request request;
    request.path = resource_.path(options_.ns);
    Response response;
    response.status = status_;
    response.body = std::move(error_body_);
    error = error_of(response, request);
  }
  ++generation_;
  stream_.reset();
  if (!error) return phase_ == Phase::kList ? end_list() : end_watch();

  const bool gone = error->category == Category::kGone || version_too_large(*error);
  if (gone) {
    version_unavailable_ = true;
    return failed(std::move(*error), true);
  }
  if (phase_ == Phase::kStreamingList && error->code != 0 &&
      (error->category == Category::kInvalid || error->category == Category::kUnsupported)) {
    streaming_lists_ = false;
    return step();
  }
  if (phase_ == Phase::kWatch) {
    if (error->category == Category::kTimeout && error->code == 0 && status_ == 200) return end_watch();
    // The list may say better what is wrong (the type is gone, the permission was taken away).
    const bool refused = error->code >= 400 && error->code < 500 && error->code != 429;
    return failed(std::move(*error), refused || ++watch_failures_ >= 3);
  }
  failed(std::move(*error), true);
}

void Reflector::end_list() {
  auto envelope = scanner_->finish();
  if (!envelope) return failed(envelope.error(), true);
  if (list_version_.empty()) list_version_ = resource_version_of(*envelope);
  const std::string token = str(*envelope, {"metadata", "continue"});
  if (!token.empty()) return open(Phase::kList, list_page(token));
  if (list_version_.empty()) {
    return failed(fail(Category::kInvalid, "the server's list of " + resource_.qualified() + " has no resourceVersion").value(),
                  true);
  }
  commit(list_version_);
  step();
}

void Reflector::end_watch() {
  if (phase_ == Phase::kStreamingList) {
    streaming_lists_ = false;  // it ended before its list was complete
    return step();
  }
  const auto lived = std::chrono::steady_clock::now() - opened_;
  if (lived < std::chrono::seconds(1) && events_seen_ == 0) {
    return failed(fail(Category::kUnavailable, "the watch of " + resource_.qualified() + " ended at once").value(),
                  ++watch_failures_ >= 3);
  }
  watch_failures_ = 0;
  if (lived > kLongLife) backoff_.reset();
  step();
}

// ---- failures ----

void Reflector::recovered() {
  const std::scoped_lock lock(state_mutex_);
  last_error_.reset();
}

void Reflector::failed(Error error, bool list_again) {
  ++generation_;
  stream_.reset();
  if (phase_ == Phase::kWatch && std::chrono::steady_clock::now() - opened_ > kLongLife) backoff_.reset();
  if (list_again) need_list_ = true;
  if (error.cluster.empty()) error.cluster = client_.cluster_name();
  Duration delay = backoff_.next();
  delay = std::max<Duration>(delay, std::chrono::seconds(std::clamp(error.retry_after_seconds, 0, 60)));
  bool fresh = false;
  {
    const std::scoped_lock lock(state_mutex_);
    fresh = !last_error_ || last_error_->message != error.message;
    last_error_ = std::make_unique<Error>(error);
  }
  const std::string text = (list_again ? "list of " : "watch of ") + resource_.qualified() +
                           (error.cluster.empty() ? "" : " on " + error.cluster) + " failed: " + error.message + "; again in " +
                           format_duration(std::chrono::duration_cast<std::chrono::milliseconds>(delay));
  if (fresh && error.category != Category::kGone) {
    log::warn("informer", text);
  } else {
    log::info(2, "informer", text);
  }
  again_after(delay);
}

void Reflector::again_after(Duration delay) {
  if (timer_ != 0) loop_->cancel(timer_);
  timer_ = loop_->after(delay, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->step();
  });
}

}  // namespace fleetadm::kube
