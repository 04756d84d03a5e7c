// An agent on EKS that comes to its hub, which is on EKS too, with its own identity of AWS.
#pragma once

#include <memory>

#include "core/registration/agent/driver.h"
#include "core/registration/aws/names.h"

namespace fleetadm::registration::agent {

/// `suffix`: of both roles; empty: the one of both ARNs.
std::shared_ptr<const RegistrationDriver> awsirsa_driver(const aws::EksCluster& hub, const aws::EksCluster& member,
                                                         std::string suffix = {});

}  // namespace fleetadm::registration::agent
