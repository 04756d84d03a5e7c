#include "core/push/replicas.h"

#include <algorithm>
#include <utility>

#include "core/push/share.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/log.h"

namespace fleetadm::push {
namespace {

namespace r = kube::resources;

constexpr std::size_t kNameDigits = 12;
/// The lease of a replica that is gone is in nobody's way; it is removed so long after it has ended.
constexpr auto kAbandoned = std::chrono::minutes(5);

std::int64_t whole_seconds(Duration time) {
  return std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::seconds>(time).count(), 1);
}

}  // namespace

Replicas::Replicas(const kube::Client& hub, ReplicaOptions options)
    : hub_(hub.with_timeout(std::max<Duration>(std::chrono::seconds(1), options.timing.renew_deadline / 2))),
      options_(std::move(options)),
      lease_name_("fleetadm-push-" + sha256_hex(options_.identity).substr(0, kNameDigits)) {
  kube::InformerOptions watched;
  watched.ns = options_.ns;
  watched.label_selector = std::string(kReplicaLabel);
  leases_ = kube::Informer::make(hub, r::leases(), std::move(watched));
  leases_->on_event(
      [this](kube::EventType, const kube::CachedPtr& before, const kube::CachedPtr& after) { take(before, after); });
}

Replicas::~Replicas() { leave(); }

void Replicas::join(std::function<void()> changed) {
  changed_ = std::move(changed);
  leases_->start();
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Replicas::leave() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  leases_->stop();
  {
    const std::lock_guard lock(mutex_);
    sharing_.clear();
    renewed_.reset();
  }
  if (lease_.is_null()) return;
  kube::DeleteOptions how;
  how.uid = uid_of(lease_);
  const auto gone = hub_.remove(r::leases(), options_.ns, lease_name_, how);
  if (!gone) log::info(1, "push", "the lease of this replica was not removed, and ends by itself: " + gone.error().message);
}

bool Replicas::is_mine(std::string_view cluster) const {
  const std::lock_guard lock(mutex_);
  return holds(Steady::now()) && replica_of(cluster, sharing_) == options_.identity;
}

std::vector<std::string> Replicas::sharing() const {
  const std::lock_guard lock(mutex_);
  return sharing_;
}

void Replicas::run(const std::stop_token& stop) {
  auto next = Steady::now();
  while (!stop.stop_requested()) {
    if (Steady::now() >= next) {
      next = Steady::now() + std::chrono::duration_cast<Steady::duration>(options_.timing.retry);
      renew();
      remove_abandoned();
    }
    if (look()) changed_();
    std::unique_lock lock(mutex_);
    auto until = next;
    if (joined_ && sharing_.empty()) until = std::min(until, Steady::now() + std::chrono::milliseconds(100));
    woken_.wait_until(lock, stop, until, [this] { return wake_; });
    wake_ = false;
  }
}

void Replicas::renew() {
  const auto asked = Steady::now();
  if (const Status put = put_lease(); !put) {
    lease_ = Json();
    log::info(1, "push", "the lease of this replica was not renewed: " + put.error().message);
    return;
  }
  const std::lock_guard lock(mutex_);
  // After a gap the others have taken its members over, and let go again only once they see it.
  if (!joined_ || !holds(asked)) joined_ = Steady::now();
  renewed_ = asked;
}

Status Replicas::put_lease() {
  if (lease_.is_null()) {
    FLEETADM_TRY(auto found, hub_.find(r::leases(), options_.ns, lease_name_));
    if (found) lease_ = std::move(*found);
  }
  const bool is_new = lease_.is_null();
  Json lease =
      is_new ? Json{{"apiVersion", r::leases().api_version()},
                    {"kind", r::leases().kind},
                    {"metadata",
                     {{"name", lease_name_}, {"namespace", options_.ns}, {"labels", {{std::string(kReplicaLabel), "true"}}}}}}
             : lease_;
  Json& spec = at_or_make(lease, {"spec"});
  spec["holderIdentity"] = options_.identity;
  spec["leaseDurationSeconds"] = whole_seconds(options_.timing.lease);
  spec["renewTime"] = format_micro_time(Clock::system()->now());
  auto written = is_new ? hub_.create(r::leases(), options_.ns, lease) : hub_.update(r::leases(), lease);
  if (!written) return fail(written.error());
  lease_ = std::move(*written);
  return {};
}

void Replicas::take(const kube::CachedPtr& before, const kube::CachedPtr& after) {
  const std::string name = kube::split_key((after ? after : before)->key()).name;
  if (name == lease_name_) return;
  {
    const std::lock_guard lock(mutex_);
    if (after) {
      const Json lease = after->decode();
      Seen seen{str(lease, {"spec", "holderIdentity"}), str(lease, {"spec", "renewTime"}), Steady::now(),
                std::chrono::seconds(std::max<std::int64_t>(num(lease, {"spec", "leaseDurationSeconds"}), 1)), uid_of(lease)};
      const auto known = seen_.find(name);
      if (known != seen_.end() && known->second.renewed == seen.renewed) return;
      const bool is_known = known != seen_.end();
      seen_[name] = std::move(seen);
      if (is_known) return;  // one that goes on changes nothing
    } else {
      seen_.erase(name);
    }
    wake_ = true;
  }
  woken_.notify_all();
}

bool Replicas::look() {
  const auto now = Steady::now();
  const std::lock_guard lock(mutex_);
  std::vector<std::string> sharing;
  if (holds(now) && leases_->synced() && now - *joined_ >= options_.settle) {
    sharing.push_back(options_.identity);
    for (const auto& [name, one] : seen_) {
      if (now - one.at < one.lasts) sharing.push_back(one.identity);
    }
    std::sort(sharing.begin(), sharing.end());
  }
  if (sharing == sharing_) return false;
  log::info(0, "push",
            sharing.empty() ? std::string("this replica dials no members: its lease does not hold")
                            : std::to_string(sharing.size()) + " replicas of the hub share the members that it dials");
  sharing_ = std::move(sharing);
  return true;
}

void Replicas::remove_abandoned() {
  std::vector<std::pair<std::string, std::string>> gone;
  {
    const auto now = Steady::now();
    const std::lock_guard lock(mutex_);
    for (const auto& [name, one] : seen_) {
      if (now - one.at >= one.lasts + kAbandoned) gone.emplace_back(name, one.uid);
    }
  }
  for (const auto& [name, uid] : gone) {
    kube::DeleteOptions how;
    how.uid = uid;
    static_cast<void>(hub_.remove(r::leases(), options_.ns, name, how));  // another may have been faster; or the next look
  }
}

}  // namespace fleetadm::push
