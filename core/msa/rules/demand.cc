#include "core/msa/rules/demand.h"

#include "kubeclient/base/joined.h"
#include "kubeclient/base/names.h"

namespace fleetadm::msa {
namespace {

constexpr std::string_view kDefaultValidity = "8640h0m0s";
constexpr std::string_view kValidityField = "spec.rotation.validity";
// What TokenRequest allows.
constexpr std::chrono::seconds kShortest = std::chrono::minutes(10);
constexpr std::chrono::seconds kLongest{std::int64_t{1} << 32};

}  // namespace

Result<std::int64_t> validity_seconds(std::string_view validity, std::string_view field) {
  const std::string what = std::string(field) + " \"" + std::string(validity) + "\" ";
  const Result<Duration> parsed = parse_duration(validity);
  if (!parsed) return fail(Category::kInvalid, what + "is not a duration", "write it as 24h or 1h30m");
  if (*parsed < kShortest) return fail(Category::kInvalid, what + "is too short: a token lasts at least 10m");
  if (*parsed > kLongest) return fail(Category::kInvalid, what + "is too long: a token lasts at most 136 years");
  return std::chrono::duration_cast<std::chrono::seconds>(*parsed).count();
}

Result<std::int64_t> validity_seconds(const Json& object) {
  return validity_seconds(str(object, {"spec", "rotation", "validity"}, kDefaultValidity), kValidityField);
}

Status check_account_name(const std::string& name) {
  const auto problems = dns_subdomain_problems(name);
  if (problems.empty()) return {};
  return fail(Category::kInvalid, "no ServiceAccount can be named \"" + name + "\": " + joined(problems, "; "));
}

std::optional<Instant> ends_at(const Json& object) {
  const std::int64_t seconds = num(object, {"spec", "ttlSecondsAfterCreation"});
  const auto created = parse_time(str(object, {"metadata", "creationTimestamp"}));
  if (seconds <= 0 || !created) return std::nullopt;
  const auto ttl = std::chrono::seconds(seconds);
  if (ttl > std::chrono::duration_cast<std::chrono::seconds>(Instant::max() - *created)) return std::nullopt;
  return *created + ttl;
}

}  // namespace fleetadm::msa
