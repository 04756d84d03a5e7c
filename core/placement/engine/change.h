// One thing that somebody can do so that a placement takes a cluster: on the cluster, on its sets, or on the placement.
#pragma once

#include <cstdint>
#include <string>

#include "core/placement/engine/object_set.h"

namespace fleetadm::placement {

struct Change {
  enum class Kind {
    kBindSet,   // key: the set, bound to the placement's namespace
    kNameSet,   // key: the set, in spec.clusterSets
    kLabel,     // key, value: a label of the cluster
    kUnlabel,   // key
    kClaim,     // key, value: a claim that the cluster reports
    kUnclaim,   // key
    kTolerate,  // key, value, effect: a toleration of the placement
    kLimit,     // number: spec.numberOfClusters
    kPoints,    // number: how much more the weighted scores must sum up to
  };
  Kind kind = Kind::kLabel;
  std::string key;
  std::string value;
  std::string effect;
  std::int64_t number = 0;
  bool replaces = false;  // a label or claim that is there with another value

  bool operator==(const Change&) const = default;
};

/// "bind-set", "label", …: the kind as reports name it.
std::string_view change_word(Change::Kind kind);
/// For people: "add label env=prod", "bind set prod in namespace apps", "needs +3 points".
std::string change_text(const Change& change, std::string_view placement_ns);

/// The part of the change that is the cluster's, or the placement's; nothing where it is not.
void change_cluster(Json& cluster, const Change& change);
void change_placement(Json& placement, const Change& change);

/// Makes the change on the objects. Points become a score of an add-on that the placement adds with the weight 1. Nothing happens
/// where the placement or the cluster is not there.
void apply_change(Objects& objects, const Objects::Key& placement, const std::string& cluster, const Change& change);

}  // namespace fleetadm::placement
