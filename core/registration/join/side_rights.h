// Whether one of the clusters of a join can be reached with the rights that are needed there.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/registration/join/preflight.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::join {

struct SideRight {
  const char* group;
  const char* resource;
  const char* subresource;
  const char* verb;
  bool in_namespace;  // of what is installed
};

/// Adds the check `name` to `into`, and sets its error where it failed. `flags`: what names the cluster.
void check_side(const char* name, const std::string& flags, const kube::Client& client, std::string_view ns,
                std::span<const SideRight> rights, Preflight& into);

}  // namespace fleetadm::join
