#include "core/work/agent/rights_watch.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "core/work/agent/object_watch.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::work {
namespace {

constexpr Duration kAuthorizerLag = std::chrono::seconds(1);

void keep_version(Json& object) {
  Json metadata = Json::object({{"name", name_of(object)}, {"resourceVersion", resource_version_of(object)}});
  if (std::string ns = namespace_of(object); !ns.empty()) metadata["namespace"] = std::move(ns);
  object = Json::object({{"metadata", std::move(metadata)}});
}

}  // namespace

struct RightsWatch::State : std::enable_shared_from_this<State> {
  using Informers = std::vector<std::shared_ptr<kube::Informer>>;

  State(const kube::Client& spoke, std::shared_ptr<Clock> given, std::function<void(const std::string&)> wake_work)
      : metadata(metadata_client(spoke)), clock(std::move(given)), wake(std::move(wake_work)) {}

  kube::Client metadata;
  std::shared_ptr<Clock> clock;
  std::function<void(const std::string&)> wake;
  mutable std::mutex mutex;
  bool stopped = false;
  std::set<std::string> works;
  Informers informers;
  Instant settled_at{};

  void on_change() {
    std::set<std::string> to_wake;
    {
      const std::lock_guard lock(mutex);
      if (stopped) return;
      settled_at = clock->now() + kAuthorizerLag;
      to_wake = works;
    }
    for (const std::string& work : to_wake) wake(work);
  }

  Informers make_informers() {
    Informers made;
    for (const kube::Resource& resource : {kube::resources::roles(), kube::resources::role_bindings(),
                                           kube::resources::cluster_roles(), kube::resources::cluster_role_bindings()}) {
      kube::InformerOptions options;
      options.project = keep_version;
      std::shared_ptr<kube::Informer> informer = kube::Informer::make(metadata, resource, std::move(options));
      informer->on_event([weak = weak_from_this(), watch = std::weak_ptr(informer)](
                             kube::EventType, const kube::CachedPtr& before, const kube::CachedPtr& after) {
        const auto state = weak.lock();
        const auto source = watch.lock();
        // The first list is told as a whole, by on_synced.
        if (!state || !source || !source->synced()) return;
        if (before && after && before->resource_version() == after->resource_version()) return;
        state->on_change();
      });
      informer->on_synced([weak = weak_from_this()] {
        if (const auto state = weak.lock()) state->on_change();
      });
      made.push_back(std::move(informer));
    }
    return made;
  }
};

RightsWatch::RightsWatch(const kube::Client& spoke, std::shared_ptr<Clock> clock, std::function<void(const std::string&)> wake)
    : state_(std::make_shared<State>(spoke, std::move(clock), std::move(wake))) {}

RightsWatch::~RightsWatch() {
  State::Informers to_stop;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopped = true;
    to_stop = std::exchange(state_->informers, {});
  }
  for (const auto& informer : to_stop) informer->stop();
}

void RightsWatch::track(const std::string& work, bool has_executor) {
  State::Informers to_start;
  State::Informers to_stop;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->stopped) return;
    if (has_executor) {
      state_->works.insert(work);
    } else {
      state_->works.erase(work);
    }
    if (state_->works.empty()) {
      to_stop = std::exchange(state_->informers, {});
    } else if (state_->informers.empty()) {
      to_start = state_->informers = state_->make_informers();
    }
  }
  // Both may call back.
  for (const auto& informer : to_start) informer->start();
  for (const auto& informer : to_stop) informer->stop();
}

bool RightsWatch::reliable() const {
  const std::lock_guard lock(state_->mutex);
  return !state_->informers.empty() && std::all_of(state_->informers.begin(), state_->informers.end(), [](const auto& informer) {
    return informer->synced() && !informer->last_error();
  });
}

Instant RightsWatch::settled_at() const {
  const std::lock_guard lock(state_->mutex);
  return state_->settled_at;
}

}  // namespace fleetadm::work
