// Changes of a cluster's taints, as words of a command line: KEY[=VALUE]:EFFECT adds, KEY[:EFFECT]- removes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::commands {

struct TaintChange {
  std::string key;
  std::string value;
  std::string effect;  // empty (of a removal): every effect
  bool remove = false;
};

inline constexpr const char* kTaintForm = "write KEY[=VALUE]:EFFECT to add a taint, KEY[:EFFECT]- to remove it";

/// Of `cluster cordon` (NoSelectIfNew) and `cluster drain` (NoSelect).
inline constexpr const char* kUnschedulableTaint = "fleetadm.io/unschedulable";

/// kUsage: another form, an invalid key, or an effect that there is not.
Result<TaintChange> parse_taint(const std::string& word);

/// kConflict: a taint has another value, and `overwrite` is not set.
Status edit_taints(Json& cluster, const std::vector<TaintChange>& changes, bool overwrite);

/// Whatever its effect.
bool has_taint(const Json& cluster, std::string_view key);

/// What the hub makes of new taints: tolerations for a time count from when it saw them.
void note_taint_times(Json& cluster, Instant now);

}  // namespace fleetadm::commands
