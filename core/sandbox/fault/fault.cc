#include "core/sandbox/fault/fault.h"

#include <algorithm>

namespace fleetadm::sandbox {
namespace {

constexpr Duration kLongestDelay = std::chrono::minutes(10);
constexpr Duration kFarthestClock = std::chrono::hours(24 * 365 * 50);

tl::unexpected<Error> refuse(const std::string& why) { return fail(Category::kUsage, why); }

double real_at(const Json& json, std::string_view name, double otherwise) {
  const Json* value = find(json, {name});
  return value != nullptr && value->is_number() ? value->get<double>() : otherwise;
}

Status read_duration(const Json& json, std::string_view name, Duration& into) {
  const auto text = str(json, {name});
  if (text.empty()) return {};
  FLEETADM_TRY(into, parse_duration(text));
  return {};
}

}  // namespace

const std::vector<std::string>& fault_kinds() {
  static const std::vector<std::string> names = {"latency", "429", "500", "cut", "partition", "expired-certificate", "clock"};
  return names;
}

std::string_view fault_kind_name(FaultKind kind) { return fault_kinds()[static_cast<std::size_t>(kind)]; }

Status check_fault(const Fault& fault) {
  const bool filtered = !fault.verbs.empty() || !fault.resources.empty() || !fault.users.empty();
  const std::string kind(fault_kind_name(fault.kind));
  if (!fault.strikes_requests() && (filtered || fault.probability != 1 || fault.count != 0))
    return refuse("a fault \"" + kind + "\" concerns the whole cluster: it takes no filter, probability or count");
  if (!(fault.probability > 0 && fault.probability <= 1)) return refuse("a probability is more than 0 and at most 1");
  if (fault.count < 0) return refuse("a count is not negative");
  if (fault.lasts < Duration::zero()) return refuse("a duration is not negative");
  if (fault.bytes < 0 || (fault.bytes > 0 && fault.kind != FaultKind::kCut)) return refuse("only streams are cut by size");
  if (fault.silent && fault.kind != FaultKind::kPartition) return refuse("only a partition is silent");
  if (fault.kind == FaultKind::kClock) {
    if (fault.amount == Duration::zero()) return refuse("a clock's offset is not zero");
    if (fault.amount > kFarthestClock || fault.amount < -kFarthestClock) return refuse("a clock is at most 50 years off");
    return {};
  }
  if (fault.amount < Duration::zero()) return refuse("a duration is not negative");
  if (fault.kind == FaultKind::kLatency && (fault.amount == Duration::zero() || fault.amount > kLongestDelay))
    return refuse("a delay is more than zero and at most 10m");
  return {};
}

Json fault_json(const Fault& fault) {
  Json out = {{"kind", fault_kind_name(fault.kind)}};
  if (!fault.id.empty()) out["id"] = fault.id;
  const auto list = [&](const char* name, const std::vector<std::string>& values) {
    if (!values.empty()) out[name] = values;
  };
  list("clusters", fault.clusters);
  list("verbs", fault.verbs);
  list("resources", fault.resources);
  list("users", fault.users);
  if (fault.probability != 1) out["probability"] = fault.probability;
  if (fault.count != 0) out["count"] = fault.count;
  if (fault.lasts != Duration::zero()) out["lasts"] = format_duration(fault.lasts);
  if (fault.amount != Duration::zero()) out["amount"] = format_duration(fault.amount);
  if (fault.bytes != 0) out["bytes"] = fault.bytes;
  if (fault.silent) out["silent"] = true;
  return out;
}

Result<Fault> parse_fault(const Json& json) {
  Fault fault;
  const auto& kinds = fault_kinds();
  const auto at = std::find(kinds.begin(), kinds.end(), str(json, {"kind"}));
  if (at == kinds.end()) return fail(Category::kUsage, "there is no fault \"" + str(json, {"kind"}) + "\"");
  fault.kind = static_cast<FaultKind>(at - kinds.begin());
  fault.id = str(json, {"id"});
  fault.clusters = string_list_at(json, {"clusters"});
  fault.verbs = string_list_at(json, {"verbs"});
  fault.resources = string_list_at(json, {"resources"});
  fault.users = string_list_at(json, {"users"});
  fault.probability = real_at(json, "probability", 1);
  fault.count = num(json, {"count"});
  fault.bytes = num(json, {"bytes"});
  fault.silent = flag(json, {"silent"});
  FLEETADM_CHECK(read_duration(json, "lasts", fault.lasts));
  FLEETADM_CHECK(read_duration(json, "amount", fault.amount));
  FLEETADM_CHECK(check_fault(fault));
  return fault;
}

}  // namespace fleetadm::sandbox
