#include "core/push/member.h"

#include <algorithm>
#include <random>

#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/registration/hub/acceptance.h"
#include "kubeclient/base/log.h"

namespace fleetadm::push {
namespace {

namespace reg = registration::agent;
namespace r = kube::resources;

constexpr auto kWorksEndAfter = std::chrono::seconds(3);
constexpr Duration kAfterAnotherWrite = std::chrono::milliseconds(300);
constexpr Duration kShortestWait = std::chrono::milliseconds(10);
/// Then it is looked at whether something is to be asked: the version, or what was not served.
constexpr Duration kRestLasts = std::chrono::minutes(1);
/// That a member becomes available with its figures in one write, also where an answer takes a quarter of a second.
constexpr Duration kFirstFigures = std::chrono::seconds(1);
constexpr Duration kNotYetAccepted = std::chrono::milliseconds(50);

double random_fraction() {
  thread_local std::mt19937_64 engine{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(engine);
}

bool is_same(const Look& one, const Look& other) {
  return one.seen == other.seen && one.code == other.code && one.message == other.message;
}

}  // namespace

Member::Member(const Shared& shared, std::string cluster, std::function<void()> changed)
    : shared_(shared),
      cluster_(std::move(cluster)),
      changed_(std::move(changed)),
      lease_(shared.hub, cluster_, shared.clock, random_fraction, true),
      tries_(shared.give_up_after) {}

Member::~Member() {
  LinePtr last;  // ends before anything that its probe writes to
  const std::lock_guard lock(mutex_);
  last = std::exchange(line_, nullptr);
}

Member::LinePtr Member::make_line(const Credential& credential) const {
  return std::make_shared<Line>(shared_, credential, changed_, [trusted = trusted_, changed = changed_] {
    if (trusted->exchange(false)) changed();
  });
}

void Member::set(const Result<Credential>& credential) {
  LinePtr before;  // ends when the mutex is free again
  const std::lock_guard lock(mutex_);
  if (!credential) {
    const std::string trouble = credential.error().message;
    if (trouble != trouble_) log::warn("push", cluster_ + ": its credential cannot be used: " + trouble);
    trouble_ = trouble;
    before = std::exchange(line_, nullptr);
    return;
  }
  trouble_.clear();
  if (line_ && line_->leads_to(*credential)) {
    const auto current = line_->credentials().current();
    if (current && current->token == credential->access.credentials.token) return;
    line_->credentials().set(credential->access.credentials);
    mended_ = true;
    return;
  }
  fresh_.reset();
  asking_since_.reset();
  mended_ = true;
  before = std::exchange(line_, make_line(*credential));
}

Member::LinePtr Member::line() const {
  const std::lock_guard lock(mutex_);
  return line_;
}

std::optional<Member::Access> Member::access() const {
  const auto now = line();
  if (!now) return std::nullopt;
  Credential credential = now->credential();
  if (const auto current = now->credentials().current()) credential.access.credentials = *current;
  return Access{std::move(credential), now->client(), now->renewer()};
}

Result<controller::Outcome> Member::renew_lease(const kube::CachedPtr& cluster) {
  if (cluster != leased_) {
    leased_ = cluster;
    lease_period_ = cluster ? reg::renewal_period(cluster->decode()) : std::nullopt;
  }
  return lease_.reconcile(lease_period_);
}

Prober::Done Member::taker(const LinePtr& line) {
  return [this, weak = std::weak_ptr(line)](Look look) {
    {
      const std::lock_guard lock(mutex_);
      // Not locked: the last owner must not be this thread.
      if (weak.owner_before(line_) || line_.owner_before(weak)) return;
      asking_since_.reset();
      fresh_ = std::move(look);
    }
    changed_();
  };
}

bool Member::probe(const LinePtr& line, Instant now) {
  {
    const std::lock_guard lock(mutex_);
    if (line != line_) return true;
    asking_since_ = now;
  }
  trusted_->store(!last_ || is_alive(*last_));
  return line->prober().begin(taker(line));
}

controller::Outcome Member::rest(const LinePtr& line, const Look& look, Instant now) {
  if (!is_alive(look) || look_again_) return next_look(look, {}, now);
  const auto is_news = [expected = look, revision = rest_->revision, watched = line->watched_revision(), clock = shared_.clock,
                        now](const Look& found) {
    const Instant then = clock->now();
    return !is_same(found, expected) || watched() != revision || then >= now + kRestLasts || then < now;
  };
  line->prober().keep_looking(shared_.period, is_news, taker(line));
  return {};
}

bool Member::take_stored_credential(const LinePtr& line) const {
  const auto secret = shared_.hub.find(r::secrets(), shared_.ns, cluster_);
  if (!secret || !*secret) return false;
  const auto credential = credential_of(**secret);
  const auto current = line->credentials().current();
  if (!credential || !current || credential->access.frame != line->credential().access.frame ||
      credential->access.credentials.token == current->token)
    return false;
  line->credentials().set(credential->access.credentials);
  return true;
}

std::optional<Look> Member::look(const LinePtr& line, Instant now) {
  std::optional<Look> look;
  {
    const std::lock_guard lock(mutex_);
    if (!line) return Look{Seen::kNoCredential, 0, trouble_};
    look = std::exchange(fresh_, std::nullopt);
    if (!look && asking_since_) {
      const bool silent = last_ && !is_alive(*last_);
      if (silent && now - *asking_since_ >= kSoon) return last_;
      look_again_ = !silent;
      return std::nullopt;
    }
  }
  // Somebody may have stored another one meanwhile.
  if (!look || (look->seen == Seen::kRefused && take_stored_credential(line))) {
    look_again_ = !probe(line, now);
    return std::nullopt;
  }
  const Instant asked = look->asked;
  look = line->verify(std::move(*look));
  look->asked = asked;
  tries_.take(is_alive(*look));
  return look;
}

void Member::note_reasons_to_try(const Json& cluster, Instant now) {
  const std::string asked = annotation_of(cluster, api::kReconnectAnnotation);
  if (asked != asked_to_reconnect_) {
    asked_to_reconnect_ = asked;
    // Of a former process: it was tried then.
    if (const auto at = parse_time(asked)) tries_.begin_anew(std::min(*at, now));
  }
  const std::lock_guard lock(mutex_);
  if (std::exchange(mended_, false)) tries_.begin_anew(now);
}

bool Member::gave_up(Instant now) const {
  return settled_ && last_ && !is_alive(*last_) && tries_.gave_up(memory_.alive_since, now);
}

void Member::keep(const LinePtr& line, const Look& look, Instant now) {
  if (!line) return;
  if (is_alive(look)) return line->begin_works(cluster_);
  // Its works would only wait for it, on threads of all members. They begin anew with all that was missed.
  if (look.seen != Seen::kUnreachable || now - memory_.alive_since >= kWorksEndAfter) line->end_works();
  if (look.seen != Seen::kUnreachable || now - memory_.alive_since >= kYoungOutage) line->end_watches();
}

controller::Outcome Member::next_look(const Look& look, const Health& health, Instant now) {
  if (health.due) return controller::Outcome{std::clamp<Duration>(*health.due - now, kShortestWait, kSoon)};
  if (!is_alive(look)) return controller::Outcome{tries_.until_next(look.seen, memory_.alive_since, now)};
  return controller::Outcome{std::exchange(look_again_, false) ? kShortestWait : shared_.period};
}

Result<controller::Outcome> Member::report_first(const kube::CachedPtr& object, const Json& cluster, const LinePtr& line,
                                                 Instant now) {
  if (!line) return controller::Outcome{};
  if (!api::awaits_first_report(cluster) || is_deleting(cluster)) {  // refused, or no longer asked for
    line->end_watches();
    return controller::Outcome{};
  }
  const auto seen = look(line, now);
  // Of one that is silent, the acceptance is told first.
  if (!seen || !is_alive(*seen)) return controller::Outcome{};
  if (waits_for_figures(line, cluster, *seen, now)) return controller::Outcome{kShortestWait};
  if (!registration::hub::first_report_due(cluster, now)) return controller::Outcome{};  // the acceptance comes, and leads here
  Json accepted = cluster;
  FLEETADM_TRY(const bool done, registration::hub::accept_at_once(shared_.hub, shared_.hub_ns, accepted, now));
  if (done) return tell(object, cluster, accepted, *seen, line, now);
  keep_look(line, *seen);
  return controller::Outcome{kNotYetAccepted};
}

void Member::keep_look(const LinePtr& line, const Look& look) {
  const std::lock_guard lock(mutex_);
  if (line == line_ && !fresh_) fresh_ = look;
}

bool Member::waits_for_figures(const LinePtr& line, const Json& cluster, const Look& look, Instant now) {
  if (controller::find_condition(cluster, api::kConditionAvailable) != nullptr) return false;
  if (!line->get_ready(now) || now - line->watched_since() >= kFirstFigures || now < line->watched_since()) return false;
  keep_look(line, look);
  return true;
}

Result<bool> Member::write(const Json& cluster, const Json& wanted, controller::Outcome& outcome) {
  auto written = reg::write_status(shared_.hub, cluster, wanted, written_);
  if (written) return written;
  if (written.error().category != Category::kConflict && written.error().category != Category::kNotFound) return written;
  outcome = controller::Outcome{kAfterAnotherWrite};
  return true;
}

bool Member::is_at_rest(const kube::CachedPtr& cluster, const LinePtr& line, Instant now) const {
  if (!rest_ || rest_->cluster != cluster || !line || rest_->line.lock() != line) return false;
  {
    const std::lock_guard lock(mutex_);
    if (mended_) return false;
  }
  return line->revision(now) == rest_->revision;
}

Result<controller::Outcome> Member::report(const kube::CachedPtr& object) {
  const Instant now = shared_.clock->now();
  const LinePtr now_line = line();
  const bool rests = is_at_rest(object, now_line, now);
  Json cluster;  // to decode it is most of the work, and is left out for a member at rest
  if (!rests) {
    cluster = written_.newest(object->decode());
    if (!reg::is_accepted(cluster)) return report_first(object, cluster, now_line, now);
    if (!now_line && is_deleting(cluster)) return controller::Outcome{};  // its Secret goes before it
    note_reasons_to_try(cluster, now);
    if (gave_up(now)) {
      if (now_line) now_line->end_watches();
      Json wanted = object_at(cluster, {"status"});
      write_gave_up(*last_, tries_.give_up_after(), now, wanted);
      controller::Outcome outcome;
      FLEETADM_TRY([[maybe_unused]] const bool written, write(cluster, wanted, outcome));
      return outcome;
    }
  }
  const std::optional<Look> seen_now = look(now_line, now);
  // Otherwise it comes back with what is found.
  if (!seen_now) return controller::Outcome{last_ && !is_alive(*last_) ? std::optional(kSoon) : std::nullopt};
  if (rests && is_same(*seen_now, *last_)) return rest(now_line, *seen_now, now);
  if (rests) cluster = written_.newest(object->decode());
  return tell(object, cluster, cluster, *seen_now, now_line, now);
}

Result<controller::Outcome> Member::tell(const kube::CachedPtr& object, const Json& cluster, const Json& judged, const Look& look,
                                         const LinePtr& now_line, Instant now) {
  rest_.reset();
  const auto revision = now_line ? now_line->revision(now) : std::nullopt;  // before it is observed
  const Holds holds = holds_of(cluster, shared_.holds);
  const Health health = judge(judged, look, holds, now, memory_);
  reg::ClusterObservation seen;
  const bool told = health.probe.state == reg::Probe::State::kUp && now_line;
  if (told && waits_for_figures(now_line, cluster, look, now)) return controller::Outcome{kShortestWait};
  if (told) seen = now_line->observe(now);
  seen.probe = health.probe;
  keep(now_line, look, now);
  Json wanted = reg::wanted_status(judged, seen, now);
  if (told) now_line->write_figures(wanted);
  write_ready(judged, look, holds, now, memory_, wanted);
  controller::Outcome outcome = next_look(look, health, now);
  last_ = look;
  settled_ = !health.due;
  std::optional<Result<Json>> labelled;
  if (const reg::Topology* where = told ? now_line->topology() : nullptr)
    labelled = reg::write_labels(shared_.hub, cluster, *where, written_);
  const bool failed = labelled && !*labelled;
  if (failed && labelled->error().category == Category::kConflict) return controller::Outcome{kAfterAnotherWrite};
  if (failed) log::warn("push", cluster_ + ": its labels are not written: " + labelled->error().message);
  FLEETADM_TRY(const bool written, write(labelled && !failed ? **labelled : cluster, wanted, outcome));
  if (written || !told || !settled_ || !revision || failed) return outcome;
  rest_ = Rest{object, now_line, *revision};
  return rest(now_line, look, now);
}

}  // namespace fleetadm::push
