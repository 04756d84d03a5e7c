// One round of the apply loop for one ManifestWork. Internal to the work agent. Every round computes everything anew from the
// work, the objects and the inventory; what is remembered only saves requests.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/work/agent/engine.h"

namespace fleetadm::work {

inline Place place_of(const Manifest& manifest) { return {*manifest.resource, manifest.ns, manifest.name}; }

/// One round for one work.
class Reconciliation {
 public:
  Reconciliation(Engine& engine, std::string name, std::stop_token stop)
      : engine_(engine), name_(std::move(name)), stop_(std::move(stop)), memory_(engine.memory_of(name_)) {}

  Result<controller::Outcome> run(Json work);

 private:
  Result<Json> ensure_finalizer(Json work);
  Result<std::optional<Json>> ensure_applied_work(const Json& work);
  void watch_objects();
  void apply_all(const Json& work);
  /// One manifest's way through a round. Only carry_out() sends requests, beside those of other manifests; what it needs to know
  /// was looked up before, and what it learned is kept afterwards, in apply order.
  struct Step {
    const Manifest& manifest;
    ManifestOptions options;
    bool owned = false;
    std::optional<ManifestResult> known;  // nothing is to be asked
    bool frozen = false;                  // only looked at
    std::optional<Fingerprint> seen;
    bool applied_before = false;
    bool may_repair = true;
    bool absent = false;
    ApplyOutcome outcome;
    bool denied = false;
    bool withheld = false;  // the executor may not read it: nothing about it is published
    std::optional<Readiness> readiness;
  };
  Step prepare(const Json& work, const Manifest& manifest);
  void carry_out(const Json& work, Step& step);
  ManifestResult conclude(const Json& work, Step& step);
  void apply_batch(const Json& work, const std::vector<std::size_t>& batch);
  Readiness judge_readiness(const Json& work, const Step& step) const;
  bool readiness_is_due(const ObjectMemory& object, bool changed);
  void keep_readiness(const Json& live, const Readiness& readiness, ObjectMemory& object);
  std::optional<ManifestResult> remembered(const Json& work, const Manifest& manifest, const ManifestOptions& options,
                                           bool owned);
  void take(const Json& work, const Manifest& manifest, const ManifestOptions& options, bool owned, const ApplyOutcome& outcome,
            ManifestResult& result);
  void withhold(const Json& work, const Step& step, ManifestResult& result);
  void note_repair(const Json& work, const Manifest& manifest, ObjectMemory& object);
  Result<Json> settle_inventory(Json applied_work);
  Result<Json> write_status(const Json& work, bool with_applied);
  Result<controller::Outcome> outcome();
  void look_again(Duration after) {
    if (!again_ || after < *again_) again_ = after;
  }

  Engine& engine_;
  std::string name_;
  std::stop_token stop_;
  std::shared_ptr<WorkMemory> memory_;
  std::vector<Manifest> manifests_;
  std::vector<ManifestResult> results_;
  std::vector<AppliedResource> found_;  // objects of this round, by manifest; uid empty where there is none
  Owner owner_;
  std::optional<Error> failure_;  // the first one that is worth an early retry
  bool denied_ = false;
  bool all_watched_ = true;
  bool executor_due_ = false;
  bool finished_ = false;  // the work is Complete: nothing is applied any more, only looked at
  std::optional<Duration> again_;
};

}  // namespace fleetadm::work
