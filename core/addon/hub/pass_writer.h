// Carries out what a rule wants (core/addon/rules/pass.h): the difference to what it read, with that version as the precondition.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/addon/rules/pass.h"
#include "core/controller/controller.h"
#include "core/controller/parallel_runner.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::addon {

/// Shared by controllers that write the same objects. Thread-safe.
///
/// An object that was there carries the resourceVersion that was read (rules change copies); one without is created. Written are
/// labels, annotations, owners, finalizers and what is beside metadata; then the status. Nothing is sent where nothing differs,
/// nor what the server did not take the last time (its defaults). What has changed since it was read is a conflict. What a cache
/// leaves out of objects is left alone.
class PassWriter {
 public:
  explicit PassWriter(kube::Client hub, std::shared_ptr<Clock> clock = Clock::system())
      : hub_(std::move(hub)), clock_(std::move(clock)) {}

  /// `cache` is what the pass read. Its objects are written side by side, then deleted what is to be deleted; every object gets
  /// its turn. Where the cache does not show an earlier write yet, nothing is written and the pass is to be repeated soon; so it
  /// is after a conflict. The first failure, or else the pass's first error, is the answer. kCancelled on `stop`.
  Result<controller::Outcome> carry_out(const ObjectReader& cache, const Pass& pass, const std::stop_token& stop);

  // For those who write in an order of their own.

  /// The cache does not show yet what was written of one of these objects: what is decided from it is out of date.
  bool late(const ObjectReader& cache, const std::vector<Json>& objects);
  /// A cache has come to show another version of an object, or that it is gone: what it shows from now on is not late.
  void saw(const GroupResource& type, const kube::CachedPtr& after, const std::string& object_key);
  /// Writes objects side by side: what became of each.
  std::vector<Status> write(const ObjectReader& cache, const std::vector<Json>& objects, const std::stop_token& stop);
  /// Writes the difference between two states of one object: of its status ("status"), or of all else. The object afterwards.
  Result<Json> patch(const Json& before, const Json& after, std::string_view subresource);
  /// By its uid. What is gone or under deletion is fine.
  Status remove(const ObjectReader& cache, const ObjectRef& gone);

 private:
  /// Versions of an object that were written over: the cache is late while it shows one of them. "": there was none.
  struct Written {
    std::set<std::string, std::less<>> over;
    Instant at;
  };
  struct Identity;
  bool still_shows(const std::string& key, const std::string& version);
  Status write_one(const ObjectReader& cache, const Json& wanted);
  Status create(const Identity& identity, const Json& wanted);
  Result<Json> patch(const Json& before, const Json& after, std::string_view subresource, const std::string& version);
  void note_write(const Identity& identity, std::string over);

  static constexpr std::ptrdiff_t kHelpers = 8;  // as many as keep a small API server busy

  kube::Client hub_;
  std::shared_ptr<Clock> clock_;
  controller::ParallelRunner helpers_{kHelpers};
  std::mutex mutex_;
  std::map<std::string, Written> written_;
  std::map<std::string, std::string> not_taken_;  // key and subresource → the patch that changed nothing
};

/// Soon enough for a cache to have caught up.
inline constexpr Duration kRepeatSoon = std::chrono::milliseconds(50);

}  // namespace fleetadm::addon
