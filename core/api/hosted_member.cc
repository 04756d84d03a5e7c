#include "core/api/hosted_member.h"

#include <algorithm>
#include <sstream>

#include "core/api/cluster_claim.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::api {

std::string hosted_member_secret(std::string_view cluster) { return std::string(cluster) + ".member"; }
std::string hosted_bootstrap_secret(std::string_view cluster) { return std::string(cluster) + ".bootstrap"; }
std::string hosted_credential_secret(std::string_view cluster) {
  return std::string(cluster) + std::string(kHostedCredentialSuffix);
}

std::vector<std::string> hosted_bootstraps(const Json& secret) {
  std::vector<std::string> names;
  std::istringstream list(annotation_of(secret, kHostedBootstrapAnnotation));
  for (std::string name; std::getline(list, name, ',');) {
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

std::string hosted_by(const Json& cluster) { return told_claim(cluster, kHostedByClaim); }

const std::vector<std::string_view>& hosted_member_flags() {
  static const std::vector<std::string_view> kFlags = {"agent-id",
                                                       "cluster-labels",
                                                       "cluster-annotations",
                                                       "spoke-external-server-urls",
                                                       "client-cert-expiration-seconds",
                                                       "hub-connection-timeout",
                                                       "addon-driver",
                                                       "addon-token-expiration-seconds",
                                                       "max-custom-cluster-claims",
                                                       "report-figures",
                                                       "reserved-cluster-claim-suffixes"};
  return kFlags;
}

Status check_hosted_member_arg(std::string_view arg) {
  const auto& flags = hosted_member_flags();
  const auto equals = arg.find('=');
  if (arg.starts_with("--") && equals != std::string_view::npos &&
      std::find(flags.begin(), flags.end(), arg.substr(2, equals - 2)) != flags.end())
    return {};
  std::vector<std::string> names;
  for (const std::string_view flag : flags) names.push_back("--" + std::string(flag));
  return fail(Category::kUsage, "\"" + std::string(arg.substr(0, equals)) + "\" cannot be set for one hosted member",
              "as --flag=value, with one of: " + joined(names, ", "));
}

}  // namespace fleetadm::api
