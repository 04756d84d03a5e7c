#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <tuple>

#include "core/controller/controller.h"
#include "core/controller/health_server.h"
#include "core/controller/metrics.h"
#include "core/controller/scheduler.h"
#include "kubeclient/base/log.h"

namespace fleetadm::controller {
namespace {

constexpr Duration kSyncTimeout = std::chrono::minutes(10);
constexpr const char* kPlain = "text/plain; charset=utf-8";

using ShareKey = std::tuple<const void*, std::string, std::string, std::string, std::string>;

std::vector<std::string> own_key(const kube::CachedObject& object) { return {object.key()}; }

}  // namespace

struct Manager::State {
  explicit State(Options given) : options(std::move(given)), scheduler(std::make_shared<Scheduler>(options.log_file)) {}

  Options options;
  std::shared_ptr<Scheduler> scheduler;

  mutable std::mutex mutex;
  std::vector<std::shared_ptr<kube::Informer>> informers;
  std::map<ShareKey, std::shared_ptr<kube::Informer>> shared;
  std::vector<std::pair<std::string, std::function<std::string()>>> checks;
  std::vector<std::pair<std::string, std::function<Page(std::string_view)>>> pages;
  std::vector<std::function<std::string()>> more_metrics;
  bool running = false;
  bool begun = false;  // by start(): the reconciles
  std::unique_ptr<HealthServer> health;
  std::vector<std::weak_ptr<const State>> counted_too;

  std::vector<std::shared_ptr<kube::Informer>> all_informers() const {
    const std::lock_guard lock(mutex);
    return informers;
  }
  std::string unsynced(bool with_unserved = true) const;
  Page healthz() const;
  Page readyz() const;
  Page metrics() const;
  Page page(const HealthServer::Request& request) const;
};

Manager::Page Manager::State::healthz() const {
  std::vector<std::pair<std::string, std::function<std::string()>>> list;
  {
    const std::lock_guard lock(mutex);
    list = checks;
  }
  std::string failures;
  for (const auto& [name, check] : list) {
    if (const std::string why = check(); !why.empty()) failures += name + ": " + log::escape_terminal(why) + "\n";
  }
  if (failures.empty()) return {200, kPlain, "ok"};
  return {500, kPlain, failures};
}

Manager::Page Manager::State::readyz() const {
  bool started = false;
  {
    const std::lock_guard lock(mutex);
    started = running;
  }
  // A standby that waits for its lease is ready: it has nothing to sync yet.
  if (!started) return {200, kPlain, "ok"};
  std::string missing = unsynced();
  if (missing.empty()) return {200, kPlain, "ok"};
  return {503, kPlain, std::move(missing)};
}

std::string Manager::State::unsynced(bool with_unserved) const {
  std::string missing;
  for (const auto& informer : all_informers()) {
    if (informer->synced()) continue;
    const auto error = informer->last_error();
    if (!with_unserved && error && error->reason == kube::kUnknownPath) continue;
    missing += informer->resource().qualified() + " is not synced";
    if (error) missing += ": " + log::escape_terminal(error->message);
    missing += "\n";
  }
  return missing;
}

Manager::Page Manager::State::metrics() const {
  std::vector<LaneStats> lanes = scheduler->stats();
  std::vector<std::shared_ptr<kube::Informer>> caches = all_informers();
  std::vector<std::weak_ptr<const State>> others;
  std::vector<std::function<std::string()>> more;
  {
    const std::lock_guard lock(mutex);
    others = counted_too;
    more = more_metrics;
  }
  for (const auto& other : others) {
    const auto alive = other.lock();
    if (!alive) continue;
    std::ranges::move(alive->scheduler->stats(), std::back_inserter(lanes));
    std::ranges::move(alive->all_informers(), std::back_inserter(caches));
  }
  std::map<std::string, InformerStats> by_resource;  // several caches of one type are one series
  for (const auto& informer : caches) {
    auto& entry = by_resource.try_emplace(informer->resource().qualified(), InformerStats{{}, 0, true}).first->second;
    entry.objects += informer->list().size();
    entry.synced = entry.synced && informer->synced();
  }
  std::vector<InformerStats> stats;
  for (auto& [name, entry] : by_resource) {
    entry.resource = name;
    stats.push_back(entry);
  }
  std::string text = render_metrics(lanes, stats, resident_bytes());
  for (const auto& one : more) text += one();
  return {200, "text/plain; version=0.0.4; charset=utf-8", std::move(text)};
}

Manager::Page Manager::State::page(const HealthServer::Request& request) const {
  const auto path = request.path;
  if (path == "/healthz" || path == "/livez") return healthz();
  if (path == "/readyz") return readyz();
  if (path == "/metrics") return metrics();
  std::function<Page(std::string_view)> found;
  {
    const std::lock_guard lock(mutex);
    std::size_t longest = 0;
    for (const auto& [prefix, make] : pages) {
      if (path.substr(0, prefix.size()) == prefix && prefix.size() >= longest) {
        longest = prefix.size();
        found = make;
      }
    }
  }
  if (found && !request.local) return {403, kPlain, "this page is served over loopback only: use kubectl port-forward\n"};
  if (found) return found(path);
  return {404, kPlain, "not found\n"};
}

Manager::Manager(Options options) : state_(std::make_shared<State>(std::move(options))) {}

Manager::~Manager() {
  stop();
  for (const auto& informer : state_->all_informers()) informer->stop();
  state_->health.reset();
}

std::shared_ptr<kube::Informer> Manager::informer(const kube::Client& client, const kube::Resource& resource,
                                                  kube::InformerOptions options) {
  const std::lock_guard lock(state_->mutex);
  const bool shareable = options.indexes.empty() && !options.project;
  const ShareKey key{client.transport().get(), resource.path(options.ns), options.ns, options.label_selector,
                     options.field_selector};
  if (shareable) {
    if (const auto known = state_->shared.find(key); known != state_->shared.end()) return known->second;
  }
  auto made = kube::Informer::make(client, resource, std::move(options));
  state_->informers.push_back(made);
  if (shareable) state_->shared.emplace(key, made);
  if (state_->running) made->start();
  return made;
}

std::shared_ptr<Queue> Manager::add(ControllerOptions options, Reconcile reconcile) {
  return state_->scheduler->add_lane(std::move(options), std::move(reconcile));
}

void Manager::enqueue_on(kube::Informer& informer, std::shared_ptr<Queue> queue,
                         std::function<std::vector<std::string>(const kube::CachedObject&)> keys) {
  const bool own = !keys;
  if (own) keys = own_key;
  informer.on_event([queue = std::move(queue), keys = std::move(keys), own](kube::EventType, const kube::CachedPtr& before,
                                                                            const kube::CachedPtr& after) {
    std::vector<std::string> now = keys(after ? *after : *before);
    // What the object belonged to before the change has to be looked at as well.
    if (!own && before && after) {
      for (std::string& key : keys(*before)) {
        if (std::find(now.begin(), now.end(), key) == now.end()) now.push_back(std::move(key));
      }
    }
    for (std::string& key : now) queue->add(std::move(key));
  });
}

void Manager::add_health_check(std::string name, std::function<std::string()> check) {
  const std::lock_guard lock(state_->mutex);
  state_->checks.emplace_back(std::move(name), std::move(check));
}

void Manager::add_page(std::string prefix, std::function<Page(std::string_view path)> page) {
  const std::lock_guard lock(state_->mutex);
  state_->pages.emplace_back(std::move(prefix), std::move(page));
}

void Manager::add_metrics(std::function<std::string()> more) {
  const std::lock_guard lock(state_->mutex);
  state_->more_metrics.push_back(std::move(more));
}

void Manager::count_too(const Manager& other) {
  const std::lock_guard lock(state_->mutex);
  std::erase_if(state_->counted_too, [](const auto& one) { return one.expired(); });
  state_->counted_too.emplace_back(other.state_);
}

std::function<std::string()> Manager::unsynced() const {
  return [weak = std::weak_ptr<const State>(state_)] {
    const auto state = weak.lock();
    return state ? state->unsynced() : std::string();
  };
}

std::function<std::string()> Manager::unsynced_of_served() const {
  return [weak = std::weak_ptr<const State>(state_)] {
    const auto state = weak.lock();
    return state ? state->unsynced(false) : std::string();
  };
}

Status Manager::serve_health() {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->options.health_address.empty() || state_->health) return {};
  }
  State* state = state_.get();  // the server is joined before the state goes
  FLEETADM_TRY(auto server, HealthServer::start(state_->options.health_address,
                                                [state](const HealthServer::Request& request) { return state->page(request); }));
  log::info(1, "manager", "health and metrics on http://" + server->endpoint());
  const std::lock_guard lock(state_->mutex);
  state_->health = std::move(server);
  return {};
}

std::string Manager::health_endpoint() const {
  const std::lock_guard lock(state_->mutex);
  return state_->health ? state_->health->endpoint() : std::string();
}

Status Manager::run(std::stop_token stop) {
  FLEETADM_CHECK(serve_health());
  std::vector<std::shared_ptr<kube::Informer>> informers;
  {
    const std::lock_guard lock(state_->mutex);
    state_->running = true;
    informers = state_->informers;
  }
  for (const auto& informer : informers) informer->start();
  Status status;
  const auto give_up = std::chrono::steady_clock::now() + kSyncTimeout;
  for (const auto& informer : informers) {
    const Duration left = std::max<Duration>(give_up - std::chrono::steady_clock::now(), Duration::zero());
    if (informer->wait_synced(left, stop) || stop.stop_requested()) continue;
    Error error;
    error.category = Category::kTimeout;
    error.message = informer->resource().qualified() + " could not be listed within 10 minutes";
    if (const auto last = informer->last_error()) error.message += ": " + last->message;
    error.hint = "check that the type is served and that this identity may list and watch it";
    status = tl::unexpected(std::move(error));
    break;
  }
  if (status && !stop.stop_requested()) {
    log::info(1, "manager", "caches are synced");
    state_->scheduler->run(state_->options.threads, stop, state_->options.pool);
  }
  for (const auto& informer : state_->all_informers()) informer->stop();
  const std::lock_guard lock(state_->mutex);
  state_->running = false;
  return status;
}

Status Manager::start() {
  if (!state_->options.pool) return fail(Category::kInternal, "a manager that is started needs a pool");
  FLEETADM_CHECK(serve_health());
  std::vector<std::shared_ptr<kube::Informer>> informers;
  {
    const std::lock_guard lock(state_->mutex);
    state_->running = true;
    informers = state_->informers;
  }
  const auto begin = [weak = std::weak_ptr<State>(state_)] {
    const auto state = weak.lock();
    if (!state) return;
    const std::lock_guard lock(state->mutex);
    if (!state->running || state->begun) return;
    if (!std::ranges::all_of(state->informers, [](const auto& one) { return one->synced(); })) return;
    state->begun = true;
    state->scheduler->start(state->options.pool, state->options.threads);
  };
  for (const auto& informer : informers) informer->on_synced(begin);
  for (const auto& informer : informers) informer->start();
  begin();  // there may be none
  return {};
}

void Manager::stop() {
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->running || !state_->options.pool) return;
    state_->running = false;
  }
  for (const auto& informer : state_->all_informers()) informer->stop();
  state_->scheduler->stop();
}

}  // namespace fleetadm::controller
