#include "core/api/agent_identity.h"

#include <algorithm>
#include <set>

#include "core/api/certificate_request.h"
#include "core/api/kinds.h"
#include "kubeclient/base/names.h"

namespace fleetadm::api {
namespace {

tl::unexpected<Error> no_agent(std::string why) { return fail(Category::kInvalid, std::move(why)); }

}  // namespace

Result<std::string> agent_of_cluster(std::string_view common_name, std::string_view cluster) {
  // The separator belongs to the comparison: "c1" is a prefix of "c10".
  const std::string prefix = std::string(kClusterGroupPrefix) + std::string(cluster) + ":";
  if (!common_name.starts_with(prefix)) {
    return no_agent("common name " + quoted_text(std::string(common_name)) + " is not of cluster " + std::string(cluster));
  }
  const std::string_view agent = common_name.substr(prefix.size());
  if (agent.empty()) return no_agent("the common name has no agent");
  if (agent.find(':') != std::string_view::npos) {
    return no_agent("common name " + quoted_text(std::string(common_name)) + " has too many parts");
  }
  if (std::ranges::any_of(agent, [](unsigned char c) { return c <= 0x20 || c >= 0x7f; })) {
    return no_agent("the agent's name " + quoted_text(std::string(agent)) + " has characters that no agent uses");
  }
  return std::string(agent);
}

Result<AgentIdentity> read_agent_identity(const pki::Subject& subject) {
  const std::string_view name = subject.common_name;
  if (!name.starts_with(kClusterGroupPrefix)) return no_agent("common name " + quoted_text(std::string(name)) + " is no agent's");
  AgentIdentity identity;
  const std::string_view rest = name.substr(kClusterGroupPrefix.size());
  identity.cluster = rest.substr(0, rest.find(':'));
  if (!is_dns_label(identity.cluster)) return no_agent("common name " + quoted_text(std::string(name)) + " names no cluster");
  FLEETADM_TRY(identity.agent, agent_of_cluster(name, identity.cluster));
  const std::set<std::string> organizations(subject.organizations.begin(), subject.organizations.end());
  if (organizations !=
      std::set<std::string>{std::string(kClusterGroupPrefix) + identity.cluster, std::string(kManagedClustersGroup)}) {
    return no_agent("the organizations beside common name " + quoted_text(std::string(name)) + " are not those of its agent");
  }
  if (!subject.organizational_units.empty()) {
    return no_agent("the subject has more than a common name and organizations");
  }
  return identity;
}

bool is_aws_agent(std::string_view user, const std::vector<std::string>& groups, std::string_view cluster) {
  return !cluster.empty() && user == cluster &&
         std::ranges::find(groups, std::string(kAwsGroupPrefix) + std::string(cluster)) != groups.end();
}

}  // namespace fleetadm::api
