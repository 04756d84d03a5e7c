#include "core/proxy/client/watch_many.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "core/proxy/client/gateway_access.h"
#include "kubeclient/base/backoff.h"
#include "kubeclient/rest/client.h"
#include "kubeclient/transport/answer_limit.h"
#include "kubeclient/watch/json_lines.h"

namespace fleetadm::proxy {
namespace {

using WatchTime = std::chrono::steady_clock::time_point;
constexpr auto kFirstRetry = std::chrono::milliseconds(500);
constexpr auto kLongestRetry = std::chrono::seconds(30);
constexpr auto kListPatience = std::chrono::seconds(32);
constexpr auto kWatchTime = std::chrono::minutes(5);
constexpr std::size_t kMaxWaiting = std::size_t{256} * 1024 * 1024;  // bytes of events that nobody has taken yet

struct Said {
  std::size_t which = 0;
  unsigned attempt = 0;
  int status = 0;
  bool over = false;
  std::string text;  // a line of a watch, or when it is over, a whole list or the body of a refusal
  std::optional<Error> error;
};

class NewsBox {
 public:
  /// False where more waits than can be kept.
  bool put(Said said) {
    const std::scoped_lock lock(mutex_);
    const bool fits = waiting_ + said.text.size() <= kMaxWaiting;
    if (!fits) said.text.clear();
    waiting_ += said.text.size();
    said_.push_back(std::move(said));
    ready_.notify_one();
    return fits;
  }
  std::deque<Said> take(WatchTime until, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    ready_.wait_until(lock, stop, until, [&] { return !said_.empty(); });
    waiting_ = 0;
    return std::exchange(said_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any ready_;
  std::deque<Said> said_;
  std::size_t waiting_ = 0;
};

class WatchSink final : public kube::StreamSink {
 public:
  WatchSink(std::shared_ptr<NewsBox> box, std::size_t which, unsigned attempt, bool lines)
      : box_(std::move(box)), which_(which), attempt_(attempt), lines_(lines) {}
  void on_response(int status, const std::map<std::string, std::string>&) override { status_ = status; }
  void on_data(std::string_view chunk) override {
    if (over_) return;
    if (lines_ && status_ == 200) {
      const bool fits = splitter_.feed(chunk, [this](std::string_view line) {
        if (!over_ && !box_->put({which_, attempt_, status_, false, std::string(line), {}})) too_much();
      });
      if (!fits) too_much();
    } else if (body_.size() + chunk.size() <= kube::kMaxAnswer) {
      body_ += chunk;
    } else {
      too_much();
    }
  }
  void on_end(std::optional<Error> error) override {
    if (std::exchange(over_, true)) return;
    box_->put({which_, attempt_, status_, true, std::move(body_), std::move(error)});
  }

 private:
  void too_much() { on_end(fail(Category::kInvalid, "the cluster sends more than can be shown").value()); }

  const std::shared_ptr<NewsBox> box_;
  const std::size_t which_;
  const unsigned attempt_;
  const bool lines_;
  kube::JsonLines splitter_;
  std::string body_;
  int status_ = 0;
  bool over_ = false;
};

/// The version of what an event is about; of a Table, that of its row.
std::string version_of_event(const Json& event) {
  const Json& object = object_at(event, {"object"});
  if (str(object, {"kind"}) != "Table") return str(object, {"metadata", "resourceVersion"});
  for (const Json& row : list_at(object, {"rows"}))
    if (const std::string version = str(row, {"object", "metadata", "resourceVersion"}); !version.empty()) return version;
  return str(object, {"metadata", "resourceVersion"});
}

class Watching {
 public:
  Watching(const WatchMany& plan, const std::function<kube::Request(std::size_t)>& request, std::vector<std::string> versions,
           const std::function<void(WatchNews)>& news)
      : plan_(plan), request_(request), news_(news), all_(plan.clusters.size()) {
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i].version = std::move(versions[i]);
  }

  void until_told() {
    while (!plan_.stop.stop_requested()) {
      WatchTime next = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      for (std::size_t which = 0; which < all_.size(); ++which) {
        One& one = all_[which];
        if (!one.handle && one.due <= std::chrono::steady_clock::now()) begin(which);
        if (!one.handle) next = std::min(next, one.due);
      }
      for (Said& said : box_->take(next, plan_.stop)) hear(std::move(said));
    }
  }

 private:
  struct One {
    std::unique_ptr<kube::StreamHandle> handle;
    std::string version;  // empty: a list comes first
    WatchTime due{};
    Backoff delays{kFirstRetry, kLongestRetry, 0.2};
    unsigned attempt = 0;
    bool listing = false;
    bool troubled = false;  // and told so
  };

  void begin(std::size_t which) {
    One& one = all_[which];
    const auto prefix = member_prefix(plan_.clusters[which]);
    kube::Request request = request_(which);
    if (prefix) request.path = *prefix + request.path;
    one.listing = one.version.empty();
    if (one.listing) {
      request.timeout = kListPatience;
    } else {
      request.timeout = Duration::zero();
      request.query.emplace_back("watch", "true");
      request.query.emplace_back("allowWatchBookmarks", "true");
      request.query.emplace_back("resourceVersion", one.version);
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(jittered(kWatchTime, 0.5)).count();
      request.query.emplace_back("timeoutSeconds", std::to_string(seconds));
    }
    one.handle = plan_.gateway.stream(request, std::make_shared<WatchSink>(box_, which, ++one.attempt, !one.listing));
  }

  void again(std::size_t which, std::optional<Error> error) {
    One& one = all_[which];
    one.handle.reset();
    one.due = std::chrono::steady_clock::now() + one.delays.next();
    if (!error || std::exchange(one.troubled, true)) return;
    news_({which, WatchNews::Kind::kEnded, {}, std::move(error)});
  }

  void well(One& one) {
    one.delays.reset();
    one.troubled = false;
  }

  void hear(Said said) {
    One& one = all_[said.which];
    if (!one.handle || said.attempt != one.attempt) return;
    if (!said.over) return hear_event(said);
    if (said.error) return again(said.which, std::move(said.error));
    if (said.status < 200 || said.status > 299) {
      if (said.status == 410) one.version.clear();
      return again(said.which, kube::error_of({said.status, {}, std::move(said.text)}, request_(said.which)));
    }
    if (!one.listing) {
      well(one);  // the server's usual end
      return again(said.which, std::nullopt);
    }
    auto list = parse_json(said.text);
    const std::string version = list ? str(*list, {"metadata", "resourceVersion"}) : "";
    if (version.empty()) return again(said.which, fail(Category::kInvalid, "the cluster's list cannot be read").value());
    one.version = version;
    one.handle.reset();
    well(one);
    news_({said.which, WatchNews::Kind::kRelisted, std::move(*list), {}});
  }

  void hear_event(const Said& said) {
    One& one = all_[said.which];
    auto event = parse_json(said.text);
    if (!event) return again(said.which, fail(Category::kInvalid, "the cluster's event cannot be read").value());
    if (str(*event, {"type"}) == "ERROR") {
      // What was asked for is forgotten there, or something else that a new list heals.
      one.version.clear();
      return again(said.which, std::nullopt);
    }
    well(one);
    if (const std::string version = version_of_event(*event); !version.empty()) one.version = version;
    if (str(*event, {"type"}) != "BOOKMARK") news_({said.which, WatchNews::Kind::kEvent, std::move(*event), {}});
  }

  const WatchMany& plan_;
  const std::function<kube::Request(std::size_t)>& request_;
  const std::function<void(WatchNews)>& news_;
  const std::shared_ptr<NewsBox> box_ = std::make_shared<NewsBox>();
  std::vector<One> all_;
};

}  // namespace

void watch_many(const WatchMany& plan, const std::function<kube::Request(std::size_t which)>& request,
                std::vector<std::string> versions, const std::function<void(WatchNews news)>& news) {
  Watching(plan, request, std::move(versions), news).until_told();
}

}  // namespace fleetadm::proxy
