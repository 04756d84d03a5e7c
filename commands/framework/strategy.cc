#include "commands/framework/strategy.h"

#include <algorithm>
#include <utility>

#include "commands/framework/references.h"
#include "core/rollout/strategy.h"
#include "core/work/rules/replica_set_state.h"

namespace fleetadm::commands {
namespace {

/// A count or a percentage, as the field takes it.
Result<Json> threshold(const std::string& flag, const std::string& text) {
  const bool percent = text.ends_with('%');
  const std::string digits = percent ? text.substr(0, text.size() - 1) : text;
  const bool number = !digits.empty() && digits.size() <= 9 && digits.find_first_not_of("0123456789") == std::string::npos;
  if (!number || (percent && std::stoi(digits) > 100)) {
    return fail(Category::kUsage, "--" + flag + " " + text + " is neither a count nor a percentage", "for example 3 or 25%");
  }
  return percent ? Json(text) : Json(std::stoi(digits));
}

}  // namespace

bool StrategyOptions::any() const {
  return !kind.empty() || !max_concurrency.empty() || !max_failures.empty() || !progress_deadline.empty() ||
         min_success_time >= Duration::zero() || !first.empty();
}

void bind_rollout_strategy(FlagSet& flags, StrategyOptions& options) {
  flags.choice(&options.kind, "strategy", {"all", "progressive", "per-group"},
               "rollout strategy; progressive if another strategy flag is given");
  flags.text(&options.max_concurrency, "max-concurrency", "maximum number of clusters updated at the same time").value_name =
      "COUNT|PERCENT";
  flags.text(&options.max_failures, "max-failures", "number of failed clusters to tolerate").value_name = "COUNT|PERCENT";
  flags.duration(&options.min_success_time, "min-success-time", "how long a cluster must stay healthy before the next one starts")
      .default_text = "0s";
  flags.text(&options.progress_deadline, "progress-deadline", "how long a cluster may take before it counts as timed out")
      .value_name = "DURATION";
  flags.comma_texts(&options.first, "first", "decision groups to update first; none of their clusters may fail").value_name =
      "GROUP";
  flags.boolean(&options.allow_missing, "allow-missing", "accept decision groups in --first that do not exist yet");
}

void bind_strategy(FlagSet& flags, StrategyOptions& options) {
  bind_rollout_strategy(flags, options);
  flags
      .choice(&options.success_when, "success-when", {"applied", "available", "ready"},
              "what a cluster must report before it counts as successful")
      .default_text = "ready for a new rollout";
}

Result<Json> strategy_over(const StrategyOptions& options, const Json& present) {
  const std::string now = str(present, {"type"});
  std::string kind = options.kind;
  if (kind.empty()) kind = now == "ProgressivePerGroup" && options.max_concurrency.empty() ? "per-group" : "progressive";
  const std::string type = kind == "all" ? "All" : kind == "per-group" ? "ProgressivePerGroup" : "Progressive";
  const std::string member = kind == "all" ? "all" : kind == "per-group" ? "progressivePerGroup" : "progressive";
  Json body = options.kind.empty() && now == type ? object_at(present, {member}) : Json::object();
  if (!options.progress_deadline.empty()) body["progressDeadline"] = options.progress_deadline;
  if (options.min_success_time >= Duration::zero()) body["minSuccessTime"] = format_duration(options.min_success_time);
  if (!options.max_failures.empty()) {
    FLEETADM_TRY(body["maxFailures"], threshold("max-failures", options.max_failures));
  }
  if (!options.max_concurrency.empty()) {
    FLEETADM_TRY(body["maxConcurrency"], threshold("max-concurrency", options.max_concurrency));
  }
  if (!options.first.empty()) body["mandatoryDecisionGroups"] = Json::array();
  for (const std::string& group : options.first) body["mandatoryDecisionGroups"].push_back({{"groupName", group}});
  const bool more = options.min_success_time >= Duration::zero() || !options.max_failures.empty() || !options.first.empty();
  if ((kind == "all" && more) || (kind != "progressive" && !options.max_concurrency.empty())) {
    return fail(Category::kUsage, "a strategy flag does not apply to --strategy " + kind,
                "--max-concurrency applies to progressive only; all accepts only --progress-deadline");
  }
  Json strategy{{"type", type}};
  strategy[member] = std::move(body);
  if (const auto parsed = rollout::parse_strategy(strategy); !parsed) {
    return fail(Category::kUsage, parsed.error().message, "for example 90s, 10m or 1h30m");
  }
  return strategy;
}

Status check_first(const kube::Client& hub, const Json& set, const std::string& placement, const StrategyOptions& options) {
  if (options.allow_missing) return {};
  for (const Json& ref : list_at(set, {"spec", "placementRefs"})) {
    const std::string name = str(ref, {"name"});
    if (!placement.empty() && name != placement) continue;
    FLEETADM_CHECK(check_decision_groups(hub, namespace_of(set), name, options.first));
  }
  return {};
}

void edit_success(Json& set, const StrategyOptions& options, bool is_new) {
  const std::string wanted = options.success_when.empty() && is_new ? "ready" : options.success_when;
  if (!wanted.empty()) at_or_make(set, {"metadata", "annotations", work::kSuccessAnnotation}) = wanted;
}

Status edit_placement_refs(Json& set, const std::string& placement, const StrategyOptions& options) {
  Json& refs = at_or_make(set, {"spec", "placementRefs"});
  if (!refs.is_array()) refs = Json::array();
  const auto named = [&](const Json& ref) { return str(ref, {"name"}) == placement; };
  if (!placement.empty() && std::none_of(refs.begin(), refs.end(), named)) {
    Json kept = refs.empty() ? Json::object() : refs[0];
    kept["name"] = placement;
    refs = Json::array({std::move(kept)});
  }
  if (!options.any()) return {};
  for (Json& ref : refs) {
    if (!placement.empty() && !named(ref)) continue;
    FLEETADM_TRY(ref["rolloutStrategy"], strategy_over(options, object_at(ref, {"rolloutStrategy"})));
  }
  return {};
}

}  // namespace fleetadm::commands
