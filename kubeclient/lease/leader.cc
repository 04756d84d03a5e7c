#include "kubeclient/lease/leader.h"

#include <algorithm>
#include <thread>

#include "kubeclient/base/backoff.h"
#include "kubeclient/base/log.h"
#include "kubeclient/base/sleep.h"

namespace fleetadm::kube {
namespace {

using Steady = std::chrono::steady_clock;

/// One contender: what it saw of the lease, and when by its own clock. Remote times are never compared with the local clock.
class Contender {
 public:
  Contender(Client client, const LeaderOptions& options) : client_(std::move(client)), options_(options) {}

  /// One try to take or renew the lease; true: it is ours as of now.
  bool try_once() {
    auto outcome = attempt();
    if (!outcome) {
      log::info(2, "leader-election", options_.ns + "/" + options_.name + ": " + outcome.error().message);
      held_ = Json();
      return false;
    }
    return *outcome;
  }

  void release() {
    if (held_.is_null()) return;
    Json lease = held_;
    const std::string now = format_micro_time(Clock::system()->now());
    Json& spec = at_or_make(lease, {"spec"});
    spec["holderIdentity"] = "";
    spec["leaseDurationSeconds"] = 1;
    spec["acquireTime"] = now;
    spec["renewTime"] = now;
    if (const auto done = client_.update(resources::leases(), lease); !done) {
      log::info(1, "leader-election", "the lease was not released and expires by itself: " + done.error().message);
    }
  }

  const std::string& holder() const { return holder_; }
  bool held_by_another() const { return !holder_.empty() && holder_ != options_.identity; }
  void use(Client client) { client_ = std::move(client); }

 private:
  Result<bool> attempt() {
    if (!held_.is_null()) {
      // Nobody else may touch a lease that we hold: renew without reading. A refused PUT reads again.
      if (auto renewed = put(held_, true)) return true;
      held_ = Json();
    }
    FLEETADM_TRY(auto found, client_.find(resources::leases(), options_.ns, options_.name));
    if (!found) {
      Json lease = {{"apiVersion", resources::leases().api_version()},
                    {"kind", resources::leases().kind},
                    {"metadata", {{"name", options_.name}, {"namespace", options_.ns}}}};
      fill(lease, true, 0);
      FLEETADM_TRY(held_, client_.create(resources::leases(), options_.ns, lease));
      holder_ = options_.identity;
      return true;
    }
    const Json& spec = object_at(*found, {"spec"});
    holder_ = str(spec, {"holderIdentity"});
    if (std::string seen = dump_json(spec); seen != seen_) {
      seen_ = std::move(seen);
      seen_at_ = Steady::now();
    }
    const bool mine = holder_ == options_.identity;
    if (!holder_.empty() && !mine) {
      const auto valid = std::chrono::seconds(std::max<std::int64_t>(num(spec, {"leaseDurationSeconds"}), 1));
      if (seen_at_ + valid > Steady::now()) return false;
    }
    FLEETADM_CHECK(put(*found, mine));
    holder_ = options_.identity;
    return true;
  }

  void fill(Json& lease, bool taken, std::int64_t transitions) const {
    const std::string now = format_micro_time(Clock::system()->now());
    Json& spec = at_or_make(lease, {"spec"});
    spec["holderIdentity"] = options_.identity;
    spec["leaseDurationSeconds"] =
        std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::seconds>(options_.timing.lease).count(), 1);
    spec["renewTime"] = now;
    if (taken) {
      spec["acquireTime"] = now;
      spec["leaseTransitions"] = transitions;
    }
  }

  Status put(const Json& known, bool mine) {
    Json lease = known;
    fill(lease, !mine, num(known, {"spec", "leaseTransitions"}) + 1);
    FLEETADM_TRY(held_, client_.update(resources::leases(), lease));
    return {};
  }

  Client client_;
  const LeaderOptions& options_;
  Json held_;  // the lease as we last wrote it; null while it is not ours
  std::string holder_;
  std::string seen_;
  Steady::time_point seen_at_{};
};

}  // namespace

Status check_timing(const LeaderTiming& timing) {
  if (timing.lease > timing.renew_deadline && timing.renew_deadline > timing.retry && timing.retry > Duration::zero() &&
      timing.lease >= std::chrono::seconds(1)) {
    return {};
  }
  return fail(Category::kUsage,
              "leader election needs lease duration > renew deadline > retry period > 0, and a lease of 1s or more");
}

Status run_as_leader(const Client& client, const LeaderOptions& options, const std::function<Status(std::stop_token)>& lead,
                     std::stop_token stop) {
  if (options.ns.empty() || options.name.empty() || options.identity.empty()) {
    return fail(Category::kUsage, "leader election needs a namespace, a lease name and an identity");
  }
  FLEETADM_CHECK(check_timing(options.timing));
  const Client bounded = client.with_timeout(std::max<Duration>(std::chrono::seconds(1), options.timing.renew_deadline / 2));
  Contender contender(bounded.with_stop(stop), options);
  std::string told;
  while (true) {
    if (stop.stop_requested()) return {};
    if (contender.try_once()) break;
    if (contender.holder() != told) {
      told = contender.holder();
      log::info(1, "leader-election", options.ns + "/" + options.name + " is held by " + told + "; waiting");
    }
    if (!sleep_for(jittered(options.timing.retry, 0.2), stop)) return {};
  }
  log::info(1, "leader-election", options.identity + " leads " + options.ns + "/" + options.name);

  std::stop_source leading;
  const std::stop_callback pass_on(stop, [&] { leading.request_stop(); });
  // Renewing outlives `stop` until lead() has returned: the lease must not lapse while its work still winds down.
  Contender keeper = contender;
  keeper.use(bounded);
  bool lost = false;
  std::jthread renew([&](std::stop_token done) {
    auto renewed = Steady::now();
    while (sleep_for(options.timing.retry, done)) {
      if (keeper.try_once()) {
        renewed = Steady::now();
      } else if (keeper.held_by_another() || Steady::now() - renewed >= options.timing.renew_deadline) {
        lost = true;
        leading.request_stop();
        return;
      }
    }
  });
  Status outcome = lead(leading.get_token());
  renew.request_stop();
  renew.join();
  if (lost) {
    return fail(Category::kUnavailable, "the leader lease " + options.ns + "/" + options.name + " could not be renewed in time",
                "another replica takes over; this one has to be started again");
  }
  keeper.release();
  return outcome;
}

}  // namespace fleetadm::kube
