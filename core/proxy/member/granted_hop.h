// Before the last step to a member's API server: a caller acts with no more than what the hub has granted the agent.
#pragma once

#include <functional>
#include <memory>

#include "core/proxy/hop/hop.h"
#include "core/proxy/rules/impersonation.h"

namespace fleetadm::proxy {

/// I/O thread only.
class GrantedHop final : public Hop {
 public:
  /// What is granted at the moment; null: that is not known, and the API server alone decides.
  using Granted = std::function<std::shared_ptr<const Impersonation>()>;

  GrantedHop(std::shared_ptr<Hop> next, Granted granted) : next_(std::move(next)), granted_(std::move(granted)) {}

  /// Requests with a token of the member go on as they are. 403 for a user that was not granted.
  void send(serve::HttpRequest request, Done done) override;

 private:
  std::shared_ptr<Hop> next_;
  Granted granted_;
};

}  // namespace fleetadm::proxy
