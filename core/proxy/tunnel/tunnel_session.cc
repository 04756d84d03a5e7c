#include "core/proxy/tunnel/tunnel_session.h"

#include <algorithm>
#include <utility>

namespace fleetadm::proxy {
namespace {

using Steady = std::chrono::steady_clock;

constexpr auto kFresh = std::chrono::milliseconds(200);  // heard of so lately, an agent needs no ping

serve::ProtocolHost without_peer(serve::ProtocolHost host) {
  host.peer.reset();  // of which the identity was read
  host.watch = nullptr;
  return host;
}

}  // namespace

TunnelSession::TunnelSession(serve::ProtocolHost host, TunnelSessionOptions options)
    : options_(std::move(options)),
      keep_alive_(options_.limits.keep_alive, Steady::now()),
      streams_(without_peer(std::move(host)), options_.limits, *this) {}

TunnelSession::~TunnelSession() = default;

Error TunnelSession::broken(std::string_view how) const {
  Error error;
  error.category = Category::kUnavailable;
  error.message = "the tunnel of cluster \"" + options_.identity.cluster + "\" " + std::string(how);
  error.cluster = options_.identity.cluster;
  return error;
}

TunnelInfo TunnelSession::info() const {
  TunnelInfo out;
  out.cluster = options_.identity.cluster;
  out.agent = options_.identity.agent;
  out.since = options_.since;
  out.streams = running_;
  out.waiting = queued_;
  out.draining = draining_;
  out.silent = silent_;
  return out;
}

void TunnelSession::count() {
  running_ = streams_.size();
  queued_ = waiting_.size();
}

void TunnelSession::run_later() {
  const auto self = shared_from_this();
  streams_.run_later();
  count();
}

// Requests

bool TunnelSession::takes_requests() const { return !gone_ && !draining_ && streams_.takes_requests(); }

void TunnelSession::send(serve::HttpRequest request, Done done) {
  if (request.left.stop_requested()) return done(fail(client_left()));
  if (!takes_requests()) return send_elsewhere(std::move(request), std::move(done), broken("takes no more requests"));
  if (waiting_.empty() && streams_.has_free_stream()) {
    begin(std::move(request), std::move(done));
  } else if (waiting_.size() < options_.limits.waiting) {
    wait(std::move(request), std::move(done));
  } else {
    Error full = broken("has too many requests");
    full.code = 429;
    full.retry_after_seconds = 1;
    return done(fail(std::move(full)));
  }
  count();
}

void TunnelSession::begin(serve::HttpRequest request, Done done) {
  const auto now = Steady::now();
  if (!streams_.begin(request, done, now)) {
    draining_ = true;
    return send_elsewhere(std::move(request), std::move(done), broken("takes no more requests"));
  }
  ask_for_life(now);
  streams_.flush();
}

void TunnelSession::wait(serve::HttpRequest request, Done done) {
  auto left = when_left(request.left, [self = weak_from_this(), number = ++waited_] {
    if (const auto here = self.lock()) here->leave_waiting(number);
  });
  waiting_.push_back({std::move(request), std::move(done), Steady::now(), waited_, std::move(left)});
}

void TunnelSession::leave_waiting(std::uint64_t number) {
  const auto at = std::ranges::find(waiting_, number, &Waiting::number);
  if (at == waiting_.end()) return;
  const Waiting over = std::move(*at);
  waiting_.erase(at);
  count();
  over.done(fail(client_left()));
}

/// What waits goes on as far as the agent lets it.
void TunnelSession::pump() {
  while (!waiting_.empty() && takes_requests() && streams_.has_free_stream()) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    begin(std::move(next.request), std::move(next.done));
  }
}

void TunnelSession::send_elsewhere(serve::HttpRequest request, Done done, const Error& otherwise) {
  const auto other = options_.elsewhere ? options_.elsewhere() : nullptr;
  if (!other || other.get() == this) return done(fail(otherwise));
  other->send(std::move(request), std::move(done));
}

void TunnelSession::give_away_waiting(const Error& otherwise) {
  for (auto& each : std::exchange(waiting_, {})) send_elsewhere(std::move(each.request), std::move(each.done), otherwise);
}

void TunnelSession::drain() {
  if (draining_.exchange(true)) return;
  streams_.say_goodbye();
  later([this] { give_away_waiting(broken("takes no more requests")); });
  run_later();
  streams_.flush();
}

void TunnelSession::cut(std::string_view why) {
  streams_.break_off(why);
  streams_.flush();
}

void TunnelSession::agent_leaves() {
  draining_ = true;
  later([this] { give_away_waiting(broken("takes no more requests")); });
}

void TunnelSession::not_taken(serve::HttpRequest request, Done done) {
  auto kept = std::make_shared<serve::HttpRequest>(std::move(request));
  later([this, kept, done = std::move(done)] { send_elsewhere(std::move(*kept), done, broken("has not taken the request")); });
}

void TunnelSession::stream_over() {
  later([this] { pump(); });
}

// Bytes

bool TunnelSession::feed(std::string_view bytes) {
  if (streams_.failed()) return false;
  keep_alive_.heard(Steady::now());
  silent_ = false;
  streams_.feed(bytes);
  if (!waiting_.empty()) later([this] { pump(); });
  run_later();
  return !streams_.failed();
}

void TunnelSession::output(std::string& into, std::size_t most) {
  streams_.output(into, most);
  if (streams_.has_later()) run_later();
}

void TunnelSession::gone() {
  if (std::exchange(gone_, true)) return;
  const auto self = shared_from_this();
  if (options_.gone) options_.gone(this);
  const Error why = broken(streams_.why().empty() ? "broke" : streams_.why());
  streams_.cut_all(why);
  later([this, why] { give_away_waiting(why); });
  run_later();
}

// Time

bool TunnelSession::tick(SteadyTime now) {
  switch (keep_alive_.due(now)) {
    case kube::KeepAlive::Due::kGone: streams_.break_off("is dead: the agent does not answer"); return false;
    case kube::KeepAlive::Due::kPing: streams_.ping(); break;
    case kube::KeepAlive::Due::kNothing: break;
  }
  streams_.tick(now);
  if (!draining_ && options_.expired && options_.expired()) drain();
  check_silence(now);
  give_up_late_ones(now);
  pump();
  run_later();
  streams_.give_memory_back();
  return true;
}

/// A request does not wait for the next round of pings to learn that there is nobody.
void TunnelSession::ask_for_life(SteadyTime now) {
  if (now - keep_alive_.last_heard() < kFresh || !keep_alive_.ask(now)) return;
  streams_.ping();
}

void TunnelSession::check_silence(SteadyTime now) {
  if (streams_.waits_for_answers()) ask_for_life(now);
  if (!keep_alive_.asked() || now - *keep_alive_.asked() < options_.limits.silence) return;
  silent_ = true;
  Error why = broken("is silent: the agent does not answer");
  why.category = Category::kTimeout;
  streams_.refuse_unanswered(why);
  later([this, why] { give_away_waiting(why); });
}

void TunnelSession::give_up_late_ones(SteadyTime now) {
  Error why = broken("had no answer in time");
  why.category = Category::kTimeout;
  streams_.refuse_late(now, why);
  while (!waiting_.empty() && now - waiting_.front().since > options_.limits.queue) {
    Error busy = broken("had no room for another request in time");
    busy.code = 503;
    busy.retry_after_seconds = 1;
    later([done = std::move(waiting_.front().done), busy] { done(fail(busy)); });
    waiting_.pop_front();
  }
}

}  // namespace fleetadm::proxy
