#include "core/placement/engine/explain.h"

#include <algorithm>
#include <map>

#include "core/placement/engine/admission_advisor.h"
#include "core/placement/engine/decode.h"
#include "core/placement/engine/scenario.h"

namespace fleetadm::placement {
namespace {

using Kind = Change::Kind;

/// Best first, as the scheduler ranks.
std::vector<std::pair<std::string, std::int64_t>> ranked(const Scores& sums) {
  auto order = sums;
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.second != b.second ? a.second > b.second : a.first < b.first; });
  return order;
}

std::optional<std::int64_t> rank_in(const Scores& sums, const std::string& cluster) {
  const auto order = ranked(sums);
  const auto at = std::find_if(order.begin(), order.end(), [&](const auto& one) { return one.first == cluster; });
  if (at == order.end()) return std::nullopt;
  return static_cast<std::int64_t>(at - order.begin()) + 1;
}

class Explainer {
 public:
  Explainer(const Objects& objects, const Objects::Key& key, Instant now, const ExplainOptions& options)
      : objects_(objects),
        key_(key),
        now_(now),
        options_(options),
        memo_(memo_of(options)),
        gate_(objects, key, now, memo_.get()) {
    if (const Json* object = objects.find(ObjectKind::kPlacement, key.first, key.second); object != nullptr) json_ = *object;
    placement_ = decode_placement(json_);
    world_ = objects.world();
    pass_ = schedule(world_, placement_, now, {.cel = memo_.get(), .record = true});
    order_ = ranked(pass_.sums);
    for (std::size_t i = 0; i < order_.size(); ++i) rank_.emplace(order_[i].first, static_cast<std::int64_t>(i) + 1);
    for (const Json* decision : objects.decisions_of(key.first, key.second)) {
      for (std::string& cluster : decode_decision(*decision).clusters) decided_.insert(std::move(cluster));
    }
    for (const WantedDecision& one : pass_.decisions) {
      for (const std::string& cluster : one.clusters) group_.emplace(cluster, &one);
    }
    aborted_ = pass_.verdict.code == Code::kMisconfigured || pass_.verdict.code == Code::kError;
  }

  Explanation run() {
    Explanation out;
    for (const std::string& cluster : objects_.names(ObjectKind::kCluster)) {
      if (options_.cluster.empty() || options_.cluster == cluster) out.clusters.push_back(explain_one(cluster));
    }
    std::stable_sort(out.clusters.begin(), out.clusters.end(), [](const Explained& a, const Explained& b) {
      const auto place = [](const Explained& one) { return one.rank.value_or(std::numeric_limits<std::int64_t>::max()); };
      return place(a) < place(b);
    });
    out.pass = std::move(pass_);
    return out;
  }

 private:
  static std::unique_ptr<CelMemo> memo_of(const ExplainOptions& options) {
    return options.cel == nullptr ? nullptr : std::make_unique<CelMemo>(*options.cel);
  }

  Explained explain_one(const std::string& cluster) {
    Explained row;
    row.cluster = cluster;
    row.decided = decided_.contains(cluster);
    if (pass_.skipped) {
      row.stage = Stage::kScheduling;
      row.rule =
          placement_.deleting ? "the placement is being deleted" : "scheduling is disabled by an annotation of the placement";
      return row;
    }
    if (const auto rank = rank_.find(cluster); rank != rank_.end()) {
      row.rank = rank->second;
      row.sum = order_[static_cast<std::size_t>(rank->second - 1)].second;
      add_shares(row);
      explain_ranked(row);
      return row;
    }
    const AdmissionAdvisor::Verdict verdict = gate_.judge(cluster, aborted_ ? nullptr : &row.changes);
    row.stage = verdict.stage;
    row.rule = verdict.rule;
    if (verdict.stage == Stage::kSelected) {
      // It passes the filters, and there are no sums: the pass ended in between.
      row.stage = placement_.number_of_clusters.value_or(0) < 0 ? Stage::kLimit : Stage::kScore;
      row.rule = pass_.failure.empty() ? pass_.verdict.message : pass_.failure;
      if (!pass_.failure.empty()) row.stage = Stage::kBinding;
      row.changes.clear();
      return row;
    }
    if (!row.changes.empty() && placement_.number_of_clusters) make_room(row);
    return row;
  }

  void add_shares(Explained& row) const {
    for (const PrioritizerRecord& one : pass_.prioritizers) {
      Share share{one.name, one.weight, std::nullopt};
      const auto at = std::lower_bound(one.scores.begin(), one.scores.end(), row.cluster,
                                       [](const auto& entry, const std::string& name) { return entry.first < name; });
      if (at != one.scores.end() && at->first == row.cluster) share.score = at->second;
      row.shares.push_back(std::move(share));
    }
  }

  void explain_ranked(Explained& row) const {
    if (const auto group = group_.find(row.cluster); group != group_.end()) {
      row.group = group->second->group_index;
      row.group_name = group->second->group_name;
      return;
    }
    if (row.rank <= pass_.selected_count) {
      row.stage = Stage::kGroup;
      row.rule = pass_.verdict.message;
      return;
    }
    const std::int64_t limit = placement_.number_of_clusters.value_or(0);
    row.stage = Stage::kLimit;
    row.rule = "numberOfClusters is " + std::to_string(limit) + ", its rank is " + std::to_string(*row.rank);
    row.changes = {{.kind = Kind::kLimit, .number = *row.rank}};
    if (limit < 1 || limit > static_cast<std::int64_t>(order_.size())) return;
    const auto& [last, points] = order_[static_cast<std::size_t>(limit - 1)];
    const std::int64_t missing = points - *row.sum + (row.cluster < last ? 0 : 1);
    row.rule += "; the last selected cluster scored " + std::to_string(points);
    row.alternative = Change{.kind = Kind::kPoints, .number = missing};
  }

  // Past the filters the cluster competes with the others: the changes are tried with all of them.
  void make_room(Explained& row) {
    const std::size_t cost = world_.cluster_count() + 1;
    if (spent_ + cost > options_.budget) {
      row.unranked = true;
      return;
    }
    spent_ += cost;
    const Json* original = objects_.find(ObjectKind::kCluster, "", row.cluster);
    if (original == nullptr) return;
    Json cluster = *original;
    Json placement = json_;
    for (const Change& change : row.changes) {
      change_cluster(cluster, change);
      change_placement(placement, change);
      if (change.kind == Kind::kBindSet) world_.put(Binding{key_.first, change.key, change.key});
    }
    put_object(world_, cluster);
    const Pass tried = schedule(world_, decode_placement(placement), now_, {.cel = memo_.get(), .record = true});
    put_object(world_, *original);
    for (const Change& change : row.changes) {
      if (change.kind == Kind::kBindSet) world_.remove_binding(key_.first, change.key);
    }
    if (std::find(tried.selected.begin(), tried.selected.end(), row.cluster) != tried.selected.end()) return;
    if (const auto rank = rank_in(tried.sums, row.cluster)) {
      row.changes.push_back({.kind = Kind::kLimit, .number = *rank});
    } else {
      row.changes.clear();
    }
  }

  const Objects& objects_;
  const Objects::Key& key_;
  Instant now_;
  const ExplainOptions& options_;
  std::unique_ptr<CelMemo> memo_;
  AdmissionAdvisor gate_;
  Json json_;
  Placement placement_;
  FleetState world_;
  Pass pass_;
  bool aborted_ = false;
  std::vector<std::pair<std::string, std::int64_t>> order_;
  std::map<std::string, std::int64_t> rank_;
  std::map<std::string_view, const WantedDecision*> group_;
  std::set<std::string> decided_;
  std::size_t spent_ = 0;
};

}  // namespace

std::string_view stage_word(Stage stage) {
  switch (stage) {
    case Stage::kSelected: return "Selected";
    case Stage::kScheduling: return "Scheduling";
    case Stage::kCluster: return "Cluster";
    case Stage::kBinding: return "SetBinding";
    case Stage::kPredicate: return "Predicate";
    case Stage::kTaint: return "Taint";
    case Stage::kScore: return "Score";
    case Stage::kLimit: return "Limit";
    case Stage::kGroup: return "DecisionGroup";
  }
  return "";
}

Explanation explain(const Objects& objects, const Objects::Key& placement, Instant now, const ExplainOptions& options) {
  return Explainer(objects, placement, now, options).run();
}

}  // namespace fleetadm::placement
