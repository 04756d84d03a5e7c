// The Klusterlet of upstream's operator, and what comes with it in a file, as settings of this agent
// (docs/reference/registration.md#klusterlets). Every field is told: what it becomes, or that it has no effect, and why. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/install/pod_settings.h"
#include "core/registration/join/klusterlet_fields.h"
#include "kubeclient/base/result.h"

namespace fleetadm::join {

struct KlusterletSettings {
  std::string cluster_name;  // empty: the file does not say
  std::vector<std::string> agent_args;
  std::vector<std::string> external_server_urls;
  install::PodSettings pods;
  bool network_policy = false;
  std::string registration_auth;                            // empty: the usual one
  std::string hub_cluster_arn;                              // with awsirsa
  std::string managed_cluster_arn;                          // with awsirsa
  std::vector<std::pair<std::string, std::string>> claims;  // of ClusterClaims in the file
  bool hosted = false;                                      // the agent runs on another cluster
  std::string member_kubeconfig;  // then, where its Secret is in the file; it names no programs or files
  // Of the bootstrap Secret; empty where it is not in the file.
  std::string hub_server;
  std::string hub_ca_pem;
  std::string hub_token;
  std::string hub_proxy_url;
  std::vector<FieldOutcome> fields;
};

/// `documents`: one Klusterlet, and objects that are deployed with it: its bootstrap Secret, the managed cluster's kubeconfig in
/// hosted mode, and ClusterClaims are read, others told as left out. `hosted`: it is hosted, whatever it says. kUsage: no
/// Klusterlet or several, or a Secret without a kubeconfig. kUnsupported: a way of joining that this agent does not have.
Result<KlusterletSettings> read_klusterlet(const std::vector<Json>& documents, bool hosted = false);

}  // namespace fleetadm::join
