#include "core/proxy/rules/exposed_services.h"

#include <algorithm>
#include <utility>

#include "kubeclient/base/names.h"
#include "kubeclient/base/yaml.h"

namespace fleetadm::proxy {
namespace {

tl::unexpected<Error> wrong(const std::string& where, std::string_view what) {
  return fail(Category::kInvalid, where + ": " + std::string(what));
}

Result<std::string> text_of(const Json& value, const std::string& where) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return std::to_string(value.get<std::int64_t>());
  return wrong(where, "a text is expected");
}

Result<std::vector<std::string>> clusters_of(const Json& value, const std::string& where) {
  // Empty is not absent: an empty list would have to mean none, and is rather a mistake.
  if (!value.is_array() || value.empty()) return wrong(where, "a list of cluster names is expected");
  std::vector<std::string> out;
  for (const Json& one : value) {
    if (!one.is_string() || !is_dns_subdomain(one.get<std::string>())) return wrong(where, "a list of cluster names is expected");
    out.push_back(one.get<std::string>());
  }
  return out;
}

Result<ExposedService> entry_of(const Json& entry, const std::string& where) {
  if (!entry.is_object()) return wrong(where, "an object is expected");
  ExposedService out;
  for (const auto& [name, value] : entry.items()) {
    const std::string field = where + "." + name;
    if (name == "namespace") {
      FLEETADM_TRY(out.ns, text_of(value, field));
    } else if (name == "service") {
      FLEETADM_TRY(out.name, text_of(value, field));
    } else if (name == "port") {
      FLEETADM_TRY(out.port, text_of(value, field));
    } else if (name == "protocol") {
      FLEETADM_TRY(out.protocol, text_of(value, field));
    } else if (name == "clusters") {
      FLEETADM_TRY(out.clusters, clusters_of(value, field));
    } else {
      return wrong(field, "no such field");
    }
  }
  if (!is_dns_label(out.ns)) return wrong(where + ".namespace", "the name of a namespace is expected");
  if (!is_dns_label(out.name)) return wrong(where + ".service", "the name of a service is expected");
  if (!out.protocol.empty() && out.protocol != "http" && out.protocol != "https")
    return wrong(where + ".protocol", "http or https is expected");
  return out;
}

}  // namespace

Result<ExposedServices> ExposedServices::parse(const Json& config_map) {
  ExposedServices out;
  const auto data = config_map.find("data");
  if (data == config_map.end() || !data->is_object()) return out;
  for (const auto& [key, text] : data->items()) {
    if (!text.is_string()) return wrong(key, "a text is expected");
    auto documents = parse_yaml_documents(text.get<std::string>());
    if (!documents) return fail(documents.error().wrap(key));
    for (const YamlDocument& document : *documents) {
      if (!document.value.is_array()) return wrong(key, "a list is expected");
      for (std::size_t i = 0; i < document.value.size(); ++i) {
        FLEETADM_TRY(auto entry, entry_of(document.value[i], key + "[" + std::to_string(i) + "]"));
        out.entries_.push_back(std::move(entry));
      }
    }
  }
  return out;
}

bool ExposedServices::allows(std::string_view cluster, const ServiceTarget& service) const {
  return std::ranges::any_of(entries_, [&](const ExposedService& entry) {
    return entry.ns == service.ns && entry.name == service.name && (entry.port.empty() || entry.port == service.port) &&
           (entry.protocol.empty() || entry.protocol == service.protocol) &&
           (entry.clusters.empty() || std::ranges::find(entry.clusters, cluster) != entry.clusters.end());
  });
}

}  // namespace fleetadm::proxy
