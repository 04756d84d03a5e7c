#include "kubeclient/events/recorder.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "kubeclient/base/log.h"
#include "kubeclient/base/names.h"

namespace fleetadm::kube {

namespace {

constexpr std::size_t kMaxQueue = 256;
constexpr std::size_t kMaxSeries = 512;
constexpr std::size_t kMaxNote = 1024;
constexpr std::size_t kMaxWord = 128;
constexpr auto kSeriesEnds = std::chrono::minutes(6);  // a repetition later than this is a new happening
constexpr auto kCall = std::chrono::seconds(10);
// A change that touches thousands of objects tells of thousands of things. So many are told at once, and then one an interval,
// so that the writes that matter have the server to themselves; what the queue cannot hold meanwhile is dropped.
constexpr int kBurst = 64;
constexpr auto kInterval = std::chrono::milliseconds(50);

/// At most `limit` bytes, cut between characters.
std::string cut(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0U) == 0x80U) --limit;
  return std::string(text.substr(0, limit));
}

Json reference_of(const Json& object) {
  Json reference{{"kind", str(object, {"kind"})}, {"apiVersion", str(object, {"apiVersion"})}, {"name", name_of(object)}};
  if (const auto ns = namespace_of(object); !ns.empty()) reference["namespace"] = ns;
  if (const auto uid = uid_of(object); !uid.empty()) reference["uid"] = uid;
  if (const auto version = resource_version_of(object); !version.empty()) reference["resourceVersion"] = version;
  return reference;
}

std::string hex(std::int64_t value) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (auto rest = static_cast<std::uint64_t>(value); rest != 0; rest >>= 4U) out.insert(out.begin(), kHex[rest & 15U]);
  return out.empty() ? "0" : out;
}

struct Happening {
  std::string ns;
  Json event;
  std::string identity;  // equal for repetitions
};

struct Series {
  std::string name;
  int count = 1;
  Instant last;
};

}  // namespace

struct Recorder::State {
  State(Client c, std::string controller_name, std::string instance_name, std::shared_ptr<Clock> clock_source)
      : client(c.with_timeout(kCall)),
        controller(std::move(controller_name)),
        instance(cut(instance_name, kMaxWord)),
        clock(std::move(clock_source)) {}

  /// The sender's calls end with its stop token: nothing here waits for a server.
  ~State() {
    stopped.request_stop();
    std::unique_lock lock(mutex);
    idle.wait(lock, [this] { return !running; });
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void send(const Happening& happening, const std::stop_token& stop) {
    const Client bounded = client.with_stop(stop);
    const Instant now = clock->now();
    if (const auto known = series.find(happening.identity); known != series.end() && now - known->second.last < kSeriesEnds) {
      auto& one = known->second;
      const Json patch{{"series", {{"count", one.count + 1}, {"lastObservedTime", format_micro_time(now)}}}};
      auto patched = bounded.patch(resources::events(), happening.ns, one.name, PatchType::kMerge, patch);
      if (patched) {
        ++one.count;
        one.last = now;
        return;
      }
      if (patched.error().category != Category::kNotFound) return tell(patched.error());
      series.erase(known);  // it lived its hour: a new one begins
    }
    auto created = bounded.create(resources::events(), happening.ns, happening.event);
    if (!created) return tell(created.error());
    if (series.size() >= kMaxSeries) {
      series.erase(std::min_element(series.begin(), series.end(),
                                    [](const auto& a, const auto& b) { return a.second.last < b.second.last; }));
    }
    series[happening.identity] = {name_of(*created), 1, now};
  }

  static void tell(const Error& error) {
    if (error.category != Category::kCancelled) log::info(2, "events", "an event was not recorded: " + error.message);
  }

  /// Waits until one more may be sent; false: stopped meanwhile.
  bool await_turn(std::unique_lock<std::mutex>& lock, const std::stop_token& stop) {
    const auto now = std::chrono::steady_clock::now();
    paid_until = std::max(paid_until, now) + kInterval;
    const auto begin = paid_until - kBurst * kInterval;
    if (begin > now) changed.wait_until(lock, stop, begin, [] { return false; });
    return !stop.stop_requested();
  }

  /// Until there is nothing left: a program that has nothing to tell has no thread for it.
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex);
    while (!queue.empty() && await_turn(lock, stop)) {
      const Happening happening = std::move(queue.front());
      queue.pop_front();
      sending = true;
      lock.unlock();
      send(happening, stop);
      lock.lock();
      sending = false;
      if (queue.empty()) idle.notify_all();
    }
    running = false;  // the rest of the thread touches nothing of this
    idle.notify_all();
  }

  const Client client;
  const std::string controller;
  const std::string instance;
  const std::shared_ptr<Clock> clock;
  std::map<std::string, Series> series;              // the sender's alone, as is
  std::chrono::steady_clock::time_point paid_until;  // when the events sent so far would have taken their intervals

  std::mutex mutex;  // guards what follows
  std::condition_variable_any changed;
  std::condition_variable_any idle;
  std::deque<Happening> queue;
  bool sending = false;
  bool running = false;  // the sender
  std::int64_t last_stamp = 0;
  std::stop_source stopped;
};

Recorder::Recorder(Client client, std::string controller, std::string instance, std::shared_ptr<Clock> clock)
    : state_(std::make_shared<State>(std::move(client), std::move(controller), std::move(instance), std::move(clock))) {}

void Recorder::event(const Json& regarding, std::string_view ns, std::string_view type, std::string_view reason,
                     std::string_view action, std::string_view note) {
  auto& state = *state_;
  const Instant now = state.clock->now();
  Happening happening;
  happening.ns = ns.empty() ? "default" : std::string(ns);
  const Json reference = reference_of(regarding);
  happening.event = Json{{"apiVersion", "events.k8s.io/v1"},
                         {"kind", "Event"},
                         {"metadata", {{"namespace", happening.ns}}},
                         {"eventTime", format_micro_time(now)},
                         {"reportingController", state.controller},
                         {"reportingInstance", state.instance},
                         {"type", type == "Warning" ? "Warning" : "Normal"},
                         {"reason", cut(reason, kMaxWord)},
                         {"action", cut(action.empty() ? reason : action, kMaxWord)},
                         {"note", cut(note, kMaxNote)},
                         {"regarding", reference}};
  Json same = reference;
  same.erase("resourceVersion");
  happening.identity = happening.ns + "\n" + dump_json(same) + "\n" + std::string(type) + "\n" + std::string(reason) + "\n" +
                       std::string(action) + "\n" + std::string(note);

  const std::scoped_lock lock(state.mutex);
  // Names must differ, also for two events of one instant.
  state.last_stamp = std::max(state.last_stamp + 1, static_cast<std::int64_t>(now.time_since_epoch().count()));
  std::string base = name_of(regarding);
  std::replace(base.begin(), base.end(), ':', '-');
  if (!is_dns_subdomain(base)) base = "object";
  happening.event["metadata"]["name"] = cut(base, 200) + "." + hex(state.last_stamp);
  if (state.queue.size() >= kMaxQueue) {
    log::info(2, "events", "too many events at once; one was dropped");
    return;
  }
  state.queue.push_back(std::move(happening));
  if (state.running) return;
  // Detached: the stack of a thread that has ended is kept until it is joined, and nobody would join this one for long.
  std::thread([s = state_.get(), stop = state.stopped.get_token()] { s->run(stop); }).detach();
  state.running = true;  // it waits for the lock
}

void Recorder::flush(Duration timeout) {
  std::unique_lock lock(state_->mutex);
  state_->idle.wait_for(lock, timeout, [&] { return state_->queue.empty() && !state_->sending; });
}

}  // namespace fleetadm::kube
