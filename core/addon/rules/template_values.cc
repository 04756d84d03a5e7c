#include "core/addon/rules/template_values.h"

#include <array>

#include "core/addon/rules/names.h"
#include "core/cel/pattern.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::addon {
namespace {

constexpr std::string_view kHubKubeconfig = "HUB_KUBECONFIG";
constexpr std::string_view kClusterName = "CLUSTER_NAME";
constexpr std::string_view kInstallNamespace = "INSTALL_NAMESPACE";
constexpr std::string_view kPrivateInstallNamespace = "__INSTALL_NAMESPACE";
constexpr std::string_view kPrivateProxy = "__PROXY";

/// Variables by whose names upstream keeps settings. A variable of a user with such a name hides the setting where the
/// configuration itself has none.
struct PrivateSetting {
  std::string_view variable;
  std::string_view field;
  std::string_view complaint;
};
constexpr std::array<PrivateSetting, 3> kPrivateSettings{
    {{"__NODE_PLACEMENT", "nodePlacement", "node placement value is invalid"},
     {"__REGISTRIES", "registries", "registries value is invalid"},
     {"__RESOURCE_REQUIREMENTS", "resourceRequirements", "resource requirements value is invalid"}}};

const Json* not_null(const Json* config, std::string_view field) {
  const Json* found = config == nullptr ? nullptr : find(*config, {"spec", field});
  return found == nullptr || found->is_null() ? nullptr : found;
}

/// The member of this name in any case, as Go's decoder looks for it.
const Json* member_in_any_case(const Json& object, std::string_view name) {
  const Json* found = nullptr;
  if (!object.is_object()) return nullptr;
  for (const auto& [key, member] : object.items()) {
    if (lower_case(key) == name && (found == nullptr || key == name)) found = &member;
  }
  return found;
}

Result<std::string> text_in_any_case(const Json& object, std::string_view name) {
  const Json* found = member_in_any_case(object, name);
  if (found == nullptr || found->is_null()) return std::string();
  if (!found->is_string()) return fail(Category::kInvalid, std::string(name) + " is not a string");
  return found->get<std::string>();
}

Result<std::vector<ImageMirror>> annotated_mirrors(const std::string& text) {
  std::vector<ImageMirror> mirrors;
  if (text.empty()) return mirrors;
  FLEETADM_TRY(const Json parsed, parse_json(text));
  if (!parsed.is_object() && !parsed.is_null()) return fail(Category::kInvalid, "not a JSON object");
  const Json* list = member_in_any_case(parsed, "registries");
  if (list == nullptr || list->is_null()) return mirrors;
  if (!list->is_array()) return fail(Category::kInvalid, "registries is not a list");
  for (const Json& entry : *list) {
    if (!entry.is_object() && !entry.is_null()) return fail(Category::kInvalid, "an entry of registries is not an object");
    ImageMirror mirror;
    FLEETADM_TRY(mirror.source, text_in_any_case(entry, "source"));
    FLEETADM_TRY(mirror.mirror, text_in_any_case(entry, "mirror"));
    mirrors.push_back(std::move(mirror));
  }
  return mirrors;
}

Result<std::vector<ImageMirror>> mirrors_of(const Json* config, const Json* cluster) {
  std::vector<ImageMirror> mirrors;
  if (cluster != nullptr) {
    Result<std::vector<ImageMirror>> annotated = annotated_mirrors(annotation_of(*cluster, kImageRegistriesAnnotation));
    if (!annotated) return fail(annotated.error().wrap(std::string(kImageRegistriesAnnotation)));
    mirrors = std::move(*annotated);
  }
  const Json* configured = not_null(config, "registries");
  if (configured == nullptr) return mirrors;
  mirrors.clear();
  for (const Json& entry : *configured) mirrors.push_back({str(entry, {"source"}), str(entry, {"mirror"})});
  return mirrors;
}

Result<std::vector<ResourceRule>> resource_rules(const Json* config) {
  std::vector<ResourceRule> rules;
  const Json* configured = not_null(config, "resourceRequirements");
  if (configured == nullptr) return rules;
  for (const Json& entry : *configured) {
    const std::string id = str(entry, {"containerID"});
    std::string pattern = "^";
    int parts = 0;
    for (std::size_t at = 0; at <= id.size(); ++parts) {
      const std::size_t end = std::min(id.find(':', at), id.size());
      const std::string part = id.substr(at, end - at);
      if (parts > 0) pattern += ':';
      pattern += part == "*" ? ".+" : part;
      at = end + 1;
    }
    if (parts != 3) return fail(Category::kInvalid, "invalid ContainerID: " + id);
    auto compiled = cel::compile_pattern(pattern + "$");
    if (compiled) rules.push_back({std::move(*compiled), object_at(entry, {"resources"})});
  }
  return rules;
}

Result<ProxySettings> proxy_of(const Json* config) {
  ProxySettings proxy;
  if (config == nullptr) return proxy;
  const Json& settings = object_at(*config, {"spec", "proxyConfig"});
  proxy.http = str(settings, {"httpProxy"});
  proxy.https = str(settings, {"httpsProxy"});
  proxy.no_proxy = str(settings, {"noProxy"});
  Result<std::string> bundle = base64_decode(str(settings, {"caBundle"}));
  if (!bundle) return fail(bundle.error().wrap("proxyConfig.caBundle"));
  proxy.ca_bundle = std::move(*bundle);
  return proxy;
}

/// Takes the private settings out of the variables of a user.
void take_private(TemplateValues& values, const Json* config) {
  for (const PrivateSetting& setting : kPrivateSettings) {
    const auto named = values.variables.find(setting.variable);
    if (named == values.variables.end()) continue;
    values.variables.erase(named);
    if (not_null(config, setting.field) == nullptr && !values.workload_error) values.workload_error = setting.complaint;
  }
  if (const auto named = values.variables.find(kPrivateProxy); named != values.variables.end()) values.variables.erase(named);
  if (const auto named = values.variables.find(kPrivateInstallNamespace); named != values.variables.end()) {
    values.install_namespace = named->second;
    values.variables.erase(named);
  }
}

}  // namespace

Result<TemplateValues> template_values(const Json& addon_template, const Json* config, const Json* cluster,
                                       std::string_view cluster_name) {
  TemplateValues values;
  const Json* registration = find(addon_template, {"spec", "registration"});
  const bool registers = registration != nullptr && !registration->is_null();
  if (registers) values.variables[std::string(kHubKubeconfig)] = "/managed/hub-kubeconfig/kubeconfig";
  if (config != nullptr) {
    for (const Json& variable : list_at(*config, {"spec", "customizedVariables"})) {
      values.variables[str(variable, {"name"})] = str(variable, {"value"});
    }
  }
  take_private(values, config);
  if (config != nullptr) {
    if (std::string install = str(*config, {"spec", "agentInstallNamespace"}); !install.empty())
      values.install_namespace = std::move(install);
    values.node_placement = not_null(config, "nodePlacement");
  }
  values.variables[std::string(kClusterName)] = cluster_name;
  if (!values.install_namespace.empty()) values.variables[std::string(kInstallNamespace)] = values.install_namespace;

  if (registers) values.environment.emplace_back(kHubKubeconfig, values.variables.find(kHubKubeconfig)->second);
  values.environment.emplace_back(kClusterName, cluster_name);
  if (!values.install_namespace.empty()) values.environment.emplace_back(kInstallNamespace, values.install_namespace);

  FLEETADM_TRY(values.mirrors, mirrors_of(config, cluster));
  FLEETADM_TRY(values.proxy, proxy_of(config));
  FLEETADM_TRY(values.resources, resource_rules(config));
  return values;
}

}  // namespace fleetadm::addon
