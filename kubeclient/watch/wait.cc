// wait_for: one object, until it is as its caller wants it.
#include <algorithm>

#include "kubeclient/base/sleep.h"
#include "kubeclient/transport/observer.h"
#include "kubeclient/watch/blocking_watch.h"
#include "kubeclient/watch/informer.h"
#include "kubeclient/watch/retry.h"

namespace fleetadm::kube {

namespace {

class ObjectWait {
 public:
  using Object = std::optional<Json>;
  using Done = std::function<Result<bool>(const Object&)>;

  ObjectWait(const Client& client, const Resource& resource, std::string_view ns, std::string_view name, const Done& done,
             Duration timeout, std::stop_token stop)
      : client_(client),
        resource_(resource),
        ns_(ns),
        name_(name),
        done_(done),
        timeout_(timeout),
        stop_(std::move(stop)),
        begun_(std::chrono::steady_clock::now()) {}

  Result<Object> run() {
    while (true) {
      FLEETADM_TRY(Next next, look());
      if (next == Next::kWatch) {
        FLEETADM_TRY(next, watch());
      }
      if (next == Next::kDone) return std::move(current_);
      if (next == Next::kOver) return over();
    }
  }

 private:
  enum class Next { kLook, kWatch, kDone, kOver };

  Duration left() const { return std::max<Duration>(begun_ + timeout_ - std::chrono::steady_clock::now(), Duration::zero()); }
  Client bounded() const {
    return client_.with_stop(stop_).with_timeout(
        std::clamp<Duration>(left(), std::chrono::milliseconds(100), std::chrono::seconds(32)));
  }
  Next look_after(Duration delay) const { return sleep_for(std::min(delay, left()), stop_) ? Next::kLook : Next::kOver; }
  Next in_time(Next next) const { return left() > Duration::zero() ? next : Next::kOver; }
  Result<bool> take(Object object) {
    current_ = std::move(object);
    return done_(current_);
  }
  static bool may_watch_after(const Error& error) { return error.code != 403 && error.code != 405; }

  /// One GET.
  Result<Next> look() {
    auto found = bounded().find(resource_, ns_, name_);
    if (!found) {
      if (stop_.stop_requested()) return Next::kOver;
      if (!passing(found.error())) return fail(std::move(found).error());
      last_ = found.error();
      const Duration delay = std::min(backoff_.next(), left());
      if (const auto observer = request_observer())
        observer->retrying({*last_, std::chrono::steady_clock::now() - begun_, delay, left()});
      return in_time(look_after(delay));
    }
    last_.reset();
    FLEETADM_TRY(const bool done, take(std::move(*found)));
    if (done) return Next::kDone;
    if (left() == Duration::zero() || stop_.stop_requested()) return Next::kOver;
    return may_watch_ ? Next::kWatch : look_after(std::chrono::seconds(1));
  }

  Result<Next> watch() {
    // The list of one gives the version to watch from, also where the object does not exist.
    ListOptions one;
    one.field_selector = "metadata.name=" + name_;
    one.limit = 0;
    auto list = bounded().list(resource_, ns_, one);
    if (!list) {
      may_watch_ = may_watch_after(list.error());
      last_ = list.error();
      return may_watch_ ? look_after(backoff_.next()) : Next::kLook;
    }
    const Json& items = list_at(*list, {"items"});
    FLEETADM_TRY(const bool done, take(items.empty() ? Object{} : Object(items.front())));
    if (done) return Next::kDone;
    BlockingWatch watch(client_, resource_, ns_, one, resource_version_of(*list),
                        std::min<Duration>(left(), std::chrono::minutes(5)));
    return follow(watch);
  }

  Result<Next> follow(BlockingWatch& watch) {
    while (true) {
      auto next = watch.next(left(), stop_);
      if (auto* end = std::get_if<BlockingWatch::Ended>(&next)) {
        if (end->error) {
          last_ = end->error;
          may_watch_ = may_watch_after(*end->error);
        }
        return in_time(look_after(backoff_.next()));
      }
      auto* event = std::get_if<BlockingWatch::Event>(&next);
      if (event == nullptr) return Next::kOver;
      backoff_.reset();
      if (event->type == "BOOKMARK") continue;
      FLEETADM_TRY(const bool done, take(event->type == "DELETED" ? Object{} : Object(std::move(event->object))));
      if (done) return Next::kDone;
      if (left() == Duration::zero()) return Next::kOver;
    }
  }

  tl::unexpected<Error> over() const {
    const std::string what = resource_.qualified() + " \"" + name_ + "\"";
    if (stop_.stop_requested()) return fail(Category::kCancelled, "cancelled while waiting for " + what);
    Error error = fail(Category::kTimeout, "timed out after " + format_duration(timeout_) + " waiting for " + what +
                                               (last_ ? " (last error: " + last_->message + ")" : ""))
                      .value();
    error.cluster = client_.cluster_name();
    return fail(std::move(error));
  }

  const Client& client_;
  const Resource& resource_;
  const std::string_view ns_;
  const std::string name_;
  const Done& done_;
  const Duration timeout_;
  const std::stop_token stop_;
  const std::chrono::steady_clock::time_point begun_;
  Backoff backoff_ = retry_delays();
  std::optional<Error> last_;  // since the object was last seen
  bool may_watch_ = true;
  Object current_;
};

}  // namespace

Result<std::optional<Json>> wait_for(const Client& client, const Resource& resource, std::string_view ns, std::string_view name,
                                     const std::function<Result<bool>(const std::optional<Json>&)>& done, Duration timeout,
                                     std::stop_token stop) {
  return ObjectWait(client, resource, ns, name, done, timeout, std::move(stop)).run();
}

}  // namespace fleetadm::kube
