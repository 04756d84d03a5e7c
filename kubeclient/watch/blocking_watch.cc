#include "kubeclient/watch/blocking_watch.h"

#include "kubeclient/watch/json_lines.h"

namespace fleetadm::kube {

namespace {
constexpr std::size_t kMaxWaitingEvents = std::size_t{256} * 1024 * 1024;  // bytes of events that nobody read yet
constexpr std::size_t kMaxErrorBody = std::size_t{64} * 1024;
}  // namespace

class BlockingWatch::Sink final : public StreamSink {
 public:
  explicit Sink(std::string path) : path_(std::move(path)) {}

  void on_response(int status, const std::map<std::string, std::string>&) override { status_ = status; }

  void on_data(std::string_view chunk) override {
    const std::scoped_lock lock(mutex_);
    if (ended_) return;
    if (status_ != 200) {
      if (error_body_.size() < kMaxErrorBody) error_body_ += chunk.substr(0, kMaxErrorBody);
      return;
    }
    const bool fits = lines_.feed(chunk, [&](std::string_view line) {
      waiting_bytes_ += line.size();
      waiting_.emplace_back(line);
    });
    if (!fits || waiting_bytes_ > kMaxWaitingEvents) {
      ended_ = Ended{fail(Category::kUnavailable, "the watch brings more than is read").value()};
    }
    changed_.notify_all();
  }

  void on_end(std::optional<Error> error) override {
    const std::scoped_lock lock(mutex_);
    if (!error && status_ != 200) {
      Request request;
      request.path = path_;
      Response response;
      response.status = status_;
      response.body = error_body_;
      error = error_of(response, request);
    }
    if (!ended_) ended_ = Ended{std::move(error)};
    changed_.notify_all();
  }

  Next next(Duration timeout, const std::stop_token& stop) {
    std::string line;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, stop, timeout, [&] { return !waiting_.empty() || ended_; });
      if (stop.stop_requested()) return Waiting{};
      if (waiting_.empty()) {
        if (ended_) return *ended_;
        return Waiting{};
      }
      line = std::move(waiting_.front());
      waiting_.pop_front();
      waiting_bytes_ -= line.size();
    }
    auto event = parse_json(line);
    if (!event) return Ended{event.error().wrap("a watch event cannot be read")};
    Event out;
    out.type = str(*event, {"type"});
    out.object = object_at(*event, {"object"});
    if (out.type == "ERROR") {
      Request request;
      request.path = path_;
      Response response;
      response.status = static_cast<int>(num(out.object, {"code"}, 500));
      response.body = dump_json(out.object);
      return Ended{error_of(response, request)};
    }
    return out;
  }

 private:
  const std::string path_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  int status_ = 0;
  std::string error_body_;
  JsonLines lines_;
  std::deque<std::string> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::optional<Ended> ended_;
};

BlockingWatch::BlockingWatch(const Client& client, const Resource& resource, std::string_view ns, const ListOptions& options,
                             const std::string& version, Duration timeout) {
  Request request;
  request.path = resource.path(ns);
  request.query.emplace_back("watch", "true");
  request.query.emplace_back("allowWatchBookmarks", "true");
  if (!options.label_selector.empty()) request.query.emplace_back("labelSelector", options.label_selector);
  if (!options.field_selector.empty()) request.query.emplace_back("fieldSelector", options.field_selector);
  if (!version.empty()) request.query.emplace_back("resourceVersion", version);
  const auto seconds = std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::seconds>(timeout).count(), 1);
  request.query.emplace_back("timeoutSeconds", std::to_string(seconds));
  request.timeout = std::chrono::seconds(seconds + 15);
  sink_ = std::make_shared<Sink>(request.path);
  stream_ = client.transport()->stream(request, sink_);
}

BlockingWatch::~BlockingWatch() = default;

BlockingWatch::Next BlockingWatch::next(Duration timeout, const std::stop_token& stop) { return sink_->next(timeout, stop); }

}  // namespace fleetadm::kube
