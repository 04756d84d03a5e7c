#include "core/placement/engine/admission_advisor.h"

#include <algorithm>

#include "core/api/kinds.h"
#include "core/placement/engine/decode.h"
#include "core/placement/engine/scenario.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::placement {
namespace {

using Kind = Change::Kind;

constexpr int kMaxRounds = 6;  // a change of a label may move the cluster to another set, and so on

Labels claims_of(const Json& cluster) {
  Labels claims;
  for (const Json& claim : list_at(cluster, {"status", "clusterClaims"})) {
    claims.emplace_back(str(claim, {"name"}), str(claim, {"value"}));
  }
  normalize_labels(claims);
  return claims;
}

/// The requirements of a selector by key, each list a selector of its own.
std::map<std::string, Json> requirements_by_key(const Json& selector) {
  std::map<std::string, Json> by_key;
  const auto add = [&](const std::string& key, Json expression) {
    Json& list = by_key[key];
    if (list.is_null()) list = Json::array();
    list.push_back(std::move(expression));
  };
  for (const auto& [key, value] : strings_at(selector, {"matchLabels"})) {
    add(key, {{"key", key}, {"operator", "In"}, {"values", {value}}});
  }
  for (const Json& one : list_at(selector, {"matchExpressions"})) add(str(one, {"key"}), one);
  return by_key;
}

bool has_cluster(const FilterRecord& filter) { return !filter.clusters.empty(); }

std::string quoted(const std::string& key, const std::string* value) {
  return value == nullptr ? "it has no " + key : "it has " + key + "=" + *value;
}

void describe_unmet(const Json& selector, const Labels& labels, std::string_view what, std::vector<std::string>& into) {
  for (const auto& [key, list] : requirements_by_key(selector)) {
    const Selector one = Selector::compile({{"matchExpressions", list}});
    if (one.matches(labels)) continue;
    into.push_back(std::string(what) + " " + (one.error().empty() ? one.text() : one.error()) + " (" +
                   quoted(key, label_value(labels, key)) + ")");
  }
}

const Json& selector_of(const Json& predicate, std::string_view member) {
  return object_at(predicate, {"requiredClusterSelector", member});
}

std::vector<std::string> cel_of(const Json& predicate) {
  return string_list_at(predicate, {"requiredClusterSelector", "celSelector", "celExpressions"});
}

}  // namespace

Result<std::shared_ptr<const CelProgram>> CelMemo::compile(const std::vector<std::string>& expressions) const {
  const auto known = known_.find(expressions);
  if (known != known_.end()) return known->second;
  return known_.emplace(expressions, inner_.compile(expressions)).first->second;
}

std::optional<std::vector<Change>> satisfy(const Json& selector, const Labels& labels, bool claims) {
  std::vector<Change> changes;
  for (const auto& [key, list] : requirements_by_key(selector)) {
    const Selector all = Selector::compile({{"matchExpressions", list}});
    if (all.matches(labels)) continue;
    const bool there = label_value(labels, key) != nullptr;
    std::vector<std::string> candidates;
    for (const Json& one : list) {
      if (str(one, {"operator"}) != "In") continue;
      for (std::string& value : string_list_at(one, {"values"})) candidates.push_back(std::move(value));
    }
    const auto fits = [&](const std::string& value) { return all.matches({{key, value}}); };
    auto value = std::find_if(candidates.begin(), candidates.end(), fits);
    if (value == candidates.end() && there && all.matches({})) {
      changes.push_back({.kind = claims ? Kind::kUnclaim : Kind::kUnlabel, .key = key});
      continue;
    }
    if (value == candidates.end()) {
      candidates = {"true", "yes", "1", "any"};
      value = std::find_if(candidates.begin(), candidates.end(), fits);
    }
    if (value == candidates.end()) return std::nullopt;
    changes.push_back({.kind = claims ? Kind::kClaim : Kind::kLabel, .key = key, .value = *value, .replaces = there});
  }
  return changes;
}

AdmissionAdvisor::AdmissionAdvisor(const Objects& objects, const Objects::Key& placement, Instant now, const CelEvaluator* cel)
    : objects_(objects), placement_(placement), now_(now), options_{.cel = cel, .record = true} {
  if (const Json* object = objects.find(ObjectKind::kPlacement, placement.first, placement.second); object != nullptr) {
    bare_ = *object;
  }
  erase_at(bare_, {"metadata", "annotations"});
  erase_at(bare_, {"metadata", "deletionTimestamp"});
  erase_at(bare_, {"spec", "numberOfClusters"});
  erase_at(bare_, {"spec", "decisionStrategy"});
  at_or_make(bare_, {"spec", "prioritizerPolicy"}) = {{"mode", "Exact"}};
  for (const auto& [key, set] : objects.of(ObjectKind::kSet)) put_object(world_, set);
  for (const auto& [key, binding] : objects.of(ObjectKind::kBinding)) {
    if (key.first == placement.first) put_object(world_, binding);
  }
  for (const Json* decision : objects.decisions_of(placement.first, placement.second)) {
    for (std::string& cluster : decode_decision(*decision).clusters) decided_.insert(std::move(cluster));
  }
}

Pass AdmissionAdvisor::pass(const Try& attempt) {
  const std::string name = name_of(attempt.cluster);
  const std::string decision = placement_.second + "-decision-1";
  std::vector<std::string> scores;
  const Objects::Map& all = objects_.of(ObjectKind::kScore);
  for (auto at = all.lower_bound({name, {}}); at != all.end() && at->first.first == name; ++at) {
    put_object(world_, at->second);
    scores.push_back(at->first.second);
  }
  put_object(world_, attempt.cluster);
  for (const std::string& set : attempt.bound) world_.put(Binding{placement_.first, set, set});
  if (attempt.decided) world_.put(Decision{placement_.first, decision, placement_.second, {}, "0", {name}});
  Pass pass = schedule(world_, decode_placement(attempt.placement), now_, options_);
  if (attempt.decided) world_.remove_decision(placement_.first, decision);
  for (const std::string& set : attempt.bound) world_.remove_binding(placement_.first, set);
  world_.remove_cluster(name);
  for (const std::string& score : scores) world_.remove_score(name, score);
  return pass;
}

AdmissionAdvisor::Verdict AdmissionAdvisor::judge(const Try& attempt) {
  if (is_deleting(attempt.cluster)) return {Stage::kCluster, "it is being deleted", true};
  const Pass got = pass(attempt);
  if (!got.failure.empty()) return {Stage::kBinding, got.failure, true};
  for (const ConditionValue& one : got.conditions) {
    const bool ineligible = one.reason == "NoManagedClusterSetBindings" || one.reason == "NoIntersection" ||
                            one.reason == "AllManagedClusterSetsEmpty";
    if (ineligible) return {Stage::kBinding, unbound(attempt), false};
  }
  const bool aborted = got.verdict.code == Code::kMisconfigured || got.verdict.code == Code::kError;
  if (got.filters.empty()) return {Stage::kPredicate, got.verdict.message, aborted};
  if (!has_cluster(got.filters[0])) return {Stage::kPredicate, unmatched(attempt), false};
  if (got.filters.size() < 2) return {Stage::kTaint, got.verdict.message, aborted};
  if (has_cluster(got.filters[1])) return {};
  std::vector<std::string> taints;
  for (const Change& one : intolerable(attempt)) {
    taints.push_back("taint " + one.key + (one.value.empty() ? "" : "=" + one.value) +
                     (one.effect.empty() ? "" : ":" + one.effect));
  }
  return {Stage::kTaint, joined(taints, ", ") + (taints.size() == 1 ? " is" : " are") + " not tolerated", false};
}

std::string AdmissionAdvisor::unbound(const Try& attempt) const {
  const Cluster cluster = decode_cluster(attempt.cluster);
  std::vector<std::string> sets;
  for (const std::string& name : world_.sets_of(cluster)) sets.push_back(name);
  if (sets.empty()) return "it belongs to no cluster set";
  const std::vector<std::string> named = string_list_at(attempt.placement, {"spec", "clusterSets"});
  std::vector<std::string> bound;
  for (const std::string& set : sets) {
    if (world_.bindings(placement_.first).contains(set)) bound.push_back(set);
  }
  const std::string where =
      "it belongs to cluster " + std::string(sets.size() == 1 ? "set " : "sets ") + joined(sets, ", ") + ", ";
  if (!bound.empty()) return where + "spec.clusterSets names " + joined(named, ", ");
  return where + (sets.size() == 1 ? "which is not" : "none of which is") + " bound to namespace " + placement_.first;
}

std::string AdmissionAdvisor::unmatched(const Try& attempt) const {
  const Json& predicates = list_at(attempt.placement, {"spec", "predicates"});
  std::vector<std::string> nearest;
  for (const Json& predicate : predicates) {
    std::vector<std::string> unmet;
    describe_unmet(selector_of(predicate, "labelSelector"), labels_of(attempt.cluster), "label", unmet);
    describe_unmet(selector_of(predicate, "claimSelector"), claims_of(attempt.cluster), "claim", unmet);
    if (unmet.empty()) {
      for (const std::string& expression : cel_of(predicate)) unmet.push_back("CEL " + expression);
    }
    if (nearest.empty() || unmet.size() < nearest.size()) nearest = std::move(unmet);
  }
  std::string text = joined(nearest, ", ");
  if (predicates.size() > 1) text += ", the nearest of " + std::to_string(predicates.size()) + " predicates";
  return text;
}

std::vector<Change> AdmissionAdvisor::intolerable(const Try& attempt) {
  std::vector<Change> changes;
  Try one = attempt;
  for (const Json& taint : list_at(attempt.cluster, {"spec", "taints"})) {
    at_or_make(one.cluster, {"spec", "taints"}) = Json::array({taint});
    const Pass got = pass(one);
    if (got.filters.size() < 2 || !has_cluster(got.filters[0]) || has_cluster(got.filters[1])) continue;
    Change change{
        .kind = Kind::kTolerate, .key = str(taint, {"key"}), .value = str(taint, {"value"}), .effect = str(taint, {"effect"})};
    if (std::find(changes.begin(), changes.end(), change) == changes.end()) changes.push_back(std::move(change));
  }
  return changes;
}

std::vector<Change> AdmissionAdvisor::into_a_set(const Try& attempt) const {
  const Cluster cluster = decode_cluster(attempt.cluster);
  const std::vector<std::string> named = string_list_at(attempt.placement, {"spec", "clusterSets"});
  const auto is_bound = [&](const std::string& set) {
    return world_.bindings(placement_.first).contains(set) ||
           std::find(attempt.bound.begin(), attempt.bound.end(), set) != attempt.bound.end();
  };
  const auto is_named = [&](const std::string& set) {
    return named.empty() || std::find(named.begin(), named.end(), set) != named.end();
  };
  std::vector<std::vector<Change>> ways;
  const auto consider = [&](const std::string& set, std::vector<Change> changes) {
    if (!is_bound(set)) changes.push_back({.kind = Kind::kBindSet, .key = set});
    if (!is_named(set)) changes.push_back({.kind = Kind::kNameSet, .key = set});
    ways.push_back(std::move(changes));
  };
  // The cluster's own sets come first; sets of everything last, as binding one of those lets the whole fleet in.
  std::vector<std::string> of_everything;
  for (const auto& [name, set] : world_.sets()) {
    if (!FleetState::takes(set, cluster)) continue;
    const bool everything = set.selector && set.selector->everything();
    if (everything) {
      of_everything.push_back(name);
    } else {
      consider(name, {});
    }
  }
  for (const auto& [key, object] : objects_.of(ObjectKind::kSet)) {
    const Set* set = world_.set(key.second);
    if (set == nullptr || FleetState::takes(*set, cluster) || !FleetState::set_error(*set).empty()) continue;
    if (set->selector_type == kLabelSelector) {
      if (!set->selector) continue;  // it takes nothing
      auto changes = satisfy(object_at(object, {"spec", "clusterSelector", "labelSelector"}), cluster.labels, false);
      if (changes) consider(set->name, std::move(*changes));
      continue;
    }
    const bool there = label_value(cluster.labels, api::kClusterSetLabel) != nullptr;
    consider(set->name,
             {{.kind = Kind::kLabel, .key = std::string(api::kClusterSetLabel), .value = set->name, .replaces = there}});
  }
  for (const std::string& name : of_everything) consider(name, {});
  const auto least = std::min_element(ways.begin(), ways.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return least == ways.end() ? std::vector<Change>{} : *least;
}

std::vector<Change> AdmissionAdvisor::into_a_predicate(const Try& attempt) {
  std::vector<Change> least;
  for (const Json& predicate : list_at(attempt.placement, {"spec", "predicates"})) {
    auto changes = satisfy(selector_of(predicate, "labelSelector"), labels_of(attempt.cluster), false);
    const auto claims = satisfy(selector_of(predicate, "claimSelector"), claims_of(attempt.cluster), true);
    if (!changes || !claims) continue;
    changes->insert(changes->end(), claims->begin(), claims->end());
    if (changes->empty() || (!least.empty() && changes->size() >= least.size())) continue;
    if (!cel_of(predicate).empty()) {
      Try changed = attempt;
      for (const Change& one : *changes) change_cluster(changed.cluster, one);
      if (judge(changed).stage == Stage::kPredicate) continue;
    }
    least = std::move(*changes);
  }
  return least;
}

AdmissionAdvisor::Verdict AdmissionAdvisor::judge(const std::string& cluster, std::vector<Change>* changes) {
  const Json* object = objects_.find(ObjectKind::kCluster, "", cluster);
  if (object == nullptr) return {Stage::kCluster, "there is no such cluster", true};
  Try attempt{*object, bare_, {}, decided_.contains(cluster)};
  const Verdict first = judge(attempt);
  if (changes == nullptr || first.broken) return first;
  Verdict now = first;
  for (int round = 0; now.stage != Stage::kSelected; ++round) {
    std::vector<Change> more;
    if (now.stage == Stage::kBinding) more = into_a_set(attempt);
    if (now.stage == Stage::kPredicate) more = into_a_predicate(attempt);
    if (now.stage == Stage::kTaint) more = intolerable(attempt);
    if (more.empty() || now.broken || round == kMaxRounds) {
      changes->clear();
      return first;
    }
    for (Change& one : more) {
      change_cluster(attempt.cluster, one);
      change_placement(attempt.placement, one);
      if (one.kind == Kind::kBindSet) attempt.bound.push_back(one.key);
      // A later change of the same thing is the one that counts.
      std::erase_if(*changes, [&](const Change& old) {
        const auto of_label = [](Kind kind) { return kind == Kind::kLabel || kind == Kind::kUnlabel; };
        const auto of_claim = [](Kind kind) { return kind == Kind::kClaim || kind == Kind::kUnclaim; };
        return old.key == one.key && ((of_label(old.kind) && of_label(one.kind)) || (of_claim(old.kind) && of_claim(one.kind)));
      });
      changes->push_back(std::move(one));
    }
    now = judge(attempt);
  }
  return first;
}

}  // namespace fleetadm::placement
