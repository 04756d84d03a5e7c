// What a person who helps needs to see of a hub or a managed cluster, without its secrets: objects with their conditions, events,
// logs, versions and metrics.
#pragma once

#include <map>
#include <string>

#include "kubeclient/base/clock.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::commands {

/// Files by their names in the bundle. What could not be read is told in missing.txt.
using BundleFiles = std::map<std::string, std::string>;

/// What the cluster is.
struct BundleOf {
  bool hub = false;
  bool joined = false;
  std::string hosting;  // the namespace with the agents that it hosts; empty: it hosts none
};
/// Lists are the first 500 objects, logs the last 2,000 lines of each container.
BundleFiles collect_bundle(const kube::Client& client, const BundleOf& of);

/// An object for a bundle: no managed fields, no values of Secrets, environment variables and add-on variables, of manifests only
/// what they are, and no text that looks like a credential.
Json redact_object(Json object);

/// A tar file, readable by its owner only, in the place of whatever had that name.
Status write_bundle(const std::string& path, const BundleFiles& files);

}  // namespace fleetadm::commands
