#include "core/registration/agent/identity.h"

#include <algorithm>
#include <set>

#include "core/api/kinds.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/names.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::registration::agent {
namespace {

constexpr int kAgentIdLength = 5;
constexpr std::size_t kLongestAgentId = 253;

// A colon would shift the parts of the common name; the rest keeps the ID printable wherever it is shown.
bool is_agent_id(std::string_view text) {
  return !text.empty() && text.size() <= kLongestAgentId && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

std::set<std::string> as_set(const std::vector<std::string>& list) { return {list.begin(), list.end()}; }

}  // namespace

std::string common_name(const Identity& identity) {
  return std::string(api::kClusterGroupPrefix) + identity.cluster + ":" + identity.agent;
}

pki::Subject subject_of(const Identity& identity) {
  return {common_name(identity),
          {std::string(api::kClusterGroupPrefix) + identity.cluster, std::string(api::kManagedClustersGroup)},
          {}};
}

bool same_subject(const pki::Subject& a, const pki::Subject& b) {
  return a.common_name == b.common_name && as_set(a.organizations) == as_set(b.organizations) &&
         as_set(a.organizational_units) == as_set(b.organizational_units);
}

Result<Identity> choose_identity(const Identity& flags, const Identity& stored) {
  Identity chosen;
  chosen.cluster = !flags.cluster.empty() ? flags.cluster : !stored.cluster.empty() ? stored.cluster : random_uuid();
  chosen.agent = !flags.agent.empty() ? flags.agent : !stored.agent.empty() ? stored.agent : random_suffix(kAgentIdLength);
  if (!is_dns_label(chosen.cluster)) {
    return fail(Category::kUsage, "cluster name \"" + chosen.cluster + "\" is not a DNS label",
                "use at most 63 lower-case letters, digits and '-', beginning and ending with a letter or digit");
  }
  if (!is_agent_id(chosen.agent)) {
    return fail(Category::kUsage, "agent ID \"" + chosen.agent + "\" is not valid", "use letters, digits, '-', '_' and '.' only");
  }
  return chosen;
}

}  // namespace fleetadm::registration::agent
