// The fake server's front: requests in, answers and faults out, watches. What is done to objects is in fake_api_verbs.cc.
#include "tests/support/fake_api.h"

#include <algorithm>

#include "tests/support/fake_api_internal.h"
#include "tests/support/fake_selectors.h"

namespace fleetadm::testkit {

using kube::Method;
using kube::Response;

namespace {

ApiCall call_for(const kube::Resource& resource) {
  ApiCall call;
  call.group = resource.group;
  call.version = resource.version;
  return call;
}

}  // namespace

std::string ApiCall::param(std::string_view key) const {
  for (const auto& [parameter, value] : query) {
    if (parameter == key) return value;
  }
  return {};
}

std::shared_ptr<FakeApi> FakeApi::make(std::shared_ptr<Clock> clock) {
  return std::make_shared<FakeApi>(Private{}, std::move(clock));
}

std::shared_ptr<FakeApi> FakeApi::copy() const {
  auto other = make(clock_);
  const std::lock_guard lock(mutex_);
  other->objects_ = objects_;
  other->revision_ = other->compacted_ = revision_;
  other->next_uid_ = next_uid_;
  other->next_suffix_ = next_suffix_;
  other->routes_ = routes_;
  other->review_ = review_;
  other->streaming_lists_ = streaming_lists_;
  return other;
}

kube::Client FakeApi::client(std::shared_ptr<kube::WriteGate> gate, std::string cluster_name) {
  return {shared_from_this(), std::move(gate), std::move(cluster_name)};
}

std::optional<Json> FakeApi::get(const kube::Resource& resource, std::string_view ns, std::string_view name) const {
  const std::scoped_lock lock(mutex_);
  const auto type = objects_.find({resource.group, resource.plural});
  if (type == objects_.end()) return std::nullopt;
  const auto found = type->second.find(kube::object_key(resource.namespaced ? ns : std::string_view{}, name));
  return found == type->second.end() ? std::nullopt : std::optional<Json>(in_version(call_for(resource), found->second));
}

std::vector<Json> FakeApi::all(const kube::Resource& resource) const {
  const std::scoped_lock lock(mutex_);
  std::vector<Json> out;
  if (const auto type = objects_.find({resource.group, resource.plural}); type != objects_.end()) {
    for (const auto& [key, object] : type->second) out.push_back(in_version(call_for(resource), object));
  }
  return out;
}

std::vector<ApiCall> FakeApi::calls() const {
  const std::scoped_lock lock(mutex_);
  return calls_;
}

std::vector<ApiCall> FakeApi::writes() const {
  std::vector<ApiCall> out = calls();
  out.erase(std::remove_if(out.begin(), out.end(), [](const ApiCall& call) { return !call.is_write(); }), out.end());
  return out;
}

int FakeApi::count(std::string_view verb, std::string_view plural) const {
  const std::scoped_lock lock(mutex_);
  return static_cast<int>(std::count_if(calls_.begin(), calls_.end(), [&](const ApiCall& call) {
    return call.verb == verb && (plural.empty() || call.plural == plural);
  }));
}

int FakeApi::write_count() const { return static_cast<int>(writes().size()); }

void FakeApi::forget_calls() {
  const std::scoped_lock lock(mutex_);
  calls_.clear();
}

void FakeApi::fail_next(std::string_view verb, std::string_view plural, int status, std::string_view reason, int times,
                        std::map<std::string, std::string> headers) {
  const std::scoped_lock lock(mutex_);
  Fault fault{std::string(verb), std::string(plural), Fault::Kind::kStatus, {}, times};
  fault.response = status_response(status, reason, "injected failure");
  fault.response.headers.merge(headers);
  faults_.push_back(std::move(fault));
}

void FakeApi::refuse_next(std::string_view verb, std::string_view plural, int times) {
  const std::scoped_lock lock(mutex_);
  faults_.push_back({std::string(verb), std::string(plural), Fault::Kind::kRefused, {}, times});
}

void FakeApi::lose_answer_of_next(std::string_view verb, std::string_view plural, int times) {
  const std::scoped_lock lock(mutex_);
  faults_.push_back({std::string(verb), std::string(plural), Fault::Kind::kLost, {}, times});
}

void FakeApi::on_request(Hook hook) {
  const std::scoped_lock lock(mutex_);
  hook_ = std::move(hook);
}

void FakeApi::route(std::string path, Response response) {
  const std::scoped_lock lock(mutex_);
  if (!response.headers.contains("content-type")) response.headers["content-type"] = "application/json";
  routes_[std::move(path)] = std::move(response);
}

void FakeApi::on_review(std::function<bool(const Json&)> allowed) {
  const std::scoped_lock lock(mutex_);
  review_ = std::move(allowed);
}

void FakeApi::allow_streaming_lists(bool allowed) {
  const std::scoped_lock lock(mutex_);
  streaming_lists_ = allowed;
}

std::optional<FakeApi::Fault> FakeApi::take_fault(const ApiCall& call) {
  for (auto it = faults_.begin(); it != faults_.end(); ++it) {
    if (!it->verb.empty() && it->verb != call.verb) continue;
    if (!it->plural.empty() && it->plural != call.plural) continue;
    Fault fault = *it;
    if (--it->times <= 0) faults_.erase(it);
    return fault;
  }
  return std::nullopt;
}

void FakeApi::record(const ApiCall& call, int status) {
  calls_.push_back(call);
  calls_.back().status = status;
}

Result<Response> FakeApi::answer(ApiCall call, const std::shared_ptr<Stream>& stream) {
  Hook hook;
  {
    const std::scoped_lock lock(mutex_);
    hook = hook_;
  }
  if (hook) {
    if (auto instead = hook(call)) {
      const std::scoped_lock lock(mutex_);
      record(call, instead->status);
      return std::move(*instead);
    }
  }
  const std::scoped_lock lock(mutex_);
  const auto fault = take_fault(call);
  if (fault && fault->kind == Fault::Kind::kRefused) {
    record(call, 0);
    Error error = fail(Category::kUnavailable, "connection to fake:443 refused").value();
    error.reason = "ConnectionRefused";
    return fail(std::move(error));
  }
  if (fault && fault->kind == Fault::Kind::kStatus) {
    record(call, fault->response.status);
    return fault->response;
  }
  Response response = call.verb == "watch" && stream ? do_watch(call, stream) : handle(call);
  if (fault && fault->kind == Fault::Kind::kLost) {
    record(call, 0);
    Error error = fail(Category::kUnavailable, "the connection to fake:443 broke").value();
    error.reason = "ConnectionCut";
    return fail(std::move(error));
  }
  record(call, response.status);
  return response;
}

Result<Response> FakeApi::call(const kube::Request& request) {
  if (request.stop.stop_requested()) return fail(Category::kCancelled, "cancelled");
  return answer(call_of(request), nullptr);
}

// ---- streams ----

struct FakeApi::StreamOwner final : kube::StreamHandle {
  explicit StreamOwner(std::shared_ptr<Stream> owned) : stream(std::move(owned)) {}
  ~StreamOwner() override { stream->cancel(); }
  StreamOwner(const StreamOwner&) = delete;
  StreamOwner& operator=(const StreamOwner&) = delete;
  void cancel() override { stream->cancel(); }
  std::shared_ptr<Stream> stream;
};

std::unique_ptr<kube::StreamHandle> FakeApi::stream(const kube::Request& request, std::shared_ptr<kube::StreamSink> sink) {
  auto stream = std::make_shared<Stream>();
  stream->sink = std::move(sink);
  auto response = answer(call_of(request), stream);
  if (!response) {
    stream->end(response.error());
  } else if (response->status != kStreamOpen) {
    stream->head(response->status, response->headers);
    if (!response->body.empty()) stream->data(response->body);
    stream->end(std::nullopt);
  }
  return std::make_unique<StreamOwner>(std::move(stream));
}

Response FakeApi::do_watch(const ApiCall& call, const std::shared_ptr<Stream>& stream) {
  const bool initial = call.param("sendInitialEvents") == "true";
  if (initial && (!streaming_lists_ || call.param("resourceVersionMatch") != "NotOlderThan")) {
    return status_response(
        422, "Invalid",
        "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for "
        "watch unless the WatchList feature gate is enabled");
  }
  auto watch = std::make_shared<Watch>();
  watch->type = {call.group, call.plural};
  watch->call = call;
  watch->stream = stream;
  watch->bookmarks = call.param("allowWatchBookmarks") == "true";
  stream->head(200, {{"content-type", "application/json"}});

  const std::string version = call.param("resourceVersion");
  if (initial || version.empty() || version == "0") {
    for (const auto& [key, object] : objects_[watch->type]) send_event(*watch, "ADDED", nullptr, object);
    if (initial && watch->bookmarks) {
      Json mark = bookmark_of(call, revision_);
      at_or_make(mark, {"metadata", "annotations", "k8s.io/initial-events-end"}) = "true";
      stream->data(event_line("BOOKMARK", mark));
    }
  } else {
    const std::int64_t from = std::strtoll(version.c_str(), nullptr, 10);
    if (from < compacted_) {
      stream->data(event_line("ERROR", expired_status(from, compacted_)));
      stream->end(std::nullopt);
      return open_response();
    }
    for (const auto& event : history_) {
      if (event.revision > from && event.type == watch->type) send_event(*watch, event.event, event.before, event.object);
    }
  }
  watches_.push_back(std::move(watch));
  return open_response();
}

bool FakeApi::send_event(Watch& watch, std::string_view type, const Json& before, const Json& object) {
  const auto matches = [&](const Json& candidate) {
    return candidate.is_object() && (watch.call.ns.empty() || namespace_of(candidate) == watch.call.ns) &&
           matches_labels(candidate, watch.call.param("labelSelector")) &&
           matches_fields(candidate, watch.call.param("fieldSelector"));
  };
  const bool was = matches(before);
  const bool is = type != "DELETED" && matches(object);
  if (type == "DELETED") {
    if (!was && !matches(object)) return false;
    watch.stream->data(event_line("DELETED", in_version(watch.call, object)));
  } else if (is) {
    watch.stream->data(event_line(was ? "MODIFIED" : "ADDED", in_version(watch.call, object)));
  } else if (was) {
    Json last = before;
    at_or_make(last, {"metadata", "resourceVersion"}) = resource_version_of(object);
    watch.stream->data(event_line("DELETED", in_version(watch.call, last)));
  } else {
    return false;
  }
  return true;
}

void FakeApi::publish(const TypeKey& type, std::string_view event, const Json& before, const Json& object) {
  history_.push_back({revision_, type, std::string(event), before, object});
  watches_.remove_if([](const std::shared_ptr<Watch>& watch) { return watch->stream->closed(); });
  for (const auto& watch : watches_) {
    if (watch->type == type) send_event(*watch, event, before, object);
  }
}

void FakeApi::cut_watches() {
  const std::scoped_lock lock(mutex_);
  for (const auto& watch : watches_) watch->stream->end(std::nullopt);
  watches_.clear();
}

void FakeApi::break_watches() {
  const std::scoped_lock lock(mutex_);
  Error error = fail(Category::kUnavailable, "the connection to fake:443 broke").value();
  error.reason = "ConnectionCut";
  for (const auto& watch : watches_) watch->stream->end(error);
  watches_.clear();
}

void FakeApi::expire_history() {
  const std::scoped_lock lock(mutex_);
  history_.clear();
  compacted_ = ++revision_;
  for (const auto& watch : watches_) {
    watch->stream->data(event_line("ERROR", expired_status(compacted_ - 1, compacted_)));
    watch->stream->end(std::nullopt);
  }
  watches_.clear();
}

void FakeApi::bookmark() {
  const std::scoped_lock lock(mutex_);
  for (const auto& watch : watches_) {
    if (watch->bookmarks) watch->stream->data(event_line("BOOKMARK", bookmark_of(watch->call, revision_)));
  }
}

int FakeApi::open_watches() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<int>(std::count_if(watches_.begin(), watches_.end(),
                                        [](const std::shared_ptr<Watch>& watch) { return !watch->stream->closed(); }));
}

}  // namespace fleetadm::testkit
