// Clusters of EKS that register with their own identity of AWS: instead of a certificate each gets a role of IAM that is somebody
// in the hub's cluster (docs/reference/registration.md#other-ways-to-register).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/registration/aws/identities.h"
#include "core/registration/hub/driver.h"
#include "kubeclient/watch/informer.h"

namespace re2 {
class RE2;
}

namespace fleetadm::registration::hub {

struct AwsIrsaOptions {
  std::string hub_arn;                // of the hub's own EKS cluster
  std::vector<std::string> patterns;  // regular expressions: clusters with such an ARN are accepted without a person
  aws::Tags tags;                     // of what is made in AWS
  aws::Environment environment;
};

class AwsIrsaDriver final : public RegistrationDriver {
 public:
  /// `clusters`: the hub's ManagedClusters. kUsage for options that are wrong.
  static Result<std::shared_ptr<AwsIrsaDriver>> make(AwsIrsaOptions options, std::shared_ptr<kube::Informer> clusters);

  bool handles(const Json& cluster) const override;
  /// Where its whole ARN matches one of the patterns.
  bool trusts(const Json& cluster) const override;
  /// The role, then the access entry. kInvalid for a cluster that expects another hub, or whose ARN is another cluster's.
  Status grant(const Json& cluster, const std::stop_token& stop) override;
  /// The access entry, then the role; neither where another cluster has been accepted with the same ARN.
  Status withdraw(const Json& cluster, const std::stop_token& stop) override;

 private:
  AwsIrsaDriver(aws::EksCluster hub, aws::Identities identities, std::vector<std::shared_ptr<re2::RE2>> patterns,
                std::shared_ptr<kube::Informer> clusters);
  /// Another accepted cluster with the same role; empty: there is none.
  std::string other_owner(const Json& cluster) const;

  aws::EksCluster hub_;
  aws::Identities identities_;
  std::vector<std::shared_ptr<re2::RE2>> patterns_;
  std::shared_ptr<kube::Informer> clusters_;
};

/// What options of that kind have to be like, before there is a hub: kUsage.
Status check_awsirsa_options(const AwsIrsaOptions& options);

/// "KEY=VALUE" of each; kUsage for what is none.
Result<aws::Tags> parse_tags(const std::vector<std::string>& texts);

}  // namespace fleetadm::registration::hub
