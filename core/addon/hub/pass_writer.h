// Carries out what a rule wants (core/addon/rules/pass.h): the difference to what it read, with that version as the precondition.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "core/addon/rules/pass.h"
#include "core/controller/controller.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::addon {

/// Shared by controllers that write the same objects. Thread-safe.
class PassWriter {
 public:
  explicit PassWriter(kube::Client hub, std::shared_ptr<Clock> clock = Clock::system())
      : hub_(std::move(hub)), clock_(std::move(clock)) {}

  /// `cache` is what the pass read. An object that was there carries the resourceVersion that was read (rules change copies); one
  /// without is created. Written are labels, annotations, owners, finalizers and what is beside metadata; then the status.
  /// Nothing is sent where nothing differs, nor what the server did not take the last time (its defaults). Where the cache does
  /// not show an earlier write yet, nothing is written and the pass is to be repeated soon; so it is where an object has changed
  /// since it was read. Every object gets its turn; the first failure, or else the pass's first error, is the answer. kCancelled
  /// on `stop`.
  Result<controller::Outcome> carry_out(const ObjectReader& cache, const Pass& pass, const std::stop_token& stop);

 private:
  /// What the cache showed when an object was written: it is late while it shows that still.
  struct Written {
    std::string over;  // resourceVersion; empty: there was none
    Instant at;
  };
  struct Identity;
  bool late(const ObjectReader& cache, const Pass& pass);
  bool still_shows(const std::string& key, const std::string& version);
  Status write(const ObjectReader& cache, const Json& wanted);
  Status create(const Identity& identity, const Json& wanted);
  Result<Json> patch(const Identity& identity, const Json& before, const Json& after, std::string_view subresource);
  Status remove(const ObjectReader& cache, const ObjectRef& gone);
  void note_write(const Identity& identity, std::string over);

  kube::Client hub_;
  std::shared_ptr<Clock> clock_;
  std::mutex mutex_;
  std::map<std::string, Written> written_;
  std::map<std::string, std::string> not_taken_;  // key and subresource → the patch that changed nothing
};

}  // namespace fleetadm::addon
