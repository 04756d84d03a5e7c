#include "core/sandbox/store/store.h"

#include <algorithm>
#include <condition_variable>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

namespace fleetadm::sandbox {
namespace {

std::string key_of(const std::string& ns, const std::string& name) { return ns + "/" + name; }

constexpr std::chrono::steady_clock::duration kBetweenSweeps = std::chrono::minutes(1);
constexpr std::size_t kMaxBytes = std::size_t{64} * 1024 * 1024;  // of the states that only logs hold

/// Of the states that are in the log alone: the present one of an object is there anyway.
std::size_t past_bytes(const Event& event) {
  return (event.before ? event.before->body.size() : 0) + (event.type == Change::kDeleted ? event.now->body.size() : 0);
}

tl::unexpected<Error> conflict(std::string reason) {
  Error error;
  error.category = Category::kConflict;
  error.message = "the object is not in the expected state";
  error.reason = std::move(reason);
  return tl::unexpected(std::move(error));
}

}  // namespace

struct Watch::State {
  std::string resource;
  std::pair<std::string, std::string> of;  // namespace and name; "" = all
  std::int64_t place = 0;                  // events up to here were taken, where `pending` is set
  bool pending = false;                    // there is something to take
  std::function<void()> wake;
};

struct Store::Lane {
  std::map<std::string, Item> objects;
  std::deque<EventPtr> log;
  std::size_t bytes = 0;     // past_bytes() of its events
  std::int64_t horizon = 0;  // the log holds every event after this revision
  std::map<std::pair<std::string, std::string>, std::set<std::shared_ptr<Watch::State>>> watches;  // by what they are of
};

struct Store::Pending {
  Write& change;
  std::optional<Result<StoredPtr>> answer;
};

struct Store::Inner {
  std::unique_ptr<Journal> journal;
  Limits limits;
  mutable std::mutex mutex;  // everything below
  std::int64_t revision = 0;
  std::int64_t opened_at = 0;  // nothing before it is in any log
  std::map<std::string, std::unique_ptr<Lane>> lanes;
  std::size_t bytes = 0;  // of all lanes
  std::chrono::steady_clock::time_point swept;

  void forget_first(Lane& from) {
    const auto size = past_bytes(*from.log.front());
    from.bytes -= size;
    bytes -= size;
    from.horizon = from.log.front()->revision;
    from.log.pop_front();
  }

  std::mutex queue_mutex;
  std::condition_variable answered;
  std::vector<Pending*> queue;
  bool leading = false;

  std::optional<std::vector<JournalRow>> held;  // what is committed together, later
};

Store::Store(std::unique_ptr<Journal> journal, Limits limits) : inner_(std::make_unique<Inner>()) {
  inner_->journal = std::move(journal);
  inner_->limits = limits;
}
Store::~Store() = default;

Store::Lane& Store::lane(const std::string& resource) {
  auto& place = inner_->lanes[resource];
  if (!place) {
    place = std::make_unique<Lane>();
    place->horizon = inner_->opened_at;
  }
  return *place;
}

const Store::Lane* Store::find_lane(const std::string& resource) const {
  const auto at = inner_->lanes.find(resource);
  return at == inner_->lanes.end() ? nullptr : at->second.get();
}

Result<std::unique_ptr<Store>> Store::open(std::unique_ptr<Journal> journal, Limits limits) {
  std::unique_ptr<Store> store(new Store(std::move(journal), limits));
  auto& inner = *store->inner_;
  if (!inner.journal) return store;
  std::vector<JournalRow> rows;
  FLEETADM_TRY(inner.revision, inner.journal->load([&](JournalRow row) { rows.push_back(std::move(row)); }));
  inner.opened_at = inner.revision;
  for (auto& row : rows) {
    FLEETADM_TRY(StoredPtr stored, stored_of(std::move(row.body), row.revision));
    store->lane(row.resource).objects[key_of(row.ns, row.name)] = {row.ns, row.name, std::move(stored)};
  }
  return store;
}

std::int64_t Store::revision() const {
  const std::lock_guard lock(inner_->mutex);
  return inner_->revision;
}

StoredPtr Store::get(const std::string& resource, const std::string& ns, const std::string& name) const {
  const std::lock_guard lock(inner_->mutex);
  const Lane* at = find_lane(resource);
  if (at == nullptr) return nullptr;
  const auto found = at->objects.find(key_of(ns, name));
  return found == at->objects.end() ? nullptr : found->second.object;
}

Result<Snapshot> Store::list(const std::string& resource, const std::string& ns, std::int64_t at, const std::string& name) const {
  const std::lock_guard lock(inner_->mutex);
  Snapshot out;
  out.revision = at == 0 ? inner_->revision : at;
  const Lane* from = find_lane(resource);
  if (at != 0 && at < (from == nullptr ? inner_->opened_at : from->horizon))
    return fail(Category::kGone, "the revision was compacted");
  if (from == nullptr) return out;
  auto begin = from->objects.begin();
  auto end = from->objects.end();
  if (!ns.empty()) {
    begin = from->objects.lower_bound(ns + "/");
    end = from->objects.lower_bound(ns + "0");  // '0' follows '/'
  }
  const bool cluster_scoped = begin != end && begin->second.ns.empty();
  if (!name.empty() && (!ns.empty() || cluster_scoped)) {
    begin = from->objects.find(key_of(ns, name));
    end = begin == from->objects.end() ? begin : std::next(begin);
  }
  if (at == 0 || at >= inner_->revision || from->log.empty() || from->log.back()->revision <= at) {
    for (; begin != end; ++begin) out.items.push_back(begin->second);
    return out;
  }
  // The past: today's objects with the later changes taken back, the youngest first.
  std::map<std::string, Item> past(begin, end);
  for (auto event = from->log.rbegin(); event != from->log.rend() && (*event)->revision > at; ++event) {
    if (!ns.empty() && (*event)->ns != ns) continue;
    auto key = key_of((*event)->ns, (*event)->name);
    if ((*event)->before) {
      past[key] = {(*event)->ns, (*event)->name, (*event)->before};
    } else {
      past.erase(key);
    }
  }
  for (auto& [key, item] : past) out.items.push_back(std::move(item));
  return out;
}

std::size_t Store::count(const std::string& resource, const std::string& ns) const {
  const std::lock_guard lock(inner_->mutex);
  const Lane* from = find_lane(resource);
  if (from == nullptr) return 0;
  if (ns.empty()) return from->objects.size();
  return static_cast<std::size_t>(std::distance(from->objects.lower_bound(ns + "/"), from->objects.lower_bound(ns + "0")));
}

Status Store::write_together(const std::function<void()>& writes) {
  inner_->held.emplace();
  writes();
  const auto rows = std::exchange(inner_->held, std::nullopt);
  return inner_->journal ? inner_->journal->commit(*rows) : Status{};
}

Result<StoredPtr> Store::write(Write& change) {
  Pending mine{change, std::nullopt};
  std::unique_lock lock(inner_->queue_mutex);
  inner_->queue.push_back(&mine);
  while (!mine.answer) {
    if (inner_->leading) {
      inner_->answered.wait(lock);
      continue;
    }
    // The first to come commits for all who queued meanwhile.
    inner_->leading = true;
    auto batch = std::exchange(inner_->queue, {});
    lock.unlock();
    commit(batch);
    lock.lock();
    inner_->leading = false;
    inner_->answered.notify_all();
  }
  return std::move(*mine.answer);
}

void Store::commit(std::vector<Pending*>& batch) {
  // Only the leader writes, so what it reads here does not change under it. Answers are set after publishing.
  std::vector<std::pair<Pending*, Result<StoredPtr>>> answers;
  std::vector<JournalRow> rows;
  std::vector<std::pair<std::string, EventPtr>> events;
  std::map<std::string, StoredPtr> overlay;  // of this batch; null: removed
  std::int64_t next = revision();
  for (Pending* one : batch) {
    auto& change = one->change;
    const auto overlay_key = change.resource + "\n" + key_of(change.ns, change.name);
    const auto over = overlay.find(overlay_key);
    StoredPtr before = over != overlay.end() ? over->second : get(change.resource, change.ns, change.name);
    if (before && change.expected == 0) {
      answers.emplace_back(one, conflict("Exists"));
      continue;
    }
    if (!before && change.expected != 0) {
      answers.emplace_back(one, conflict("Missing"));
      continue;
    }
    if (before && before->revision != change.expected) {
      answers.emplace_back(one, conflict("Changed"));
      continue;
    }
    auto now = store_object(change.object, ++next, change.version);
    overlay[overlay_key] = change.remove ? nullptr : now;
    if (inner_->journal) rows.push_back({change.resource, change.ns, change.name, next, journal_body(*now), change.remove});
    auto event = std::make_shared<Event>();
    event->type = change.remove ? Change::kDeleted : before ? Change::kModified : Change::kAdded;
    event->revision = next;
    event->ns = change.ns;
    event->name = change.name;
    event->now = now;
    event->before = std::move(before);
    event->at = std::chrono::steady_clock::now();
    events.emplace_back(change.resource, std::move(event));
    answers.emplace_back(one, std::move(now));
  }
  Status committed;
  if (inner_->held) {
    std::ranges::move(rows, std::back_inserter(*inner_->held));
  } else if (inner_->journal) {
    committed = inner_->journal->commit(rows);
  }
  std::vector<std::shared_ptr<Watch::State>> woken;
  if (committed) {
    const std::lock_guard lock(inner_->mutex);
    for (auto& [resource, event] : events) publish(resource, std::move(event), woken);
    inner_->revision = next;
  }
  for (const auto& state : woken) state->wake();
  const std::lock_guard lock(inner_->queue_mutex);
  for (auto& [one, answer] : answers) {
    if (!committed && answer) {
      one->answer = tl::unexpected(committed.error());
    } else {
      one->answer = std::move(answer);
    }
  }
}

void Store::publish(const std::string& resource, EventPtr event, std::vector<std::shared_ptr<Watch::State>>& woken) {
  Lane& into = lane(resource);
  const auto key = key_of(event->ns, event->name);
  if (event->type == Change::kDeleted) {
    into.objects.erase(key);
  } else {
    into.objects[key] = {event->ns, event->name, event->now};
  }
  const auto tell = [&](const std::string& ns, const std::string& name) {
    const auto at = into.watches.find({ns, name});
    if (at == into.watches.end()) return;
    for (const auto& state : at->second) {
      if (state->pending || event->revision <= state->place) continue;
      state->pending = true;
      state->place = event->revision - 1;
      woken.push_back(state);
    }
  };
  // Whoever reads one object is not woken by the others: each of a thousand agents watches its own of a thousand clusters.
  for (const std::string& name : {std::string(), event->name}) {
    tell("", name);
    if (!event->ns.empty()) tell(event->ns, name);
  }
  const auto bytes = past_bytes(*event);
  into.bytes += bytes;
  inner_->bytes += bytes;
  into.log.push_back(std::move(event));
  trim(into);
  const auto now = std::chrono::steady_clock::now();
  if (now - inner_->swept < std::min(kBetweenSweeps, inner_->limits.kept_for)) return;
  inner_->swept = now;
  for (const auto& [name, other] : inner_->lanes) trim(*other);  // also those that nobody writes to any more
}

void Store::trim(Lane& from) const {
  const auto now = std::chrono::steady_clock::now();
  const auto& limits = inner_->limits;
  const auto is_over = [&] {
    if (from.log.size() > limits.most_events) return true;
    const bool small = from.log.size() <= limits.kept_events && from.bytes <= limits.kept_bytes;
    return !small && now - from.log.front()->at > limits.kept_for;
  };
  while (!from.log.empty() && is_over()) inner_->forget_first(from);
  // Whoever writes large objects shortens the log of their kind, and not those of the others.
  while (inner_->bytes > kMaxBytes) {
    const auto largest = std::max_element(inner_->lanes.begin(), inner_->lanes.end(), [](const auto& one, const auto& other) {
      return one.second->bytes < other.second->bytes;
    });
    if (largest->second->log.size() <= 1) return;
    inner_->forget_first(*largest->second);
  }
}

Result<std::unique_ptr<Watch>> Store::watch(const std::string& resource, const std::string& ns, const std::string& name,
                                            std::int64_t from, std::function<void()> wake) {
  const std::lock_guard lock(inner_->mutex);
  Lane& at = lane(resource);
  if (from < at.horizon) return fail(Category::kGone, "the revision was compacted");
  auto state = std::make_shared<Watch::State>();
  state->resource = resource;
  state->of = {ns, name};
  state->wake = std::move(wake);
  state->place = from;
  state->pending = !at.log.empty() && at.log.back()->revision > from;
  at.watches[state->of].insert(state);
  return std::unique_ptr<Watch>(new Watch(*this, std::move(state)));
}

Watch::~Watch() {
  const std::lock_guard lock(store_.inner_->mutex);
  auto& lane = store_.lane(state_->resource);
  const auto at = lane.watches.find(state_->of);
  if (at == lane.watches.end()) return;
  at->second.erase(state_);
  if (at->second.empty()) lane.watches.erase(at);
}

Result<std::vector<EventPtr>> Watch::take(std::size_t most, std::size_t bytes) {
  std::vector<EventPtr> out;
  const std::lock_guard lock(store_.inner_->mutex);
  if (!state_->pending) return out;
  auto& lane = store_.lane(state_->resource);
  if (state_->place < lane.horizon) return fail(Category::kGone, "too slow: the events were compacted");
  auto at = std::upper_bound(lane.log.begin(), lane.log.end(), state_->place,
                             [](std::int64_t place, const EventPtr& event) { return place < event->revision; });
  std::size_t taken = 0;
  for (; at != lane.log.end() && out.size() < most && taken < bytes; ++at) {
    state_->place = (*at)->revision;
    const auto& [ns, name] = state_->of;
    if ((!ns.empty() && (*at)->ns != ns) || (!name.empty() && (*at)->name != name)) continue;
    taken += (*at)->now->body.size();
    out.push_back(*at);
  }
  state_->pending = at != lane.log.end();
  return out;
}

std::int64_t Watch::revision() const {
  const std::lock_guard lock(store_.inner_->mutex);
  // Where nothing is pending this reader is as far as the store, or it asked for a revision to come.
  return state_->pending ? state_->place : std::max(state_->place, store_.inner_->revision);
}

}  // namespace fleetadm::sandbox
