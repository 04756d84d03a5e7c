// Who the agent of an add-on is on the hub, and where it finds its template and configuration
// (docs/reference/addon.md#registration).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/addon/rules/object_reader.h"

namespace fleetadm::addon {

/// Keys of a ManagedClusterAddOn's registrations (v1beta1): "kubeClient", "customSigner".
inline constexpr std::string_view kKubeClient = "kubeClient";
inline constexpr std::string_view kCustomSigner = "customSigner";
inline constexpr std::string_view kTokenDriver = "token";
inline constexpr std::string_view kCsrDriver = "csr";

/// "system:open-cluster-management:cluster:<c>:addon:<a>:agent:<agent>".
std::string agent_user(std::string_view cluster, std::string_view addon, std::string_view agent);
/// The agent's name in its user where nothing else is said: "<a>-agent". Its service account has it, too.
std::string default_agent(std::string_view addon);
/// "system:open-cluster-management:cluster:<c>:addon:<a>": this cluster's agents of the add-on.
std::string cluster_addon_group(std::string_view cluster, std::string_view addon);
/// "system:open-cluster-management:addon:<a>": the agents of all clusters.
std::string addon_group(std::string_view addon);
/// The one DNS name that a certificate of the add-on may have: "<a>.addon.open-cluster-management.io".
std::string agent_dns_name(std::string_view addon);
/// Whom a service account is to the API server: "system:serviceaccount:<ns>:<name>".
std::string service_account_user(std::string_view ns, std::string_view name);

/// A signer of Kubernetes itself: what it signs is trusted by API servers and kubelets.
bool is_kubernetes_signer(std::string_view signer);
/// kInvalid where a custom signer of the template is one of Kubernetes' own: its certificate would be worth more than the add-on.
Status check_custom_signers(const Json& addon_template);

/// The first reference of a type in the ManagedClusterAddOn's status.configReferences, or nullptr.
const Json* first_config_reference(const Json& addon, const GroupResource& type);
/// It is configured with a template: its first such reference has a hash.
bool has_template(const Json& addon);
/// kInvalid where there is no reference or its hash is empty, kNotFound where the template does not exist.
Result<ObjectPtr> template_of(const ObjectReader& objects, const Json& addon);

}  // namespace fleetadm::addon
