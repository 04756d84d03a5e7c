#include "core/proxy/client/hops.h"

#include <optional>

#include "core/proxy/hop/error_answer.h"
#include "kubeclient/base/json.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::proxy {
namespace {

constexpr std::size_t kMaxMessage = 300;

std::string first_words(std::string text) {
  if (text.size() > kMaxMessage) text = text.substr(0, kMaxMessage) + "...";
  return text;
}

/// By the header that our gateway sets, and drops of what comes from elsewhere (docs/reference/gateway.md#failures).
std::optional<HopName> hop_said(const kube::Response& answer) {
  const auto at = answer.headers.find(std::string(kHopHeader));
  if (at == answer.headers.end()) return std::nullopt;
  for (const HopName hop : {HopName::kHub, HopName::kTunnel, HopName::kAgent, HopName::kMember}) {
    if (at->second == to_string(hop)) return hop;
  }
  return HopName::kGateway;
}

/// The server that the client speaks to.
HopName first_hop(Way way) {
  switch (way) {
    case Way::kGateway: return HopName::kGateway;
    case Way::kUserServer: return HopName::kUserServer;
    case Way::kKonnectivity: return HopName::kFrontEnd;
  }
  return HopName::kNone;
}

/// What the relay of this process says of itself.
std::optional<WayState> of_relay(const kube::Response& answer, Way way) {
  if (is_of_member(answer)) return std::nullopt;
  const Error error = kube::error_of(answer, {});
  const std::string message = first_words(error.message);
  if (error.reason == kNoRoute) return WayState{"NoRoute", HopName::kHub, message, 0};
  if (error.reason == kServerUnreachable || error.reason == kFrontEndUnreachable)
    return WayState{"Unreachable", first_hop(way), message, 0};
  if (error.reason == kNoTunnel) return WayState{"NoTunnel", HopName::kTunnel, message, 0};
  if (error.reason == kMemberNotVerified) return WayState{"NotVerified", HopName::kMember, message, 0};
  return std::nullopt;
}

/// The user server answers in plain text where it is not the member who does.
std::optional<WayState> of_user_server(const kube::Response& answer) {
  const std::string message = first_words(answer.body);
  if (answer.status == 400) return WayState{"Unreachable", HopName::kFrontEnd, message, answer.status};
  if (answer.status == 502) return WayState{"NoTunnel", HopName::kTunnel, message, answer.status};
  return std::nullopt;
}

/// The member's API server refuses its agent, who asked as somebody else. A request for /readyz is about no resource of its own.
bool refuses_impersonation(const kube::Response& answer) {
  const auto body = parse_json(answer.body);
  if (answer.status != 403 || !body || str(*body, {"kind"}) != "Status") return false;
  const std::string kind = str(*body, {"details", "kind"});
  return kind == "users" || kind == "groups" || kind == "serviceaccounts" || kind == "uids" || kind.starts_with("userextras");
}

WayState of_silence(const Error& error, bool gateway_answers, Way way) {
  if (error.category != Category::kTimeout) return {"Unreachable", first_hop(way), error.message, 0};
  return {"Timeout", gateway_answers ? HopName::kMember : first_hop(way), error.message, 0};
}

}  // namespace

std::string_view to_string(Way way) {
  switch (way) {
    case Way::kGateway: return "gateway";
    case Way::kUserServer: return "user-server";
    case Way::kKonnectivity: return "konnectivity";
  }
  return "";
}

std::string_view to_string(HopName hop) {
  switch (hop) {
    case HopName::kNone: break;
    case HopName::kHub: return "hub";
    case HopName::kGateway: return "gateway";
    case HopName::kUserServer: return "user-server";
    case HopName::kFrontEnd: return "front-end";
    case HopName::kTunnel: return "tunnel";
    case HopName::kAgent: return "agent";
    case HopName::kMember: return "member";
  }
  return "";
}

bool is_of_member(const kube::Response& response) {
  if (hop_said(response)) return false;
  const auto body = parse_json(response.body);
  if (!body || str(*body, {"kind"}) != "Status") return true;
  const auto details = body->find("details");
  return details != body->end() && !(details->size() == 1 && details->contains("retryAfterSeconds"));
}

WayState way_state(const Result<kube::Response>& answer, bool gateway_answers, Way way) {
  if (!answer) return of_silence(answer.error(), gateway_answers, way);
  if (answer->status >= 200 && answer->status < 300) return {"Healthy", HopName::kNone, "", answer->status};
  if (way != Way::kGateway) {
    if (auto state = of_relay(*answer, way)) return *state;
    if (way == Way::kUserServer)
      if (auto state = of_user_server(*answer)) return *state;
  }
  WayState state{"NotReady", HopName::kMember, first_words(kube::error_of(*answer, {}).message), answer->status};
  const auto said = hop_said(*answer);
  if (!said && refuses_impersonation(*answer)) {
    return {
        "Forbidden", HopName::kAgent,
        first_words(
            "the cluster's agent (or the hub, where that dials it) may not act as you yet: the hub gives this right seconds after a "
            "ClusterRoleBinding there has let you use clusters/proxy: " +
            state.message),
        answer->status};
  }
  const HopName refused = said ? *said : is_of_member(*answer) ? HopName::kMember : HopName::kGateway;
  switch (answer->status) {
    case 401:
      state.status = "Unauthorized";
      state.hop = refused;
      break;
    case 403:
      state.status = "Forbidden";
      state.hop = refused;
      break;
    case 404:
      state.status = "NotFound";
      state.hop = refused;
      break;
    case 429:
      state.status = "Limited";
      state.hop = refused;
      break;
    case 502:
      state.status = "Broken";
      state.hop = said.value_or(HopName::kTunnel);
      break;
    case 503:
      state.hop = said || refused == HopName::kMember ? refused : HopName::kTunnel;
      if (state.hop == HopName::kTunnel) state.status = "NoTunnel";
      break;
    case 504:
      state.status = "Timeout";
      state.hop = said.value_or(HopName::kMember);
      break;
    default: break;
  }
  return state;
}

}  // namespace fleetadm::proxy
