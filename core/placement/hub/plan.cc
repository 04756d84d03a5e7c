#include "core/placement/hub/plan.h"

#include <algorithm>
#include <set>

#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "core/placement/engine/decode.h"

namespace fleetadm::placement {
namespace {

Json wanted_labels(const Json& placement, const WantedDecision& wanted) {
  return {{std::string(api::kPlacementLabel), name_of(placement)},
          {std::string(kGroupIndexLabel), std::to_string(wanted.group_index)},
          {std::string(kGroupNameLabel), wanted.group_name}};
}

// Whether the object's entries are just these (an absent list is an empty one; scores and reasons are ours to drop).
bool entries_agree(const Json& object, const std::vector<std::string>& clusters) {
  return list_at(object, {"status", "decisions"}) == entries_json(clusters);
}

Json new_decision(const Json& placement, const WantedDecision& wanted) {
  return {{"apiVersion", api::placement_decisions().api_version()},
          {"kind", api::placement_decisions().kind},
          {"metadata",
           {{"name", wanted.name},
            {"namespace", namespace_of(placement)},
            {"labels", wanted_labels(placement, wanted)},
            {"ownerReferences",
             {{{"apiVersion", api::placements().api_version()},
               {"kind", api::placements().kind},
               {"name", name_of(placement)},
               {"uid", uid_of(placement)},
               {"controller", true},
               {"blockOwnerDeletion", true}}}}}},
          {"status", {{"decisions", entries_json(wanted.clusters)}}}};
}

// Orders changes of entries so that a cluster is in its new object before it leaves the old one. Where objects exchange
// clusters, one of them holds both for a moment.
class Mover {
 public:
  Mover(const std::vector<WantedDecision>& wanted, const std::map<std::string, Json>& existing) {
    for (const auto& [name, object] : existing) {
      for (const std::string& cluster : decode_decision(object).clusters) current_[name].insert(cluster);
      for (const std::string& cluster : current_[name]) ++holders_[cluster];
    }
    for (const WantedDecision& one : wanted) {
      const auto at = existing.find(one.name);
      for (const std::string& cluster : one.clusters) home_.emplace(cluster, &one);
      if (at == existing.end() ? !one.clusters.empty() : !entries_agree(at->second, one.clusters)) left_.push_back(&one);
    }
  }

  std::vector<Write> order() {
    while (!left_.empty()) {
      const WantedDecision* blocked_by = nullptr;
      const auto ready = std::find_if(left_.begin(), left_.end(), [&](const WantedDecision* one) {
        const std::string* alone = loses_last(*one);
        if (alone != nullptr && blocked_by == nullptr) blocked_by = home_.at(*alone);
        return alone == nullptr;
      });
      if (ready != left_.end()) {
        const WantedDecision* one = *ready;
        left_.erase(ready);
        write(one->name, one->clusters);
      } else {
        std::vector<std::string> both = blocked_by->clusters;
        for (const std::string& cluster : current_[blocked_by->name]) {
          if (std::find(both.begin(), both.end(), cluster) == both.end()) both.push_back(cluster);
        }
        write(blocked_by->name, both);
      }
    }
    return std::move(writes_);
  }

 private:
  // A cluster that stays selected and that only this object still names, though it is to leave it.
  const std::string* loses_last(const WantedDecision& one) {
    for (const std::string& cluster : current_[one.name]) {
      const auto home = home_.find(cluster);
      if (home != home_.end() && home->second != &one && holders_[cluster] == 1) return &cluster;
    }
    return nullptr;
  }
  void write(const std::string& name, const std::vector<std::string>& clusters) {
    for (const std::string& cluster : current_[name]) --holders_[cluster];
    current_[name] = {clusters.begin(), clusters.end()};
    for (const std::string& cluster : current_[name]) ++holders_[cluster];
    writes_.push_back({Write::Kind::kEntries, name, {}, clusters});
  }

  std::map<std::string, std::set<std::string>> current_;
  std::map<std::string, int> holders_;
  std::map<std::string, const WantedDecision*> home_;
  std::vector<const WantedDecision*> left_;
  std::vector<Write> writes_;
};

}  // namespace

Json entries_json(const std::vector<std::string>& clusters) {
  Json list = Json::array();
  for (const std::string& name : clusters) list.push_back({{"clusterName", name}, {"reason", ""}});
  return list;
}

Pass without_decisions(const Pass& pass, const std::string& why) {
  Pass none = pass;
  none.selected.clear();
  none.decisions.clear();
  none.surplus.clear();
  none.groups.clear();
  none.selected_count = 0;
  none.requeue_at.reset();
  none.scores_expire_at.reset();
  for (ConditionValue& one : none.conditions) {
    const bool decided = one.type == "PlacementSatisfied" && (one.status == "True" || one.reason == "NotAllDecisionsScheduled");
    if (!decided || pass.verdict.code == Code::kError) continue;  // an error says what it is
    one.status = "False";
    one.reason = "NotAllDecisionsScheduled";
    one.message = "the placement's name cannot be a label of its decisions: " + why;
  }
  return none;
}

std::vector<Write> plan_writes(const Json& placement, const Pass& pass, const std::map<std::string, Json>& existing) {
  std::vector<Write> writes;
  for (const WantedDecision& wanted : pass.decisions) {
    const auto at = existing.find(wanted.name);
    if (at == existing.end()) {
      writes.push_back({Write::Kind::kCreate, wanted.name, new_decision(placement, wanted), {}});
      continue;
    }
    const Json labels = wanted_labels(placement, wanted);
    if (Json change = kube::merge_diff(object_at(at->second, {"metadata", "labels"}), labels); !change.empty()) {
      writes.push_back({Write::Kind::kLabels, wanted.name, std::move(change), {}});
    }
  }
  for (Write& write : Mover(pass.decisions, existing).order()) writes.push_back(std::move(write));
  for (const std::string& name : pass.surplus) {
    if (existing.contains(name)) writes.push_back({Write::Kind::kDelete, name, {}, {}});
  }
  return writes;
}

Json wanted_status(const Json& placement, const Pass& pass, Instant now) {
  Json status = object_at(placement, {"status"});
  status["numberOfSelectedClusters"] = pass.selected_count;
  Json groups = Json::array();
  for (const GroupStatus& group : pass.groups) {
    groups.push_back({{"decisionGroupIndex", group.index},
                      {"decisionGroupName", group.name},
                      {"decisions", group.decisions},
                      {"clusterCount", group.clusters}});
  }
  status["decisionGroups"] = std::move(groups);
  Json conditions = list_at(placement, {"status", "conditions"});
  for (const ConditionValue& one : pass.conditions) {
    controller::set_condition(conditions, one.type, one.status, one.reason, one.message, now);
  }
  status["conditions"] = std::move(conditions);
  return status;
}

}  // namespace fleetadm::placement
