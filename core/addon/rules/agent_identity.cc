#include "core/addon/rules/agent_identity.h"

#include "core/api/certificate_request.h"

namespace fleetadm::addon {
namespace {

constexpr std::string_view kPrefix = "system:open-cluster-management:";

std::string joined_words(std::initializer_list<std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) text += word;
  return text;
}

}  // namespace

std::string agent_user(std::string_view cluster, std::string_view addon, std::string_view agent) {
  return joined_words({cluster_addon_group(cluster, addon), ":agent:", agent});
}

std::string default_agent(std::string_view addon) { return joined_words({addon, "-agent"}); }

std::string cluster_addon_group(std::string_view cluster, std::string_view addon) {
  return joined_words({kPrefix, "cluster:", cluster, ":addon:", addon});
}

std::string addon_group(std::string_view addon) { return joined_words({kPrefix, "addon:", addon}); }

std::string agent_dns_name(std::string_view addon) { return joined_words({addon, ".addon.open-cluster-management.io"}); }

std::string service_account_user(std::string_view ns, std::string_view name) {
  return joined_words({"system:serviceaccount:", ns, ":", name});
}

bool is_kubernetes_signer(std::string_view signer) {
  const std::string_view domain = signer.substr(0, signer.find('/'));
  for (const std::string_view own : {"kubernetes.io", "k8s.io"}) {
    if (domain == own || domain.ends_with(joined_words({".", own}))) return true;
  }
  return false;
}

Status check_custom_signers(const Json& addon_template) {
  for (const Json& entry : list_at(addon_template, {"spec", "registration"})) {
    const std::string signer = str(entry, {kCustomSigner, "signerName"});
    if (str(entry, {"type"}) == "CustomSigner" && is_kubernetes_signer(signer)) {
      return fail(Category::kInvalid, "custom signer " + api::quoted_text(signer) + " is one of Kubernetes' own");
    }
  }
  return {};
}

const Json* first_config_reference(const Json& addon, const GroupResource& type) {
  for (const Json& reference : list_at(addon, {"status", "configReferences"})) {
    if (str(reference, {"group"}) == type.group && str(reference, {"resource"}) == type.resource) return &reference;
  }
  return nullptr;
}

bool has_template(const Json& addon) {
  const Json* reference = first_config_reference(addon, addon_templates());
  return reference != nullptr && !str(*reference, {"desiredConfig", "specHash"}).empty();
}

Result<ObjectPtr> template_of(const ObjectReader& objects, const Json& addon) {
  const std::string who = namespace_of(addon) + "/" + name_of(addon);
  const Json* reference = first_config_reference(addon, addon_templates());
  if (reference == nullptr) return fail(Category::kInvalid, "addon " + who + " template not found in status");
  if (str(*reference, {"desiredConfig", "specHash"}).empty()) {
    return fail(Category::kInvalid, "addon " + who + " template desired spec hash is empty");
  }
  const std::string name = str(*reference, {"desiredConfig", "name"});
  ObjectPtr found = objects.get(addon_templates(), {}, name);
  if (found == nullptr)
    return fail(Category::kNotFound, "addontemplates.addon.open-cluster-management.io \"" + name + "\" not found");
  return found;
}

}  // namespace fleetadm::addon
