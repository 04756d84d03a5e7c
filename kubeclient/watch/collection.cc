// watch_collection: a list, and all that happens to it, told to one caller.
#include <map>
#include <set>

#include "kubeclient/base/sleep.h"
#include "kubeclient/watch/blocking_watch.h"
#include "kubeclient/watch/informer.h"
#include "kubeclient/watch/retry.h"

namespace fleetadm::kube {

namespace {

class CollectionWatch {
 public:
  using Tell = std::function<bool(EventType, const Json&)>;  // false: the receiver has enough

  CollectionWatch(const Client& client, const Resource& resource, std::string_view ns, const ListOptions& options,
                  const Tell& tell, std::stop_token stop)
      : client_(client), resource_(resource), ns_(ns), options_(options), tell_(tell), stop_(std::move(stop)) {}

  Status run() {
    for (Next next = Next::kList; !stop_.stop_requested();) {
      FLEETADM_TRY(next, next == Next::kList ? list() : watch());
      if (next == Next::kEnough) return {};
    }
    return fail(Category::kCancelled, "cancelled");
  }

 private:
  enum class Next { kList, kWatch, kEnough };

  bool take(const Json& object) {
    const std::string key = object_key(object);
    auto& slot = known_[key];
    const auto fresh = std::make_shared<const CachedObject>(key, object);
    const bool changed = !slot || slot->resource_version() != fresh->resource_version() || slot->uid() != fresh->uid();
    const auto type = slot ? EventType::kModified : EventType::kAdded;
    slot = fresh;
    return !changed || tell_(type, object);
  }

  Result<Next> list() {
    auto list = client_.with_stop(stop_).list(resource_, ns_, options_);
    if (!list) {
      if (stop_.stop_requested()) return Next::kList;
      // The first list's failure is the caller's to tell; later ones are waited out.
      if (known_.empty() || !passing(list.error())) return fail(std::move(list).error());
      sleep_for(backoff_.next(), stop_);
      return Next::kList;
    }
    version_ = resource_version_of(*list);
    std::set<std::string> present;
    for (const auto& item : (*list)["items"]) {
      present.insert(object_key(item));
      if (!take(item)) return Next::kEnough;
    }
    for (auto it = known_.begin(); it != known_.end();) {
      if (present.contains(it->first)) {
        ++it;
        continue;
      }
      const auto gone = it->second;
      it = known_.erase(it);
      if (!tell_(EventType::kDeleted, gone->decode())) return Next::kEnough;
    }
    return Next::kWatch;
  }

  Result<Next> watch() {
    BlockingWatch watch(client_, resource_, ns_, options_, version_, std::chrono::minutes(5));
    while (true) {
      auto next = watch.next(std::chrono::hours(1), stop_);
      if (const auto* change = std::get_if<BlockingWatch::Event>(&next)) {
        if (!apply(*change)) return Next::kEnough;
      } else if (const auto* end = std::get_if<BlockingWatch::Ended>(&next)) {
        return after(end->error);
      } else if (stop_.stop_requested()) {
        return Next::kWatch;
      }
    }
  }

  bool apply(const BlockingWatch::Event& change) {
    backoff_.reset();
    if (auto version = resource_version_of(change.object); !version.empty()) version_ = std::move(version);
    if (change.type == "BOOKMARK") return true;
    if (change.type != "DELETED") return take(change.object);
    known_.erase(object_key(change.object));
    return tell_(EventType::kDeleted, change.object);
  }

  Result<Next> after(const std::optional<Error>& error) {
    if (!error) return Next::kWatch;
    if (!passing(*error)) return fail(*error);
    sleep_for(backoff_.next(), stop_);
    return error->category == Category::kGone ? Next::kList : Next::kWatch;
  }

  const Client& client_;
  const Resource& resource_;
  const std::string_view ns_;
  const ListOptions& options_;
  const Tell& tell_;
  const std::stop_token stop_;
  Backoff backoff_ = retry_delays();
  std::map<std::string, CachedPtr> known_;
  std::string version_;
};

}  // namespace

Status watch_collection(const Client& client, const Resource& resource, std::string_view ns, const ListOptions& options,
                        const std::function<bool(EventType, const Json&)>& event, std::stop_token stop) {
  return CollectionWatch(client, resource, ns, options, event, std::move(stop)).run();
}

}  // namespace fleetadm::kube
