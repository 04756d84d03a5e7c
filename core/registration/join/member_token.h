// How a hosted agent reaches its member: by the kubeconfig of the member's Secret, whose token it renews itself.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "kubeclient/base/clock.h"
#include "kubeclient/config/rest_config.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::join {

/// The credentials of one member, which change while its clients live. Thread-safe.
class MemberCredentials final : public kube::CredentialSource {
 public:
  explicit MemberCredentials(kube::Credentials credentials) : credentials_(std::move(credentials)) {}
  void set(kube::Credentials credentials);
  Result<kube::Credentials> current() override;
  bool refresh() override { return false; }

 private:
  mutable std::mutex mutex_;
  kube::Credentials credentials_;
};

/// A member's kubeconfig, read: data only (kube::check_holds_data_only).
struct MemberAccess {
  std::string frame;  // of the kubeconfig without its tokens: another where anything of that is
  kube::RestConfig config;
  kube::Credentials credentials;
};
Result<MemberAccess> member_access(const std::string& kubeconfig);

/// When four fifths of the life of a ServiceAccount's token are over. Nullopt: the token does not end, or is of none.
std::optional<Instant> renew_token_at(const std::string& token);

/// The kubeconfig with another token of the same ServiceAccount and the same lifetime, which the member gives to the one that is
/// there. `member`: with that one.
Result<std::string> with_new_token(const std::string& kubeconfig, const kube::Client& member, Instant now);

}  // namespace fleetadm::join
