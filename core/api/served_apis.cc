#include "core/api/served_apis.h"

#include <algorithm>

#include "kubeclient/base/names.h"

namespace fleetadm::api {

bool is_api_name(std::string_view text) {
  const std::size_t last = text.rfind('/');
  if (last == std::string_view::npos) return false;
  const std::string_view kind = text.substr(last + 1);
  std::string_view version = text.substr(0, last);
  if (const std::size_t slash = version.find('/'); slash != std::string_view::npos) {
    if (!is_dns_subdomain(version.substr(0, slash))) return false;
    version.remove_prefix(slash + 1);
  }
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  return is_dns_label(version) && !kind.empty() && kind.size() <= 63 && kind.front() >= 'A' && kind.front() <= 'Z' &&
         std::all_of(kind.begin(), kind.end(), alphanumeric);
}

std::string serves_api(std::string_view name) {
  return "managedCluster.scores(\"" + std::string(kServedApis) + "\").exists(s, s.name == \"" + std::string(name) + "\")";
}

}  // namespace fleetadm::api
