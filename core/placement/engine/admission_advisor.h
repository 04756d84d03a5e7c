// The changes that let one cluster pass the filters of a placement (internal to explain.cc).
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/placement/engine/change.h"
#include "core/placement/engine/explain.h"

namespace fleetadm::placement {

/// Compiles each list of expressions once.
class CelMemo final : public CelEvaluator {
 public:
  explicit CelMemo(const CelEvaluator& inner) : inner_(inner) {}
  Result<std::shared_ptr<const CelProgram>> compile(const std::vector<std::string>& expressions) const override;

 private:
  const CelEvaluator& inner_;
  mutable std::map<std::vector<std::string>, Result<std::shared_ptr<const CelProgram>>> known_;
};

/// Puts single clusters before the placement's filters, with the sets and bindings of its fleet. Not thread-safe.
class AdmissionAdvisor {
 public:
  AdmissionAdvisor(const Objects& objects, const Objects::Key& placement, Instant now, const CelEvaluator* cel);

  struct Verdict {
    Stage stage = Stage::kSelected;  // kSelected: it passes all filters
    std::string rule;
    bool broken = false;  // the rule itself is wrong: no cluster passes it
  };
  /// The filter that drops the cluster, and why. Where one does, `changes` become those after which it passes all filters (empty:
  /// none are known); nullptr: they are not asked for.
  Verdict judge(const std::string& cluster, std::vector<Change>* changes);

 private:
  /// One cluster with the changes made so far.
  struct Try {
    Json cluster;
    Json placement;
    std::vector<std::string> bound;  // sets, besides those that are
    bool decided = false;
  };
  Pass pass(const Try& attempt);
  Verdict judge(const Try& attempt);
  bool passes(const Try& attempt) { return judge(attempt).stage == Stage::kSelected; }
  std::string unbound(const Try& attempt) const;
  std::string unmatched(const Try& attempt) const;
  std::vector<Change> intolerable(const Try& attempt);
  std::vector<Change> into_a_set(const Try& attempt) const;
  std::vector<Change> into_a_predicate(const Try& attempt);

  const Objects& objects_;
  Objects::Key placement_;
  Instant now_;
  PassOptions options_;
  Json bare_;  // the placement without what comes after the filters
  FleetState world_;
  std::set<std::string> decided_;
};

/// The changes of labels (or claims) after which the selector takes them; nullopt: there are none.
std::optional<std::vector<Change>> satisfy(const Json& selector, const Labels& labels, bool claims);

}  // namespace fleetadm::placement
