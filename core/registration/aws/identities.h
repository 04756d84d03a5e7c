// The identities of members in the hub's account and cluster: a role of IAM for each, and an access entry of EKS that makes it
// somebody in the hub's cluster (docs/reference/registration.md#other-ways-to-register).
#pragma once

#include <map>
#include <stop_token>
#include <string>

#include "core/registration/aws/names.h"
#include "core/registration/aws/service.h"

namespace fleetadm::registration::aws {

using Tags = std::map<std::string, std::string>;

/// Thread-safe. Each call is safe to repeat: what is there, or gone, already is success.
class Identities {
 public:
  Identities(std::shared_ptr<const Services> services, EksCluster hub, Tags tags)
      : services_(std::move(services)), hub_(std::move(hub)), tags_(std::move(tags)) {}

  Status create_role(const std::string& name, const Json& trust_policy, const std::stop_token& stop) const;
  Status delete_role(const std::string& name, const std::stop_token& stop) const;
  /// The role `principal` (an ARN) is this user of this group in the hub's cluster. A role that was made a moment ago may not be
  /// known yet: kUnavailable.
  Status create_access_entry(const std::string& principal, const std::string& user, const std::string& group,
                             const std::stop_token& stop) const;
  Status delete_access_entry(const std::string& principal, const std::stop_token& stop) const;

 private:
  Status iam(const std::string& action, const std::string& parameters, const std::stop_token& stop) const;
  std::string entries_path() const;

  std::shared_ptr<const Services> services_;
  EksCluster hub_;
  Tags tags_;
};

}  // namespace fleetadm::registration::aws
