#include "commands/cluster/taints.h"

#include <algorithm>

#include "commands/framework/selectors.h"
#include "kubeclient/base/names.h"

namespace fleetadm::commands {
namespace {

bool concerns(const TaintChange& change, const Json& taint) {
  return str(taint, {"key"}) == change.key && (change.effect.empty() || str(taint, {"effect"}) == change.effect);
}

}  // namespace

Result<TaintChange> parse_taint(const std::string& word) {
  TaintChange change;
  std::string text = word;
  change.remove = text.ends_with('-');
  if (change.remove) text.pop_back();
  const std::size_t colon = text.rfind(':');
  if (colon != std::string::npos) change.effect = text.substr(colon + 1);
  const std::string left = text.substr(0, colon);
  const std::size_t equal = left.find('=');
  change.key = left.substr(0, equal);
  if (equal != std::string::npos) change.value = left.substr(equal + 1);
  if (!qualified_name_problems(change.key).empty())
    return fail(Category::kUsage, "\"" + word + "\": \"" + change.key + "\" is not a valid taint key", kTaintForm);
  if (change.effect.empty() && (!change.remove || colon != std::string::npos))
    return fail(Category::kUsage, "\"" + word + "\": the effect is missing", kTaintForm);
  if (!change.effect.empty() && change.effect != "NoSelect" && change.effect != "PreferNoSelect" &&
      change.effect != "NoSelectIfNew") {
    return fail(Category::kUsage, "\"" + word + "\": \"" + change.effect + "\" is not an effect",
                taint_effect_hint(change.effect));
  }
  if (change.value.size() > 1024)
    return fail(Category::kUsage, "\"" + change.key + "\": the value is limited to 1024 characters");
  return change;
}

Status edit_taints(Json& cluster, const std::vector<TaintChange>& changes, bool overwrite) {
  for (const TaintChange& change : changes) {
    Json kept = Json::array();
    bool there = false;
    for (const Json& taint : list_at(cluster, {"spec", "taints"})) {
      if (!concerns(change, taint)) {
        kept.push_back(taint);
        continue;
      }
      if (change.remove) continue;
      there = str(taint, {"value"}) == change.value;
      if (there) {
        kept.push_back(taint);
      } else if (!overwrite) {
        return fail(Category::kConflict,
                    "taint " + change.key + ":" + change.effect + " already has the value \"" + str(taint, {"value"}) + "\"",
                    "to change it, add --overwrite");
      }
    }
    if (!change.remove && !there) {
      Json taint{{"key", change.key}, {"effect", change.effect}};
      if (!change.value.empty()) taint["value"] = change.value;
      kept.push_back(std::move(taint));  // the hub adds timeAdded
    }
    if (kept != list_at(cluster, {"spec", "taints"})) at_or_make(cluster, {"spec", "taints"}) = std::move(kept);
  }
  return {};
}

bool has_taint(const Json& cluster, std::string_view key) {
  const Json& taints = list_at(cluster, {"spec", "taints"});
  return std::any_of(taints.begin(), taints.end(), [&](const Json& taint) { return str(taint, {"key"}) == key; });
}

void note_taint_times(Json& cluster, Instant now) {
  for (Json& taint : at_or_make(cluster, {"spec", "taints"})) {
    if (str(taint, {"timeAdded"}).empty()) taint["timeAdded"] = format_time(now);
  }
}

}  // namespace fleetadm::commands
