#include "commands/fleet/pod_flags.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "commands/framework/node_placement.h"
#include "kubeclient/base/names.h"
#include "kubeclient/base/quantity.h"

namespace fleetadm::commands {

Status check_proxy_url(const std::string& flag, const std::string& url) {
  static constexpr std::array<std::string_view, 3> kSchemes = {"http://", "https://", "socks5://"};
  const bool good = std::any_of(kSchemes.begin(), kSchemes.end(),
                                [&](std::string_view scheme) { return url.starts_with(scheme) && url.size() > scheme.size(); });
  const bool plain = std::none_of(url.begin(), url.end(), [](unsigned char c) { return c <= 0x20 || c == 0x7f; });
  if (url.empty() || (good && plain)) return {};
  return fail(Category::kUsage, flag + " is not an http, https or socks5 URL", "for example: http://gateway.example.com:3128");
}

void pod_flags(FlagSet& flags, PodOptions& options, const std::string& whose) {
  node_placement_flags(flags, options.node_selector, options.tolerations, whose);
  flags.text(&options.priority_class, "priority-class", "Existing PriorityClass of the pods of " + whose).value_name = "NAME";
  flags
      .comma_texts(&options.requests, "resource-requests",
                   "Resources that each container of " + whose + " requests, instead of the usual ones")
      .value_name = "RESOURCE=QUANTITY,...";
  flags
      .comma_texts(&options.limits, "resource-limits",
                   "Limits of the resources of each container of " + whose + ", instead of the usual ones")
      .value_name = "RESOURCE=QUANTITY,...";
  flags.text(&options.http_proxy, "http-proxy", "Proxy of the pods for HTTP (HTTP_PROXY)").value_name = "URL";
  flags.text(&options.https_proxy, "https-proxy", "Proxy of the pods for HTTPS (HTTPS_PROXY); never used within the cluster")
      .value_name = "URL";
  flags.text(&options.no_proxy, "no-proxy", "Further hosts that the pods reach without a proxy (NO_PROXY)").value_name = "HOST,…";
}

namespace {

Status check_quantities(const std::string& flag, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const auto [resource, quantity] = parted(word, '=');
    if (qualified_name_problems(resource).empty() && Quantity::parse(quantity)) continue;
    return fail(Category::kUsage, flag + " \"" + word + "\" is not RESOURCE=QUANTITY",
                "for example: " + flag + " cpu=100m,memory=128Mi");
  }
  return {};
}

Json quantity_map(const std::vector<std::string>& words) {
  Json all = Json::object();
  for (const std::string& word : words) {
    const auto [resource, quantity] = parted(word, '=');
    all[resource] = quantity;
  }
  return all;
}

/// Null: neither was given.
Json resources_of(const PodOptions& options) {
  if (options.requests.empty() && options.limits.empty()) return nullptr;
  Json resources = Json::object();
  if (!options.requests.empty()) resources["requests"] = quantity_map(options.requests);
  if (!options.limits.empty()) resources["limits"] = quantity_map(options.limits);
  return resources;
}

}  // namespace

Status validate_pod_options(const PodOptions& options) {
  FLEETADM_CHECK(validate_node_placement(options.node_selector, options.tolerations));
  if (!options.priority_class.empty() && !is_dns_subdomain(options.priority_class)) {
    return fail(Category::kUsage, "--priority-class \"" + options.priority_class + "\" is not a valid name",
                "list what there is: kubectl get priorityclasses");
  }
  FLEETADM_CHECK(check_quantities("--resource-requests", options.requests));
  FLEETADM_CHECK(check_quantities("--resource-limits", options.limits));
  FLEETADM_CHECK(check_proxy_url("--http-proxy", options.http_proxy));
  FLEETADM_CHECK(check_proxy_url("--https-proxy", options.https_proxy));
  if (!options.no_proxy.empty() && options.http_proxy.empty() && options.https_proxy.empty())
    return fail(Category::kUsage, "--no-proxy requires --http-proxy or --https-proxy");
  return {};
}

install::PodSettings pod_settings(const PodOptions& options) {
  return {node_selector_of(options.node_selector),
          tolerations_of(options.tolerations),
          options.priority_class,
          resources_of(options),
          Json::array(),
          options.http_proxy,
          options.https_proxy,
          options.no_proxy};
}

}  // namespace fleetadm::commands
