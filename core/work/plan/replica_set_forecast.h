// A whole rollout ahead of time: the controller's own rules, step by step, with outcomes that are assumed. Pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/work/rules/replica_set_rules.h"

namespace fleetadm::work {

/// What a cluster is assumed to report after it was begun.
struct Assumption {
  enum class End { kSucceeds, kFails, kSilent } end = End::kSucceeds;
  Duration after = std::chrono::seconds(1);
};
using Assume = std::function<Assumption(const std::string& cluster)>;

/// One thing that happens, `at` after the beginning.
struct ForecastEvent {
  enum class What { kCreated, kChanged, kRemoved, kSucceeded, kFailed, kTimedOut } what = What::kCreated;
  Duration at{};
  int batch = 0;  // of created and changed ones, from 1: what is begun together
  std::string cluster;
  std::string placement;
  rollout::GroupKey group;
};
std::string_view to_string(ForecastEvent::What what);

struct Forecast {
  std::vector<ForecastEvent> events;
  ReplicaSetPlan end;  // how it stands when nothing more happens by itself
  Duration took{};
  bool complete = false;
  bool cut_off = false;  // more than a million steps: given up
};

/// `set` has the template that is to be rolled out; `revision` is of that template, where it has begun already.
Forecast forecast(const Json& set, const std::map<std::string, PlacementView>& placements, std::vector<OwnedWork> works,
                  std::optional<Revision> revision, Instant now, const Assume& assume);

}  // namespace fleetadm::work
