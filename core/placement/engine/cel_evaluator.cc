#include "core/placement/engine/cel_evaluator.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "core/cel/library/environments.h"
#include "core/cel/library/libraries.h"
#include "core/placement/engine/cluster_object.h"
#include "core/placement/engine/fleet_state.h"

namespace fleetadm::placement {
namespace {

/// More distinct predicates than this, and all are forgotten: those still in use are soon compiled again.
constexpr std::size_t kMaxKept = 4096;

class WorldScores final : public cel::ScoreSource {
 public:
  explicit WorldScores(const FleetState& world) : world_(world) {}
  const Items* scores(std::string_view cluster, std::string_view name) const override {
    const Score* score = world_.score(cluster, name);
    return score == nullptr ? nullptr : score->items.get();
  }

 private:
  const FleetState& world_;
};

class Programs final : public CelProgram {
 public:
  explicit Programs(std::vector<cel::Program> programs) : programs_(std::move(programs)) {}

  bool matches(const FleetState& world, const Cluster& cluster) const override {
    if (!cluster.object.cached) return false;
    const Json object = cluster_for_cel(cluster.object.cached->decode());
    const WorldScores scores(world);
    std::uint64_t left = cel::kObjectCostBudget;
    return std::all_of(programs_.begin(), programs_.end(), [&](const cel::Program& program) {
      const cel::Outcome outcome = program.evaluate({{"managedCluster", cel::Value::view(object)}}, {}, &scores);
      if (outcome.cost > left) return false;
      left -= outcome.cost;
      return cel::taken_as(outcome.value).is_true();
    });
  }

 private:
  std::vector<cel::Program> programs_;
};

class Evaluator final : public CelEvaluator {
 public:
  explicit Evaluator(cel::Env env) : env_(std::move(env)) {}

  Result<std::shared_ptr<const CelProgram>> compile(const std::vector<std::string>& expressions) const override {
    {
      const std::lock_guard lock(mutex_);
      if (const auto at = kept_.find(expressions); at != kept_.end()) return at->second;
    }
    std::vector<cel::Program> programs;
    for (const std::string& expression : expressions) {
      auto program = env_.compile(expression);
      if (!program) {
        const bool planned = program.error().phase == cel::CompileFailure::Phase::kPlan;
        return fail(Category::kInvalid, (planned ? "instantiation failed: " : "compilation failed: ") + program.error().render());
      }
      programs.push_back(std::move(*program));
    }
    auto compiled = std::make_shared<const Programs>(std::move(programs));
    const std::lock_guard lock(mutex_);
    if (kept_.size() >= kMaxKept) kept_.clear();
    kept_.emplace(expressions, compiled);
    return compiled;
  }

 private:
  cel::Env env_;
  mutable std::mutex mutex_;
  mutable std::map<std::vector<std::string>, std::shared_ptr<const CelProgram>> kept_;
};

}  // namespace

Result<std::shared_ptr<const CelEvaluator>> make_cel_evaluator() {
  FLEETADM_TRY(cel::Env env, cel::selector_environment());
  return std::make_shared<const Evaluator>(std::move(env));
}

}  // namespace fleetadm::placement
