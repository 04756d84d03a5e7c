#include "core/rollout/strategy.h"

#include <cmath>
#include <limits>
#include <utility>

#include "kubeclient/base/go_numbers.h"

namespace fleetadm::rollout {
namespace {

/// ^(([0-9])+[h|m|s])|None$ : the alternatives are anchored on one side each.
bool looks_like_deadline(std::string_view text) {
  if (text.ends_with("None")) return true;
  std::size_t at = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
  return at > 0 && at < text.size() && std::string_view("h|ms").find(text[at]) != std::string_view::npos;
}

Threshold threshold_at(const Json& body, std::string_view key) {
  const Json* value = find(body, {key});
  if (value == nullptr) return {};
  if (value->is_string()) return {0, value->get<std::string>()};
  return {num(body, {key}), std::nullopt};
}

}  // namespace

std::string_view to_string(State state) {
  switch (state) {
    case State::kToApply: return "ToApply";
    case State::kProgressing: return "Progressing";
    case State::kSucceeded: return "Succeeded";
    case State::kFailed: return "Failed";
    case State::kTimeOut: return "TimeOut";
    case State::kSkip: return "Skip";
  }
  return "Progressing";
}

State parse_state(std::string_view text) {
  for (const State state :
       {State::kToApply, State::kProgressing, State::kSucceeded, State::kFailed, State::kTimeOut, State::kSkip}) {
    if (to_string(state) == text) return state;
  }
  return State::kProgressing;
}

Result<std::optional<Duration>> parse_deadline(const std::string& text) {
  if (text.empty() || text == "None") return std::optional<Duration>{};
  if (!looks_like_deadline(text)) return fail(Category::kInvalid, "invalid timeout format");
  const Result<Duration> duration = parse_duration(text);
  if (!duration) return fail(Category::kInvalid, "time: " + duration.error().message);  // as upstream words it
  return std::optional<Duration>(*duration);
}

Result<std::int64_t> resolve(const Threshold& threshold, std::int64_t total, std::int64_t otherwise) {
  std::int64_t value = threshold.number;
  if (threshold.text) {
    const std::string& text = *threshold.text;
    if (!text.ends_with('%')) {
      return fail(Category::kInvalid, "'" + text + "' is an invalid maximum threshold value: string is not a percentage");
    }
    const std::string digits = text.substr(0, text.size() - 1);
    const std::optional<double> percent = parse_go_float(digits);
    if (!percent) return fail(Category::kInvalid, "strconv.ParseFloat: parsing \"" + digits + "\": invalid syntax");
    value = truncate(std::ceil(*percent / 100 * static_cast<double>(total)));
  }
  return value <= 0 || value > total ? otherwise : value;
}

Result<Strategy> parse_strategy(const Json& object) {
  Strategy strategy;
  const std::string type = str(object, {"type"});
  const char* member = nullptr;
  if (type == "All") {
    member = "all";
  } else if (type == "Progressive") {
    strategy.kind = Kind::kProgressive;
    member = "progressive";
  } else if (type == "ProgressivePerGroup") {
    strategy.kind = Kind::kProgressivePerGroup;
    member = "progressivePerGroup";
  } else {
    return fail(Category::kInvalid, "incorrect rollout strategy type " + type);
  }
  const Json& body = object_at(object, {member});
  FLEETADM_TRY(strategy.progress_deadline, parse_deadline(str(body, {"progressDeadline"})));
  if (strategy.kind == Kind::kAll) return strategy;
  if (const std::string soak = str(body, {"minSuccessTime"}); !soak.empty()) {
    const Result<Duration> duration = parse_duration(soak);
    if (!duration) return fail(Category::kInvalid, "minSuccessTime: " + duration.error().message);
    strategy.min_success_time = *duration;
  }
  strategy.max_failures = threshold_at(body, "maxFailures");
  strategy.max_concurrency = threshold_at(body, "maxConcurrency");
  for (const Json& entry : list_at(body, {"mandatoryDecisionGroups"})) {
    const std::int64_t index = num(entry, {"groupIndex"});
    const bool fits = index >= std::numeric_limits<int>::min() && index <= std::numeric_limits<int>::max();
    strategy.mandatory.push_back({str(entry, {"groupName"}), fits ? static_cast<int>(index) : -1});
  }
  if (const auto limit = resolve(strategy.max_failures, 1, 0); !limit) {
    return tl::unexpected(limit.error().wrap("failed to parse the provided maxFailures"));
  }
  return strategy;
}

}  // namespace fleetadm::rollout
