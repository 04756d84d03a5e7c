// The kubeconfig with which a hosted agent reaches its member.
#pragma once

#include <optional>
#include <string>

#include "commands/framework/member_side.h"
#include "core/registration/join/hosted_token.h"

namespace fleetadm::commands {

/// The way that a connection to the member takes, or (where it is not empty) to that address instead; warns of an address that
/// pods do not reach.
join::MemberWay way_to_member(Context& context, const std::string& server, const kube::RestConfig& config);
/// The way of a stored kubeconfig; nullopt where it cannot be used.
std::optional<join::MemberWay> stored_way(const std::string& kubeconfig);

/// What is stored, as long as it is good. A dry run asks for no token.
class MemberKubeconfig {
 public:
  MemberKubeconfig(Context& context, const HostedSides& sides, join::MemberWay way, std::string stored);

  std::string of_dry_run() const { return kept_.empty() ? join::member_kubeconfig(way_, {}) : stored_; }

  /// Once the account is on the member.
  Result<std::string> get();

 private:
  Status check(const std::string& token);

  Context& context_;
  const HostedSides& sides_;
  join::MemberWay way_;
  std::string stored_;
  std::string kept_;
};

}  // namespace fleetadm::commands
