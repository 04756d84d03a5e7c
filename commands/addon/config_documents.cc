#include "commands/addon/config_documents.h"

#include "commands/framework/manifests.h"
#include "commands/framework/write_report.h"
#include "kubeclient/discovery/mapper.h"

namespace fleetadm::commands {
namespace {

struct ConfigDocument {
  kube::Resource resource;
  Json object;
};

Result<std::vector<ConfigDocument>> config_documents(Context& context, const kube::Client& hub, const std::string& file) {
  FLEETADM_TRY(const std::vector<LoadedManifest> loaded, load_manifests(context, {file}));
  FLEETADM_CHECK(check_manifests(loaded));
  kube::Mapper mapper(hub);
  std::vector<ConfigDocument> documents;
  for (const LoadedManifest& one : loaded) {
    FLEETADM_TRY(const kube::DiscoveredResource known,
                 mapper.by_kind(str(one.object, {"apiVersion"}), str(one.object, {"kind"})).map_error([&](const Error& error) {
                   return error.wrap(one.where());
                 }));
    if (known.resource.namespaced && namespace_of(one.object).empty()) {
      return fail(Category::kUsage, one.where() + ": the " + known.resource.kind + " has no namespace",
                  "add metadata.namespace to the document");
    }
    documents.push_back({known.resource, one.object});
  }
  return documents;
}

}  // namespace

Result<Json> apply_config_documents(Context& context, const kube::Client& hub, const std::string& file, Report& report) {
  FLEETADM_TRY(const std::vector<ConfigDocument> documents, config_documents(context, hub, file));
  Json references = Json::array();
  for (const auto& [resource, object] : documents) {
    FLEETADM_TRY(const std::optional<Json> before, hub.find(resource, namespace_of(object), name_of(object)));
    FLEETADM_TRY(const Json stored, hub.apply(resource, object));
    const bool same = before && resource_version_of(*before) == resource_version_of(stored);
    report.lines.push_back(told(context, resource, name_of(object), !before ? "created" : same ? "unchanged" : "configured"));
    report.names.push_back(full_name(resource, name_of(object)));
    Json reference{{"group", resource.group}, {"resource", resource.plural}, {"name", name_of(object)}};
    if (resource.namespaced) reference["namespace"] = namespace_of(object);
    references.push_back(std::move(reference));
  }
  return references;
}

}  // namespace fleetadm::commands
