#include "core/api/cluster_claim.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/api/agent_version.h"
#include "core/api/hosted_member.h"
#include "core/api/kinds.h"
#include "kubeclient/base/names.h"

namespace fleetadm::api {
namespace {

constexpr std::size_t kLongestName = 253;
constexpr std::size_t kLongestValue = 1024;

// The API counts characters, not bytes.
std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

bool claim_fits(std::string_view name, std::string_view value) {
  return !name.empty() && name.size() <= kLongestName && !value.empty() && characters(value) <= kLongestValue;
}

std::string told_claim(const Json& cluster, std::string_view name) {
  for (const Json& claim : list_at(cluster, {"status", "clusterClaims"})) {
    if (str(claim, {"name"}) == name) return str(claim, {"value"});
  }
  return {};
}

Status check_claim(std::string_view name, std::string_view value) {
  const std::string quoted = "\"" + std::string(name) + "\"";
  if (!is_dns_subdomain(name)) {
    return fail(Category::kUsage, quoted + " is not a valid name of a claim",
                "use lowercase letters, digits, '-' and '.', for example region.example.com");
  }
  if (name == kAgentVersionClaim || name == kHostedByClaim)
    return fail(Category::kUsage, "the claim " + quoted + " is the agent's own", "use another name");
  if (!claim_fits(name, value)) {
    return fail(Category::kUsage, "the value of claim " + quoted + " is " + (value.empty() ? "empty" : "too long"),
                "a value has 1 to " + std::to_string(kLongestValue) + " characters");
  }
  return {};
}

Json cluster_claim(std::string_view name, std::string_view value) {
  return {{"apiVersion", cluster_claims().api_version()},
          {"kind", cluster_claims().kind},
          {"metadata", {{"name", std::string(name)}}},
          {"spec", {{"value", std::string(value)}}}};
}

Result<StoredClaim> set_claim(const kube::Client& cluster, const std::string& name, const std::string& value) {
  using Outcome = StoredClaim::Outcome;
  FLEETADM_TRY(const std::optional<Json> found, cluster.find(cluster_claims(), "", name));
  if (!found) {
    FLEETADM_TRY(Json made, cluster.create(cluster_claims(), "", cluster_claim(name, value)));
    return StoredClaim{std::move(made), Outcome::kCreated};
  }
  if (str(*found, {"spec", "value"}) == value) return StoredClaim{*found, Outcome::kUnchanged};
  FLEETADM_TRY(Json changed, cluster.modify(cluster_claims(), "", name, [&](Json& claim) -> Status {
    at_or_make(claim, {"spec", "value"}) = value;
    return {};
  }));
  return StoredClaim{std::move(changed), Outcome::kChanged};
}

}  // namespace fleetadm::api
