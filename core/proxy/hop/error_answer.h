// What a client gets where a hop has failed.
#pragma once

#include <string_view>

#include "core/serve/http/message.h"
#include "kubeclient/base/result.h"

namespace fleetadm::proxy {

/// Who on the way gave an answer that is not the member's own (docs/reference/gateway.md#failures).
namespace hop_names {
inline constexpr std::string_view kGateway = "gateway";
inline constexpr std::string_view kHub = "hub";        // its API server
inline constexpr std::string_view kTunnel = "tunnel";  // between gateway and agent
inline constexpr std::string_view kAgent = "agent";
inline constexpr std::string_view kMember = "member";  // its API server gave no answer
}  // namespace hop_names

/// The header of an answer that names the hop. No member's answer has it.
inline constexpr std::string_view kHopHeader = "fleetadm-hop";

/// A Kubernetes Status object. Its code is the error's, or where that has none, what the category means to a proxy: 504 for
/// kTimeout, 502 for what broke on the way. Header and details name the hop, unless it is empty.
serve::HttpResponse error_answer(const Error& error, std::string_view hop = {});

}  // namespace fleetadm::proxy
