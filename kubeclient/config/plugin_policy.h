// Which exec credential plugins of kubeconfigs may run: a kubeconfig of somebody else names programs of this machine. Means what
// credentialPluginPolicy and credentialPluginAllowlist of kubectl's kuberc mean (Kubernetes 1.35).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/result.h"

namespace fleetadm::kube {

inline constexpr std::string_view kPluginPolicyVariable = "FLEETADM_CREDENTIAL_PLUGIN_POLICY";
inline constexpr std::string_view kPluginAllowlistVariable = "FLEETADM_CREDENTIAL_PLUGIN_ALLOWLIST";  // names, with commas

struct CredentialPluginPolicy {
  enum class Kind { kAllowAll, kDenyAll, kAllowlist };
  Kind kind = Kind::kAllowAll;
  std::vector<std::string> allowlist;  // bare names and absolute paths
};

/// "AllowAll" (also for an empty text), "DenyAll" or "Allowlist"; kUsage for another.
Result<CredentialPluginPolicy::Kind> parse_plugin_policy(std::string_view text);
/// kUsage for an entry that is neither a bare name nor an absolute path in its shortest form.
Status check_allowlist_entry(std::string_view entry);

/// The policy of this process: what was set, else the environment's. kUsage where that is wrong.
Result<CredentialPluginPolicy> credential_plugin_policy();
/// Before the first kubeconfig is resolved.
void set_credential_plugin_policy(CredentialPluginPolicy policy);

/// The program to run for a plugin's command (an absolute path, or a bare name to be found in `path`, which is as $PATH); kUsage
/// says why it must not run. An allowlist that is not in effect, or empty, is an error, too: someone relies on it.
Result<std::string> allowed_plugin(const CredentialPluginPolicy& policy, const std::string& command, std::string_view path);

}  // namespace fleetadm::kube
