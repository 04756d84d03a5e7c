#include "kubeclient/discovery/parse.h"

namespace fleetadm::kube {

namespace {

std::string or_else(std::string value, std::string_view otherwise) { return value.empty() ? std::string(otherwise) : value; }

}  // namespace

void add_aggregated(const Json& list, Discovery& out) {
  for (const auto& group : list_at(list, {"items"})) {
    const std::string group_name = str(group, {"metadata", "name"});
    for (const auto& version : list_at(group, {"versions"})) {
      const std::string version_name = str(version, {"version"});
      if (version_name.empty()) continue;
      if (str(version, {"freshness"}) == "Stale") {
        out.failed_groups.push_back(group_name.empty() ? version_name : group_name + "/" + version_name);
        continue;
      }
      for (const auto& entry : list_at(version, {"resources"})) {
        DiscoveredResource found;
        found.resource.group = group_name;
        found.resource.version = version_name;
        found.resource.plural = str(entry, {"resource"});
        found.resource.kind = str(entry, {"responseKind", "kind"});
        found.resource.namespaced = str(entry, {"scope"}) == "Namespaced";
        found.singular = str(entry, {"singularResource"});
        found.short_names = string_list_at(entry, {"shortNames"});
        found.categories = string_list_at(entry, {"categories"});
        found.verbs = string_list_at(entry, {"verbs"});
        for (const auto& sub : list_at(entry, {"subresources"})) found.subresources.push_back(str(sub, {"subresource"}));
        // A CRD whose kind is not served yet has no responseKind.
        if (!found.resource.plural.empty() && !found.resource.kind.empty()) out.resources.push_back(std::move(found));
      }
    }
  }
}

void add_legacy(const Json& list, std::string_view group_version, Discovery& out) {
  const auto [group, version] = parse_api_version(or_else(str(list, {"groupVersion"}), group_version));
  std::vector<DiscoveredResource> found;
  std::vector<std::pair<std::string, std::string>> subresources;
  for (const auto& entry : list_at(list, {"resources"})) {
    const std::string name = str(entry, {"name"});
    if (const auto slash = name.find('/'); slash != std::string::npos) {
      subresources.emplace_back(name.substr(0, slash), name.substr(slash + 1));
      continue;
    }
    DiscoveredResource one;
    one.resource.group = group;
    one.resource.version = version;
    one.resource.plural = name;
    one.resource.kind = str(entry, {"kind"});
    one.resource.namespaced = flag(entry, {"namespaced"});
    one.singular = str(entry, {"singularName"});
    one.short_names = string_list_at(entry, {"shortNames"});
    one.categories = string_list_at(entry, {"categories"});
    one.verbs = string_list_at(entry, {"verbs"});
    if (!name.empty() && !one.resource.kind.empty()) found.push_back(std::move(one));
  }
  for (auto& [parent, sub] : subresources) {
    for (auto& one : found) {
      if (one.resource.plural == parent) one.subresources.push_back(sub);
    }
  }
  for (auto& one : found) out.resources.push_back(std::move(one));
}

Json to_json(const Discovery& discovery) {
  Json resources = Json::array();
  for (const auto& one : discovery.resources) {
    resources.push_back(Json{{"group", one.resource.group},
                             {"version", one.resource.version},
                             {"plural", one.resource.plural},
                             {"kind", one.resource.kind},
                             {"namespaced", one.resource.namespaced},
                             {"singular", one.singular},
                             {"shortNames", one.short_names},
                             {"categories", one.categories},
                             {"verbs", one.verbs},
                             {"subresources", one.subresources}});
  }
  return Json{{"resources", std::move(resources)}, {"failedGroups", discovery.failed_groups}};
}

Result<Discovery> discovery_from_json(const Json& document) {
  Discovery out;
  for (const auto& entry : list_at(document, {"resources"})) {
    DiscoveredResource one;
    one.resource.group = str(entry, {"group"});
    one.resource.version = str(entry, {"version"});
    one.resource.plural = str(entry, {"plural"});
    one.resource.kind = str(entry, {"kind"});
    one.resource.namespaced = flag(entry, {"namespaced"});
    one.singular = str(entry, {"singular"});
    one.short_names = string_list_at(entry, {"shortNames"});
    one.categories = string_list_at(entry, {"categories"});
    one.verbs = string_list_at(entry, {"verbs"});
    one.subresources = string_list_at(entry, {"subresources"});
    if (one.resource.plural.empty() || one.resource.kind.empty())
      return fail(Category::kInvalid, "the discovery cache is malformed");
    out.resources.push_back(std::move(one));
  }
  out.failed_groups = string_list_at(document, {"failedGroups"});
  if (out.resources.empty()) return fail(Category::kInvalid, "the discovery cache is empty");
  return out;
}

}  // namespace fleetadm::kube
