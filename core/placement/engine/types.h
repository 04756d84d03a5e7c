// The scheduler's inputs as values: what a pass needs of each kind, decoded once per change (core/placement/engine/decode.h).
// See docs/reference/placement.md#inputs. CRD defaults are not applied here: the API server has done that, and files may lack
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kubeclient/base/cached_object.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/base/selector.h"

namespace fleetadm::placement {

/// A cluster's name as a small number, stable while anything mentions the name.
using Slot = std::uint32_t;

enum class Effect { kNone, kNoSelect, kPreferNoSelect, kNoSelectIfNew, kOther };

struct Taint {
  std::string key;
  std::string value;
  Effect effect = Effect::kNone;
  std::optional<Instant> added;  // absent: a toleration with seconds never tolerates it
  std::string other_effect;      // the word, where the effect is kOther

  bool operator==(const Taint&) const = default;
};

/// The whole object, for CEL: decoded when it is asked. No part of what makes two values equal.
struct WholeObject {
  std::shared_ptr<const kube::CachedObject> cached;

  bool operator==(const WholeObject&) const { return true; }
};

struct Cluster {
  std::string name;
  Labels labels;
  Labels claims;  // a later duplicate of a claim wins
  std::vector<Taint> taints;
  /// Allocatable as the approximate double of Kubernetes; absent where allocatable or capacity lacks the resource.
  std::optional<double> cpu;
  std::optional<double> memory;
  bool deleting = false;
  WholeObject object;

  bool operator==(const Cluster&) const = default;
};

struct Set {
  std::string name;
  std::string selector_type;  // empty is ExclusiveClusterSetLabel
  std::optional<Selector> selector;

  bool operator==(const Set&) const = default;
};

struct Binding {
  std::string ns;
  std::string name;         // what eligibility goes by
  std::string cluster_set;  // what triggers go by

  bool operator==(const Binding&) const = default;
};

struct Decision {
  std::string ns;
  std::string name;
  std::string placement;  // label value; empty: none
  std::string group_name;
  std::string group_index;
  std::vector<std::string> clusters;
  std::string resource_version;
};

/// An AddOnPlacementScore: `ns` is the cluster's name.
struct Score {
  using Items = std::vector<std::pair<std::string, std::int64_t>>;
  std::string ns;
  std::string name;
  std::shared_ptr<const Items> items;  // never null; of clusters with equal ones the same (FleetState)
  std::optional<Instant> valid_until;
};

struct Toleration {
  std::string key;
  std::string op;
  std::string value;
  std::string effect;
  std::optional<std::int64_t> seconds;
};

struct Predicate {
  Selector labels;
  Selector claims;
  std::vector<std::string> cel;
};

struct AddonCoordinate {
  std::string resource;
  std::string score;
};

struct PrioritizerConfig {
  bool has_coordinate = false;
  std::string type;
  std::string built_in;
  std::optional<AddonCoordinate> addon;
  std::int64_t weight = 0;
};

struct DecisionGroup {
  std::string name;
  Selector labels;
  Selector claims;
};

/// clustersPerDecisionGroup: a number, or a text that should be a percentage.
struct GroupSize {
  std::int64_t number = 0;
  std::optional<std::string> text;
};

struct Placement {
  std::string ns;
  std::string name;
  bool deleting = false;
  bool disabled = false;  // the annotation experimental-scheduling-disable is "true"
  std::vector<std::string> cluster_sets;
  std::optional<std::int64_t> number_of_clusters;
  std::vector<Predicate> predicates;
  std::string mode;  // prioritizerPolicy.mode
  std::vector<PrioritizerConfig> prioritizers;
  std::vector<Toleration> tolerations;
  GroupSize group_size;
  std::vector<DecisionGroup> groups;
};

}  // namespace fleetadm::placement
