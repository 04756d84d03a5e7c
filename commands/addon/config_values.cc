#include "commands/addon/config_values.h"

#include <algorithm>
#include <map>

#include "commands/framework/node_placement.h"
#include "kubeclient/base/names.h"

namespace fleetadm::commands {
namespace {

constexpr std::size_t kLongestValue = 1024;

bool is_variable(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && name.size() <= 255 && letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

/// Replaces the entry whose `member` is `key`, or appends one.
void put_entry(Json& list, const char* member, const std::string& key, Json entry) {
  if (!list.is_array()) list = Json::array();
  for (Json& one : list) {
    if (str(one, {member}) != key) continue;
    one = std::move(entry);
    return;
  }
  list.push_back(std::move(entry));
}

std::string told_toleration(const Json& one) {
  std::string text = str(one, {"key"}, "every taint");
  if (str(one, {"operator"}, "Equal") == "Equal") text += "=" + str(one, {"value"});
  const std::string effect = str(one, {"effect"});
  return effect.empty() ? text : text + ":" + effect;
}

}  // namespace

bool ConfigValues::none() const {
  return variables.empty() && node_selector.empty() && tolerations.empty() && registries.empty() && http_proxy.empty() &&
         https_proxy.empty() && no_proxy.empty() && install_namespace.empty();
}

void bind_config_values(FlagSet& flags, ConfigValues& values) {
  node_placement_flags(flags, values.node_selector, values.tolerations, "the agent");
  flags.comma_texts(&values.registries, "registry", "Registry or image prefix to be replaced by another").value_name =
      "SOURCE=MIRROR";
  flags.text(&values.http_proxy, "http-proxy", "Proxy for HTTP").value_name = "URL";
  flags.text(&values.https_proxy, "https-proxy", "Proxy for HTTPS").value_name = "URL";
  flags.text(&values.no_proxy, "no-proxy", "Hosts without a proxy").value_name = "HOST,…";
  flags.text(&values.install_namespace, "install-namespace", "Namespace of the agent on the clusters").value_name = "NAMESPACE";
}

Status validate_config_values(const ConfigValues& values) {
  for (const std::string& word : values.variables) {
    FLEETADM_CHECK(need_value(word, "KEY=VALUE"));
    const auto [name, value] = parted(word, '=');
    if (!is_variable(name))
      return fail(Category::kUsage, "\"" + name + "\" is not a valid variable name", "use letters, digits and '_'");
    if (value.size() > kLongestValue)
      return fail(Category::kUsage, "the value of variable \"" + name + "\" is longer than 1024 bytes");
  }
  FLEETADM_CHECK(validate_node_placement(values.node_selector, values.tolerations));
  for (const std::string& word : values.registries) {
    FLEETADM_CHECK(need_value(word, "SOURCE=MIRROR"));
    if (parted(word, '=').second.empty())
      return fail(Category::kUsage, "\"" + word + "\" names no mirror", "write SOURCE=MIRROR");
  }
  if (!values.install_namespace.empty() && !is_dns_label(values.install_namespace))
    return fail(Category::kUsage, "namespace \"" + values.install_namespace + "\" is not a valid name");
  return {};
}

void set_config_values(Json& spec, const ConfigValues& values) {
  for (const std::string& word : values.variables) {
    const auto [name, value] = parted(word, '=');
    put_entry(at_or_make(spec, {"customizedVariables"}), "name", name, {{"name", name}, {"value", value}});
  }
  if (!values.node_selector.empty()) at_or_make(spec, {"nodePlacement", "nodeSelector"}) = node_selector_of(values.node_selector);
  if (!values.tolerations.empty()) at_or_make(spec, {"nodePlacement", "tolerations"}) = tolerations_of(values.tolerations);
  for (const std::string& word : values.registries) {
    const auto [source, mirror] = parted(word, '=');
    put_entry(at_or_make(spec, {"registries"}), "source", source, {{"source", source}, {"mirror", mirror}});
  }
  if (!values.http_proxy.empty()) at_or_make(spec, {"proxyConfig", "httpProxy"}) = values.http_proxy;
  if (!values.https_proxy.empty()) at_or_make(spec, {"proxyConfig", "httpsProxy"}) = values.https_proxy;
  if (!values.no_proxy.empty()) at_or_make(spec, {"proxyConfig", "noProxy"}) = values.no_proxy;
  if (!values.install_namespace.empty()) at_or_make(spec, {"agentInstallNamespace"}) = values.install_namespace;
}

std::vector<std::string> config_fields() { return {"variables", "node-placement", "registries", "proxy", "install-namespace"}; }

Status unset_config_values(Json& spec, const std::vector<std::string>& variables, const std::vector<std::string>& fields) {
  static const std::map<std::string, std::string> kMembers = {{"variables", "customizedVariables"},
                                                              {"node-placement", "nodePlacement"},
                                                              {"registries", "registries"},
                                                              {"proxy", "proxyConfig"},
                                                              {"install-namespace", "agentInstallNamespace"}};
  for (const std::string& name : variables) {
    Json& list = at_or_make(spec, {"customizedVariables"});
    const auto found = std::find_if(list.begin(), list.end(), [&](const Json& one) { return str(one, {"name"}) == name; });
    if (!list.is_array() || found == list.end())
      return fail(Category::kNotFound, "there is no variable \"" + name + "\"",
                  "see what is set with: fleetadm addon config get");
    list.erase(found);
    if (list.empty()) spec.erase("customizedVariables");
  }
  for (const std::string& field : fields) {
    if (const auto member = kMembers.find(field); member != kMembers.end()) spec.erase(member->second);
  }
  return {};
}

std::vector<std::pair<std::string, std::string>> told_config(const Json& spec) {
  std::vector<std::pair<std::string, std::string>> told;
  for (const Json& one : list_at(spec, {"customizedVariables"}))
    told.emplace_back("variable " + str(one, {"name"}), str(one, {"value"}));
  for (const auto& [key, value] : strings_at(spec, {"nodePlacement", "nodeSelector"}))
    told.emplace_back("node-selector", key + "=" + value);
  for (const Json& one : list_at(spec, {"nodePlacement", "tolerations"})) told.emplace_back("tolerate", told_toleration(one));
  for (const Json& one : list_at(spec, {"registries"}))
    told.emplace_back("registry", str(one, {"source"}) + "=" + str(one, {"mirror"}));
  for (const auto& [member, word] :
       {std::pair("httpProxy", "http-proxy"), std::pair("httpsProxy", "https-proxy"), std::pair("noProxy", "no-proxy")}) {
    if (const std::string value = str(spec, {"proxyConfig", member}); !value.empty()) told.emplace_back(word, value);
  }
  if (const std::string ns = str(spec, {"agentInstallNamespace"}); !ns.empty()) told.emplace_back("install-namespace", ns);
  for (const Json& one : list_at(spec, {"resourceRequirements"}))
    told.emplace_back("resources " + str(one, {"containerID"}), dump_json(object_at(one, {"resources"})));
  return told;
}

}  // namespace fleetadm::commands
