// The token of a role for an EKS cluster, as `aws eks get-token --role` prints it: a presigned request for the role's identity,
// which the cluster sends to STS. For where there is no such program.
#pragma once

#include <memory>

#include "core/registration/aws/names.h"
#include "core/registration/aws/service.h"

namespace fleetadm::registration::aws {

/// Asks STS as the role; the pod's own credentials must be allowed to assume it.
Result<std::string> eks_token(const Services& services, const EksCluster& cluster, const std::string& role_arn,
                              const std::stop_token& stop);

/// The same as a source for requests, which asks anew in time.
std::shared_ptr<kube::CredentialSource> eks_token_source(std::shared_ptr<const Services> services, EksCluster cluster,
                                                         std::string role_arn);

}  // namespace fleetadm::registration::aws
