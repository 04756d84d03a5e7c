// wait_for and watch_collection: watches for those who want to block.
#include <algorithm>
#include <map>
#include <thread>

#include "kubeclient/base/backoff.h"
#include "kubeclient/base/log.h"
#include "kubeclient/base/sleep.h"
#include "kubeclient/transport/observer.h"
#include "kubeclient/watch/blocking_watch.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::kube {

namespace {

using Steady = std::chrono::steady_clock;

/// A failure that time may heal.
bool passing(const Error& error) {
  return error.category == Category::kUnavailable || error.category == Category::kTimeout || error.category == Category::kGone;
}

/// Between tries of what failed.
Backoff retry_delays() { return {std::chrono::milliseconds(100), std::chrono::seconds(5)}; }

}  // namespace

Result<std::optional<Json>> wait_for(const Client& client, const Resource& resource, std::string_view ns, std::string_view name,
                                     const std::function<Result<bool>(const std::optional<Json>&)>& done, Duration timeout,
                                     std::stop_token stop) {
  const auto begun = Steady::now();
  const auto deadline = begun + timeout;
  const std::string what = resource.qualified() + " \"" + std::string(name) + "\"";
  Backoff backoff = retry_delays();
  std::optional<Error> last;
  bool may_watch = true;
  const auto left = [&] { return std::max<Duration>(deadline - Steady::now(), Duration::zero()); };
  const auto bounded = [&] {
    return client.with_stop(stop).with_timeout(
        std::clamp<Duration>(left(), std::chrono::milliseconds(100), std::chrono::seconds(32)));
  };
  const auto ended = [&]() -> Result<std::optional<Json>> {
    if (stop.stop_requested()) return fail(Category::kCancelled, "cancelled while waiting for " + what);
    Error error = fail(Category::kTimeout, "timed out after " + format_duration(timeout) + " waiting for " + what +
                                               (last ? " (last error: " + last->message + ")" : ""))
                      .value();
    error.cluster = client.cluster_name();
    return fail(std::move(error));
  };

  std::optional<Json> current;
  while (true) {
    auto found = bounded().find(resource, ns, name);
    if (!found) {
      if (stop.stop_requested() || !passing(found.error()))
        return stop.stop_requested() ? ended() : fail(std::move(found).error());
      last = found.error();
      const Duration delay = std::min(backoff.next(), left());
      if (const auto observer = request_observer()) observer->retrying({*last, Steady::now() - begun, delay, left()});
      if (!sleep_for(delay, stop) || left() == Duration::zero()) return ended();
      continue;
    }
    last.reset();
    current = std::move(*found);
    FLEETADM_TRY(const bool first, done(current));
    if (first) return current;
    if (left() == Duration::zero() || stop.stop_requested()) return ended();
    if (!may_watch) {
      if (!sleep_for(std::min<Duration>(std::chrono::seconds(1), left()), stop)) return ended();
      continue;
    }

    // The list of one gives the version to watch from, also where the object does not exist.
    ListOptions one;
    one.field_selector = "metadata.name=" + std::string(name);
    one.limit = 0;
    auto list = bounded().list(resource, ns, one);
    if (!list) {
      may_watch = list.error().code != 403 && list.error().code != 405;
      last = list.error();
      if (may_watch && !sleep_for(std::min(backoff.next(), left()), stop)) return ended();
      continue;
    }
    const Json& items = list_at(*list, {"items"});
    current = items.empty() ? std::optional<Json>{} : std::optional<Json>(items.front());
    FLEETADM_TRY(const bool listed, done(current));
    if (listed) return current;

    BlockingWatch watch(client, resource, ns, one, resource_version_of(*list),
                        std::min<Duration>(left(), std::chrono::minutes(5)));
    for (bool open = true; open;) {
      auto next = watch.next(left(), stop);
      if (auto* event = std::get_if<BlockingWatch::Event>(&next)) {
        backoff.reset();
        if (event->type == "BOOKMARK") continue;
        current = event->type == "DELETED" ? std::optional<Json>{} : std::optional<Json>(std::move(event->object));
        FLEETADM_TRY(const bool now, done(current));
        if (now) return current;
      } else if (auto* end = std::get_if<BlockingWatch::Ended>(&next)) {
        open = false;
        if (end->error) {
          last = end->error;
          may_watch = end->error->code != 403 && end->error->code != 405;
        }
        if (!sleep_for(std::min(backoff.next(), left()), stop)) return ended();
      } else {
        return ended();
      }
      if (left() == Duration::zero()) return ended();
    }
  }
}

Status watch_collection(const Client& client, const Resource& resource, std::string_view ns, const ListOptions& options,
                        const std::function<bool(EventType, const Json&)>& event, std::stop_token stop) {
  const Client stoppable = client.with_stop(stop);
  std::map<std::string, CachedPtr> known;
  Backoff backoff = retry_delays();
  // False: the receiver has enough.
  const auto take = [&](Json object) {
    const std::string key = object_key(object);
    auto& slot = known[key];
    const auto fresh = std::make_shared<const CachedObject>(key, object);
    const bool changed = !slot || slot->resource_version() != fresh->resource_version() || slot->uid() != fresh->uid();
    const auto type = slot ? EventType::kModified : EventType::kAdded;
    slot = fresh;
    return !changed || event(type, object);
  };

  while (!stop.stop_requested()) {
    auto list = stoppable.list(resource, ns, options);
    if (!list) {
      if (stop.stop_requested()) break;
      // The first list's failure is the caller's to tell; later ones are waited out.
      if (known.empty() || !passing(list.error())) return fail(std::move(list).error());
      if (!sleep_for(backoff.next(), stop)) break;
      continue;
    }
    std::string version = resource_version_of(*list);
    std::map<std::string, bool> present;
    for (auto& item : (*list)["items"]) {
      present[object_key(item)] = true;
      if (!take(std::move(item))) return {};
    }
    for (auto it = known.begin(); it != known.end();) {
      if (present.contains(it->first)) {
        ++it;
        continue;
      }
      const auto gone = it->second;
      it = known.erase(it);
      if (!event(EventType::kDeleted, gone->decode())) return {};
    }

    for (bool relist = false; !relist && !stop.stop_requested();) {
      BlockingWatch watch(client, resource, ns, options, version, std::chrono::minutes(5));
      for (bool open = true; open;) {
        auto next = watch.next(std::chrono::hours(1), stop);
        if (auto* change = std::get_if<BlockingWatch::Event>(&next)) {
          backoff.reset();
          if (const auto v = resource_version_of(change->object); !v.empty()) version = v;
          if (change->type == "BOOKMARK") continue;
          if (change->type == "DELETED") {
            known.erase(object_key(change->object));
            if (!event(EventType::kDeleted, change->object)) return {};
          } else if (!take(std::move(change->object))) {
            return {};
          }
        } else if (auto* end = std::get_if<BlockingWatch::Ended>(&next)) {
          open = false;
          if (end->error && !passing(*end->error)) return fail(*end->error);
          relist = end->error && end->error->category == Category::kGone;
          if (end->error && !sleep_for(backoff.next(), stop)) break;
        } else {
          open = !stop.stop_requested();
        }
      }
    }
  }
  return fail(Category::kCancelled, "cancelled");
}

}  // namespace fleetadm::kube
