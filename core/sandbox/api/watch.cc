// Watches: a body that reads the store's log as fast as its client takes it.
#include <charconv>
#include <deque>
#include <mutex>

#include "core/apimachinery/protobuf_encode.h"
#include "core/sandbox/api/read.h"
#include "core/sandbox/api/tables.h"
#include "core/sandbox/engine/converted_events.h"
#include "core/sandbox/engine/custom.h"
#include "kubeclient/base/backoff.h"

namespace fleetadm::sandbox {
namespace {

using Steady = std::chrono::steady_clock;
constexpr std::size_t kEventBatch = 256;
constexpr auto kBookmarkEvery = std::chrono::seconds(60);
constexpr auto kBookmarkBeforeEnd = std::chrono::milliseconds(2500);

/// What the store wakes: the body's connection, once there is one.
struct WakeSlot {
  std::mutex mutex;
  std::function<void()> wake;
  void call() {
    std::function<void()> now;
    {
      const std::lock_guard lock(mutex);
      now = wake;
    }
    if (now) now();
  }
};

struct WatchOptions {
  Selection selection;
  Wanted wanted;
  std::string include_object;
  bool bookmarks = false;
  bool end_of_initial = false;  // mark the end of the initial events
  Steady::time_point deadline;
};

class ApiWatch final : public serve::BodyStream {
 public:
  ApiWatch(std::shared_ptr<ApiState> state, KindPtr kind, WatchOptions options)
      : state_(std::move(state)),
        kind_(std::move(kind)),
        options_(std::move(options)),
        slot_(std::make_shared<WakeSlot>()),
        kinds_(state_->kinds.generation()),
        next_bookmark_(Steady::now() + kBookmarkEvery) {
    if (converter_of(*kind_) != nullptr)
      converted_.emplace(kind_, options_.selection.selects(), [slot = slot_] { slot->call(); });
  }
  ~ApiWatch() override { watch_.reset(); }  // before the store may go

  /// Initial objects, in order, and the revision that the log is read from.
  Status begin(std::deque<Item> initial, std::int64_t from) {
    initial_ = std::move(initial);
    start_ = from;
    sent_ = from;
    FLEETADM_TRY(watch_,
                 state_->store->watch(kind_->storage, options_.selection.ns, options_.selection.fields.exact("metadata.name"),
                                      from, [slot = slot_] { slot->call(); }));
    return {};
  }
  void fail_with(const ApiError& error) { failure_ = status_of(error); }

  void on_ready(std::function<void()> wake) override {
    const std::lock_guard lock(slot_->mutex);
    slot_->wake = std::move(wake);
  }

  bool due(Steady::time_point now) const override {
    return converted_ || generation() != kinds_ || now >= options_.deadline ||
           (options_.bookmarks && (now >= next_bookmark_ || ends_soon(now)));
  }

  More read(std::string& into, std::size_t most) override {
    if (failure_) {
      put(into, "ERROR", *failure_);
      return More::kEnd;
    }
    if (gone()) return More::kEnd;
    if (converted_) return read_converted(into, most);
    while (!initial_.empty() && into.size() < most) {
      send(into, "ADDED", *initial_.front().object);
      initial_.pop_front();
    }
    if (!initial_.empty()) return More::kYes;
    if (options_.end_of_initial) {
      options_.end_of_initial = false;
      bookmark(into, start_, true);
    }
    while (into.size() < most) {
      auto events = watch_->take(kEventBatch, most - into.size());
      if (!events) return into.empty() ? More::kCut : More::kYes;  // too slow: cut, as the real server does
      if (events->empty()) break;
      for (const auto& event : *events) send(into, *event);
    }
    if (into.size() >= most) return More::kYes;
    return timed(into);
  }

 private:
  /// Never waits for a webhook: what is not converted yet comes with a later call.
  More read_converted(std::string& into, std::size_t most) {
    while (into.size() < most) {
      if (!converted_->empty()) {
        auto event = converted_->next();
        if (!event) {
          put(into, "ERROR", status_of(event.error()));
          return More::kEnd;
        }
        if (!*event) return Steady::now() >= options_.deadline ? More::kEnd : More::kLater;
        const auto& one = **event;
        send(into, *one.event, one.now ? &*one.now : nullptr, one.before ? &*one.before : nullptr);
        continue;
      }
      if (!initial_.empty()) {
        converted_->add(some_initial());
        continue;
      }
      if (std::exchange(options_.end_of_initial, false)) bookmark(into, start_, true);
      auto events = watch_->take(ConvertedEvents::kMaxAtOnce);
      if (!events) return into.empty() ? More::kCut : More::kYes;  // as above
      if (events->empty()) return timed(into);
      converted_->add(std::move(*events));
    }
    return More::kYes;
  }

  std::vector<EventPtr> some_initial() {
    std::vector<EventPtr> out;
    for (; !initial_.empty() && out.size() < ConvertedEvents::kMaxAtOnce; initial_.pop_front()) {
      auto& item = initial_.front();
      auto event = std::make_shared<Event>();
      event->revision = item.object->revision;
      event->ns = std::move(item.ns);
      event->name = std::move(item.name);
      event->now = std::move(item.object);
      out.push_back(std::move(event));
    }
    return out;
  }

  /// Of the kinds that are served; built-in ones stay.
  std::uint64_t generation() const { return kind_->custom == nullptr ? kinds_ : state_->kinds.generation(); }
  bool gone() {
    const auto now = generation();
    if (now == kinds_) return false;
    kinds_ = now;
    return state_->kinds.find(kind_->group, kind_->version, kind_->plural) != kind_;
  }

  bool ends_soon(Steady::time_point now) const { return !ended_with_bookmark_ && now + kBookmarkBeforeEnd >= options_.deadline; }

  More timed(std::string& into) {
    const auto now = Steady::now();
    if (options_.bookmarks) {
      const bool ending = ends_soon(now);
      if (ending || now >= next_bookmark_) {
        ended_with_bookmark_ = ended_with_bookmark_ || ending;
        next_bookmark_ = now + kBookmarkEvery;
        if (const auto revision = watch_->revision(); revision > sent_) bookmark(into, revision, false);
      }
    }
    return now >= options_.deadline ? More::kEnd : More::kLater;
  }

  /// `now` and `was`: the states of the event where they had to be converted.
  void send(std::string& into, const Event& event, const Json* now = nullptr, const Json* was = nullptr) {
    const auto matches = [&](const Stored& stored, const Json* converted) {
      const auto& selection = options_.selection;
      return converted != nullptr ? selection.matches(event.ns, event.name, *converted)
                                  : selection.matches(*state_->engine, *kind_, event.ns, event.name, stored);
    };
    const auto send_now = [&](std::string_view type) {
      if (now == nullptr) return send(into, type, *event.now);
      show(into, type, *now);
    };
    const bool after = event.type != Change::kDeleted && matches(*event.now, now);
    const bool before = event.before && matches(*event.before, was);
    sent_ = std::max(sent_, event.revision);
    if (after) return send_now(before ? "MODIFIED" : "ADDED");
    if (!before) return;
    if (event.type == Change::kDeleted) return send_now("DELETED");
    // It left the selection: the state that was in it, with the revision of the change.
    Json object = was != nullptr ? *was : state_->engine->full(*kind_, *event.before);
    at_or_make(object, {"metadata", "resourceVersion"}) = std::to_string(event.revision);
    show(into, "DELETED", std::move(object));
  }

  void send(std::string& into, std::string_view type, const Stored& object) {
    if (options_.wanted.as.empty() && !options_.wanted.protobuf) return write(into, type, state_->engine->text(*kind_, object));
    show(into, type, state_->engine->full(*kind_, object));
  }

  void show(std::string& into, std::string_view type, Json object) {
    const auto& wanted = options_.wanted;
    if (auto shown = present(*kind_, std::move(object), wanted, options_.include_object, state_->engine->clock().now())) {
      if (wanted.as == "Table" && std::exchange(columns_sent_, true)) shown->erase("columnDefinitions");
      put(into, type, *shown);
    }
  }

  void put(std::string& into, std::string_view type, const Json& object) const {
    if (!options_.wanted.protobuf) return write(into, type, dump_json(object));
    // What has no protobuf form is not negotiated; a stored object of a wrong shape is left out as one that cannot be read.
    if (const auto envelope = apimachinery::encode_protobuf(object)) into += apimachinery::watch_frame(type, *envelope);
  }

  void bookmark(std::string& into, std::int64_t revision, bool end_of_initial) {
    sent_ = std::max(sent_, revision);
    Json object = {{"kind", kind_->kind},
                   {"apiVersion", kind_->api_version()},
                   {"metadata", {{"resourceVersion", std::to_string(revision)}, {"creationTimestamp", nullptr}}}};
    if (end_of_initial) object["metadata"]["annotations"] = {{"k8s.io/initial-events-end", "true"}};
    show(into, "BOOKMARK", std::move(object));
  }

  static void write(std::string& into, std::string_view type, const std::string& object) {
    into.append("{\"type\":\"").append(type).append("\",\"object\":").append(object).append("}\n");
  }

  std::shared_ptr<ApiState> state_;
  KindPtr kind_;
  WatchOptions options_;
  std::shared_ptr<WakeSlot> slot_;
  std::uint64_t kinds_;
  Steady::time_point next_bookmark_;
  std::deque<Item> initial_;
  std::optional<ConvertedEvents> converted_;  // of kinds whose objects may be stored in another version
  std::int64_t start_ = 0;
  std::int64_t sent_ = 0;  // the client knows this revision
  std::unique_ptr<Watch> watch_;
  std::optional<Json> failure_;
  bool ended_with_bookmark_ = false;
  bool columns_sent_ = false;
};

ApiStatus check_watch_options(const serve::Query& query) {
  const auto match = query.get("resourceVersionMatch");
  const bool initial = query.has("sendInitialEvents");
  const std::string at = "resourceVersionMatch";
  std::vector<Cause> causes;
  if (initial && match != "NotOlderThan")
    causes.push_back(forbidden_field(at, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
  if (!match.empty()) {
    if (!initial)
      causes.push_back(forbidden_field(at, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"));
    if (match != "NotOlderThan") causes.push_back(unsupported(at, match, {"NotOlderThan"}));
    if (!query.get("continue").empty())
      causes.push_back(forbidden_field(at, "resourceVersionMatch is forbidden when continue is provided"));
  }
  if (!causes.empty()) return invalid_options("ListOptions", causes);
  return {};
}

}  // namespace

ApiResult<serve::HttpResponse> answer_watch(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request,
                                            const KindPtr& kind) {
  const serve::Query& query = request.query;
  WatchOptions options;
  FLEETADM_TRY(options.wanted, negotiate(*request.http, object_conversions(), kind->custom == nullptr));
  const bool initial = query.flag("sendInitialEvents");
  FLEETADM_CHECK(check_watch_options(query));
  FLEETADM_TRY(options.selection, read_selection(request, *kind));
  // The old form, /watch/…/<name>, has no selector.
  if (!request.what.name.empty()) options.selection.fields.demand("metadata.name", request.what.name);
  FLEETADM_TRY(auto seconds, query.integer("timeoutSeconds").map_error(from_error));
  if (seconds <= 0) seconds = std::chrono::floor<std::chrono::seconds>(jittered(std::chrono::minutes(30), 1.0)).count();
  options.deadline = Steady::now() + std::chrono::seconds(seconds);
  options.bookmarks = query.flag("allowWatchBookmarks");
  options.include_object = query.get("includeObject");
  const auto text = query.get("resourceVersion");
  std::int64_t revision = 0;
  if (!text.empty()) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), revision);
    if (error != std::errc() || end != text.data() + text.size()) {
      return api_fail(500, "", "strconv.ParseUint: parsing " + dump_json(Json(text)) + ": invalid syntax");
    }
  }
  const bool from_now = revision == 0 || initial;
  options.end_of_initial = from_now && options.bookmarks;
  serve::HttpResponse response;
  response.headers = {{"content-type", options.wanted.protobuf ? "application/vnd.kubernetes.protobuf;stream=watch"
                                       : options.wanted.yaml   ? "application/yaml"
                                                               : "application/json"},
                      {"cache-control", "no-cache, private"}};
  if (initial) FLEETADM_CHECK(reach(*state->store, revision));
  std::deque<Item> items;
  if (from_now) {
    auto snapshot = state->store->list(kind->storage, options.selection.ns, 0, options.selection.fields.exact("metadata.name"));
    if (!snapshot) return tl::unexpected(from_error(snapshot.error()));
    for (auto& item : snapshot->items) {
      const bool later = Engine::converts(*kind, *item.object);  // the selection is of what it is converted to
      if (later || options.selection.matches(*state->engine, *kind, item.ns, item.name, *item.object))
        items.push_back(std::move(item));
    }
    revision = snapshot->revision;
  }
  auto stream = std::make_shared<ApiWatch>(state, kind, std::move(options));
  if (auto begun = stream->begin(std::move(items), revision); !begun) {
    ApiError error;
    error.code = 410;
    error.reason = "Expired";
    error.message =
        "too old resource version: " + std::to_string(revision) + " (" + std::to_string(state->store->revision()) + ")";
    stream->fail_with(error);
  }
  response.stream = std::move(stream);
  return response;
}

}  // namespace fleetadm::sandbox
