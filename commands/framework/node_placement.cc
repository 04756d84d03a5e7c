#include "commands/framework/node_placement.h"

#include "kubeclient/base/names.h"

namespace fleetadm::commands {
namespace {

Json toleration_of(const std::string& word) {
  const auto [rest, effect] = parted(word, ':');
  const auto [key, value] = parted(rest, '=');
  Json toleration{{"key", key}, {"operator", rest.find('=') == std::string::npos ? "Exists" : "Equal"}};
  if (rest.find('=') != std::string::npos) toleration["value"] = value;
  if (!effect.empty()) toleration["effect"] = effect;
  return toleration;
}

}  // namespace

std::pair<std::string, std::string> parted(const std::string& word, char at) {
  const std::size_t found = word.find(at);
  if (found == std::string::npos) return {word, {}};
  return {word.substr(0, found), word.substr(found + 1)};
}

Status need_value(const std::string& word, const std::string& what) {
  if (word.find('=') != std::string::npos) return {};
  return fail(Category::kUsage, "\"" + word + "\" has no value", "write " + what);
}

void node_placement_flags(FlagSet& flags, std::vector<std::string>& node_selector, std::vector<std::string>& tolerations,
                          const std::string& whose) {
  flags.comma_texts(&node_selector, "node-selector", "Labels of the nodes that " + whose + " runs on").value_name = "KEY=VALUE";
  flags.comma_texts(&tolerations, "tolerate", "Taints of nodes that " + whose + " tolerates").value_name = "KEY[=VALUE][:EFFECT]";
}

Status validate_node_placement(const std::vector<std::string>& node_selector, const std::vector<std::string>& tolerations) {
  for (const std::string& word : node_selector) {
    FLEETADM_CHECK(need_value(word, "KEY=VALUE"));
    const auto [key, value] = parted(word, '=');
    if (!is_qualified_name(key) || !is_label_value(value))
      return fail(Category::kUsage, "\"" + word + "\" is not a valid label of nodes");
  }
  for (const std::string& word : tolerations) {
    const std::string effect = parted(word, ':').second;
    if (!is_qualified_name(parted(parted(word, ':').first, '=').first))
      return fail(Category::kUsage, "\"" + word + "\" is not a valid toleration", "write KEY[=VALUE][:EFFECT]");
    if (!effect.empty() && effect != "NoSchedule" && effect != "PreferNoSchedule" && effect != "NoExecute")
      return fail(Category::kUsage, "\"" + effect + "\" is not an effect of a taint",
                  "use NoSchedule, PreferNoSchedule or NoExecute");
  }
  return {};
}

Json node_selector_of(const std::vector<std::string>& words) {
  Json selector = Json::object();
  for (const std::string& word : words) selector[parted(word, '=').first] = parted(word, '=').second;
  return selector;
}

Json tolerations_of(const std::vector<std::string>& words) {
  Json tolerations = Json::array();
  for (const std::string& word : words) tolerations.push_back(toleration_of(word));
  return tolerations;
}

}  // namespace fleetadm::commands
