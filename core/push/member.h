// One push member while the hub dials it: what is known of it and told to the hub. Members share threads and know nothing of one
// another.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/controller/controller.h"
#include "core/push/health.h"
#include "core/push/line.h"
#include "core/push/tries.h"
#include "core/registration/agent/lease.h"
#include "kubeclient/base/cached_object.h"
#include "kubeclient/rest/client.h"
#include "kubeclient/watch/mutation_cache.h"

namespace fleetadm::push {

class Member {
 public:
  /// `changed`: there is something new to report. Called on the I/O thread.
  Member(const Shared& shared, std::string cluster, std::function<void()> changed);
  ~Member();  // ends its works, and cancels what they ask the member
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  /// As the Secret is now; an Error: there is none that can be used. The same address with another credential goes on with the
  /// connections that are there.
  void set(const Result<Credential>& credential);

  /// What a look found, written to the hub where it differs; begins one where there is none, after which `changed` is called. One
  /// thread at a time.
  Result<controller::Outcome> report(const kube::CachedPtr& cluster);
  /// Renews the lease of the cluster. One thread at a time.
  Result<controller::Outcome> renew_lease(const kube::CachedPtr& cluster);
  /// The credential, and what it leads to; nullopt: there is none.
  struct Access {
    Credential credential;
    kube::Client client;
    kube::Client renewer;  // of the token
  };
  std::optional<Access> access() const;

 private:
  using LinePtr = std::shared_ptr<Line>;

  /// A look had nothing to be written about. The next one that finds the same has neither, unless any of these has changed.
  struct Rest {
    kube::CachedPtr cluster;
    std::weak_ptr<Line> line;
    std::uint64_t revision;
  };

  LinePtr line() const;
  bool is_at_rest(const kube::CachedPtr& cluster, const LinePtr& line, Instant now) const;
  /// `judged`: the cluster as it is to be after the write, where acceptance is told with it.
  Result<controller::Outcome> tell(const kube::CachedPtr& object, const Json& cluster, const Json& judged, const Look& look,
                                   const LinePtr& now_line, Instant now);
  LinePtr make_line(const Credential& credential) const;
  /// Takes a look at the line, and calls `changed`.
  Prober::Done taker(const LinePtr& line);
  /// Begins a look, with whose end `changed` is called. False: one is under way already.
  bool probe(const LinePtr& line, Instant now);
  /// Looks on, at what is at rest, until something else is found than `look`.
  controller::Outcome rest(const LinePtr& line, const Look& look, Instant now);
  /// What the last look found, once; or that one is not answered any more; nullopt: it is under way.
  std::optional<Look> look(const LinePtr& line, Instant now);
  bool take_stored_credential(const LinePtr& line) const;
  void note_reasons_to_try(const Json& cluster, Instant now);
  bool gave_up(Instant now) const;
  /// Of a cluster that is not accepted: the first report of one that is about to be, which says that, too.
  Result<controller::Outcome> report_first(const kube::CachedPtr& object, const Json& cluster, const LinePtr& line, Instant now);
  /// The look counts once more.
  void keep_look(const LinePtr& line, const Look& look);
  /// Whether the first report, which makes it available, is better written in a moment, with figures. The look counts then.
  bool waits_for_figures(const LinePtr& line, const Json& cluster, const Look& look, Instant now);
  /// What of it the look allows to go on.
  void keep(const LinePtr& line, const Look& look, Instant now);
  controller::Outcome next_look(const Look& look, const Health& health, Instant now);
  /// True: the status was another one, and is written or will be: `outcome` is when to come back.
  Result<bool> write(const Json& cluster, const Json& wanted, controller::Outcome& outcome);

  const Shared& shared_;
  const std::string cluster_;
  const std::function<void()> changed_;
  /// Whether requests that fail are news: it answered when it was looked at last, and none has failed since the next look began.
  const std::shared_ptr<std::atomic<bool>> trusted_ = std::make_shared<std::atomic<bool>>(false);

  // Of renew_lease().
  registration::agent::LeaseRenewer lease_;
  kube::CachedPtr leased_;  // as it was last, and
  std::optional<Duration> lease_period_;

  // Of report().
  kube::MutationCache written_;
  Memory memory_;
  Tries tries_;
  std::optional<Look> last_;
  std::optional<Rest> rest_;
  std::string asked_to_reconnect_;
  bool settled_ = false;     // no change is held back
  bool look_again_ = false;  // there was a reason to while a look was under way

  mutable std::mutex mutex_;
  LinePtr line_;
  std::optional<Look> fresh_;
  std::optional<Instant> asking_since_;  // a look is under way
  bool mended_ = false;                  // there is another credential
  std::string trouble_ = "its Secret has not been read yet";
};

}  // namespace fleetadm::push
