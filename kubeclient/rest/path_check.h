// What must hold of names before they become a URL's path.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/rest/resource.h"

namespace fleetadm::kube {

/// Kubernetes' own rule for names in paths: not "." or "..", no "/" and no "%".
inline bool is_path_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find_first_of("/%") == std::string_view::npos;
}

/// A named object: an empty name would turn a DELETE into one of the whole collection.
inline Status check_named(const Resource& resource, std::string_view ns, std::string_view name) {
  if (!is_path_name(name)) {
    return fail(Category::kUsage, "\"" + std::string(name) + "\" is not a name of " + resource.qualified());
  }
  if (resource.namespaced && !is_path_name(ns)) {
    return fail(Category::kUsage,
                resource.qualified() + " \"" + std::string(name) +
                    "\": " + (ns.empty() ? "a namespace is needed" : "\"" + std::string(ns) + "\" is not a namespace's name"));
  }
  return {};
}

}  // namespace fleetadm::kube
