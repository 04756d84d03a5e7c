#include "core/registration/agent/claims.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "core/api/agent_version.h"
#include "core/api/cluster_claim.h"
#include "core/api/hosted_member.h"

namespace fleetadm::registration::agent {
namespace {

constexpr const char* kSpokeOnlyLabel = "open-cluster-management.io/spoke-only";
constexpr std::array<std::string_view, 6> kReserved = {"id.k8s.io",
                                                       "kubeversion.open-cluster-management.io",
                                                       "platform.open-cluster-management.io",
                                                       "product.open-cluster-management.io",
                                                       api::kAgentVersionClaim,
                                                       api::kHostedByClaim};

void collect(const std::vector<Json>& objects, std::map<std::string, std::string>& into) {
  for (const Json& object : objects) {
    std::string name = name_of(object);
    std::string value = str(object, {"spec", "value"});
    if (!api::claim_fits(name, value) || object_at(object, {"metadata", "labels"}).contains(kSpokeOnlyLabel)) continue;
    into[std::move(name)] = std::move(value);
  }
}

bool is_reserved(const std::string& name, const ClaimOptions& options) {
  return std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end() ||
         std::any_of(options.reserved_suffixes.begin(), options.reserved_suffixes.end(),
                     [&name](const std::string& suffix) { return !suffix.empty() && name.ends_with(suffix); });
}

}  // namespace

ChosenClaims choose_claims(const std::vector<Json>& cluster_claims, const std::vector<Json>& properties,
                           const ClaimOptions& options) {
  std::map<std::string, std::string> all;
  collect(cluster_claims, all);
  collect(properties, all);
  if (!options.agent_version.empty()) all[std::string(api::kAgentVersionClaim)] = options.agent_version;
  all.erase(std::string(api::kHostedByClaim));  // nobody else knows
  if (!options.hosted_by.empty()) all[std::string(api::kHostedByClaim)] = options.hosted_by;
  ChosenClaims chosen;
  std::vector<Claim> others;
  for (const auto& [name, value] : all) {
    (is_reserved(name, options) ? chosen.claims : others).push_back({name, value});
  }
  const std::size_t kept = std::min(others.size(), options.max_custom);
  chosen.left_out = others.size() - kept;
  chosen.claims.insert(chosen.claims.end(), others.begin(), others.begin() + static_cast<std::ptrdiff_t>(kept));
  return chosen;
}

Json claims_json(const std::vector<Claim>& claims) {
  Json list = Json::array();
  for (const Claim& claim : claims) list.push_back({{"name", claim.name}, {"value", claim.value}});
  return list;
}

}  // namespace fleetadm::registration::agent
