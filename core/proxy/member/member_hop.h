// The last step before a member's API server: who asks is checked once more, and acts there by impersonation.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/proxy/hop/hop.h"

namespace fleetadm::proxy {

/// A request as the gateway writes it (core/proxy/rules/caller.h), as the API server is to get it: the caller's name in
/// Impersonate-* headers, or the member's token that the caller brought; nothing else of who asks, from where and through what.
/// An upgrade stays one. 403 for whatever read_actor() refuses. Pure.
Result<serve::HttpRequest> acting_request(serve::HttpRequest request);

/// I/O thread only.
class MemberHop final : public Hop {
 public:
  /// `api_server` has the credential that may impersonate, and shows it where a request brings none.
  /// `whose`: of whom that credential is, for errors; it has to last.
  explicit MemberHop(std::shared_ptr<Hop> api_server, std::string_view whose = "the agent that acts for you")
      : api_server_(std::move(api_server)), whose_(whose) {}

  /// Answers have no headers that would speak for the gateway. A 401 to an impersonated request is about that credential, not the
  /// caller's: 502.
  void send(serve::HttpRequest request, Done done) override;

 private:
  std::shared_ptr<Hop> api_server_;
  std::string_view whose_;
};

}  // namespace fleetadm::proxy
