#include "kubeclient/config/plugin_policy.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <optional>

#include "kubeclient/config/files.h"
#include "kubeclient/config/process.h"

namespace fleetadm::kube {
namespace {

using Kind = CredentialPluginPolicy::Kind;

struct GivenPolicy {
  std::mutex mutex;
  std::optional<CredentialPluginPolicy> policy;
};

GivenPolicy& given_policy() {
  static GivenPolicy given;
  return given;
}

Result<CredentialPluginPolicy> policy_of_environment() {
  CredentialPluginPolicy policy;
  const auto kind = parse_plugin_policy(environment(kPluginPolicyVariable.data()));
  if (!kind) return fail(kind.error().wrap(kPluginPolicyVariable));
  policy.kind = *kind;
  const std::string list = environment(kPluginAllowlistVariable.data());
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    policy.allowlist.push_back(list.substr(at, end - at));
    if (Status ok = check_allowlist_entry(policy.allowlist.back()); !ok) return fail(ok.error().wrap(kPluginAllowlistVariable));
    at = end + 1;
  }
  return policy;
}

std::string resolved_program(const std::string& command, std::string_view path) {
  if (command.find('/') == std::string::npos) return find_executable(command, path);
  return std::filesystem::path(command).lexically_normal().string();
}

}  // namespace

Result<Kind> parse_plugin_policy(std::string_view text) {
  if (text.empty() || text == "AllowAll") return Kind::kAllowAll;
  if (text == "DenyAll") return Kind::kDenyAll;
  if (text == "Allowlist") return Kind::kAllowlist;
  return fail(Category::kUsage, "\"" + std::string(text) + "\" is not one of AllowAll, DenyAll, Allowlist");
}

Status check_allowlist_entry(std::string_view entry) {
  const bool bare = !entry.empty() && entry.find('/') == std::string_view::npos && entry != "." && entry != "..";
  const bool path =
      entry.starts_with('/') && !entry.ends_with('/') && std::filesystem::path(entry).lexically_normal().string() == entry;
  if (bare || path) return {};
  return fail(Category::kUsage, "\"" + std::string(entry) + "\" is neither a program's name nor an absolute path");
}

Result<CredentialPluginPolicy> credential_plugin_policy() {
  GivenPolicy& given = given_policy();
  const std::scoped_lock lock(given.mutex);
  if (given.policy) return *given.policy;
  return policy_of_environment();
}

void set_credential_plugin_policy(CredentialPluginPolicy policy) {
  GivenPolicy& given = given_policy();
  const std::scoped_lock lock(given.mutex);
  given.policy = std::move(policy);
}

Result<std::string> allowed_plugin(const CredentialPluginPolicy& policy, const std::string& command, std::string_view path) {
  if (policy.kind == Kind::kDenyAll) return fail(Category::kUsage, "the credential plugin policy is DenyAll");
  if (policy.kind == Kind::kAllowAll) {
    if (policy.allowlist.empty()) return command;
    return fail(Category::kUsage, "there is a credential plugin allowlist, but the credential plugin policy is not Allowlist");
  }
  if (policy.allowlist.empty())
    return fail(Category::kUsage, "the credential plugin policy is Allowlist, but the allowlist is empty");
  // What was compared is what runs: a bare name is looked up here, once.
  const std::string program = resolved_program(command, path);
  if (program.empty()) return fail(Category::kUsage, command + " is not found in an absolute folder of PATH");
  const bool allowed = std::any_of(policy.allowlist.begin(), policy.allowlist.end(), [&](const std::string& entry) {
    return entry == command || resolved_program(entry, path) == program;
  });
  if (!allowed) return fail(Category::kUsage, program + " is not on the credential plugin allowlist");
  return program;
}

}  // namespace fleetadm::kube
