// The parts of the work engine that its two controllers share. Internal to core/work.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/controller/controller.h"
#include "core/controller/parallel_runner.h"
#include "core/work/agent/agent.h"
#include "core/work/agent/applier.h"
#include "core/work/agent/object_watch.h"
#include "core/work/agent/rights_watch.h"
#include "core/work/agent/work_source.h"
#include "core/work/rules/conditions.h"
#include "core/work/rules/ownership.h"
#include "kubeclient/discovery/mapper.h"

namespace fleetadm::work {

/// What is remembered of one object of a work after it was brought in line. Lost on restart, never needed for correctness.
struct ObjectMemory {
  Fingerprint seen;
  std::string uid;
  std::string resource_version;
  std::string signature;
  // What its rules said; null where they said nothing (there are thousands of these).
  Json feedback;
  std::string feedback_error;
  Json rule_conditions;
  Readiness readiness;
  Instant readiness_read{};  // when it was judged
  int readiness_looks = 0;   // in a row, while the reason has to be looked for elsewhere; 0: it has not
  // Someone fights back: repairs in a row, and when the next one is due.
  int repairs = 0;
  Instant last_repair{};
  Instant repair_after{};
};

/// The resourceVersions of one object that own writes replaced. While the cache shows one of them, its event is on the way, and
/// another round would only repeat what is done.
class Superseded {
 public:
  void replaced(const Json& before, const Json& after);
  /// Whether the version is one that was replaced. Any other ends the waiting.
  bool holds(std::string_view version);
  void clear() { versions_.clear(); }

 private:
  std::vector<std::string> versions_;
};

struct WorkMemory {
  std::map<std::string, ObjectMemory> objects;  // by Place::key()
  int failures = 0;                             // rounds in a row that failed
  Instant executor_checked{};
  std::int64_t executor_generation = 0;  // of the work, when its executor was checked
  Superseded work;
  Superseded applied;
};

/// One running engine. Thread-safe; a WorkMemory belongs to the worker that reconciles its work.
class Engine {
 public:
  Engine(std::shared_ptr<WorkSource> works, kube::Client spoke, WorkAgentOptions options);

  /// WorkSource::patch(), and the version that it replaced is remembered.
  Result<Json> patch_work(WorkMemory& memory, const Json& before, const Json& after, std::string_view subresource) const;
  Result<Json> patch_applied(const Json& before, const Json& after, std::string_view subresource) const;

  std::shared_ptr<WorkMemory> memory_of(const std::string& work);
  void forget(const std::string& work);

  /// Whether another work takes the object at the place over: it would own it, may apply it, and is neither being deleted nor
  /// complete. A work that only names it does not count; an error: that could not be found out now.
  Result<bool> wanted_by_another(const AppliedResource& resource, const std::string& work);
  /// The resource of a kind, as the spoke serves it.
  Result<kube::Resource> resolve(const std::string& api_version, const std::string& kind);

  Instant now() const { return options.clock->now(); }

  const kube::Client spoke;
  const WorkAgentOptions options;
  const std::string hash;
  const std::string agent_id;
  kube::Mapper mapper;
  const Applier applier;
  /// For the objects of one work; few, so that in a burst it is the works that run side by side.
  controller::ParallelRunner helpers{4};

  const std::shared_ptr<WorkSource> works;
  std::shared_ptr<kube::Informer> applied;
  std::shared_ptr<controller::Queue> work_queue;
  std::shared_ptr<controller::Queue> applied_queue;
  std::unique_ptr<ObjectWatch> watch;
  std::unique_ptr<RightsWatch> rights;

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<WorkMemory>> memories_;
};

/// Reconciles one work by name: apply loop, availability, feedback, status; hands over to finish_work() when it is deleted.
Result<controller::Outcome> reconcile_work(Engine& engine, const std::string& name, std::stop_token stop);
/// The deletion handshake of a work that has a deletionTimestamp.
Result<controller::Outcome> finish_work(Engine& engine, const Json& work);
/// Begins the deletion of an AppliedManifestWork, by uid; one that is gone is no error.
Status end_applied_work(const Engine& engine, const Json& applied_work);
/// Reconciles one AppliedManifestWork by name: deletion of what it owns, eviction.
Result<controller::Outcome> reconcile_applied(Engine& engine, const std::string& name, std::stop_token stop);

}  // namespace fleetadm::work
