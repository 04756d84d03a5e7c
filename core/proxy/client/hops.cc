#include "core/proxy/client/hops.h"

#include <optional>

#include "kubeclient/base/json.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::proxy {
namespace {

constexpr std::size_t kMaxMessage = 300;

std::string first_words(std::string text) {
  if (text.size() > kMaxMessage) text = text.substr(0, kMaxMessage) + "...";
  return text;
}

WayState of_silence(const Error& error, bool gateway_answers) {
  if (error.category != Category::kTimeout) return {"Unreachable", HopName::kGateway, error.message, 0};
  return {"Timeout", gateway_answers ? HopName::kMember : HopName::kGateway, error.message, 0};
}

}  // namespace

std::string_view to_string(HopName hop) {
  switch (hop) {
    case HopName::kNone: break;
    case HopName::kGateway: return "gateway";
    case HopName::kTunnel: return "tunnel";
    case HopName::kMember: return "member";
  }
  return "";
}

bool is_of_member(const kube::Response& response) {
  const auto body = parse_json(response.body);
  if (!body || str(*body, {"kind"}) != "Status") return true;
  const auto details = body->find("details");
  return details != body->end() && !(details->size() == 1 && details->contains("retryAfterSeconds"));
}

WayState way_state(const Result<kube::Response>& answer, bool gateway_answers) {
  if (!answer) return of_silence(answer.error(), gateway_answers);
  if (answer->status >= 200 && answer->status < 300) return {"Healthy", HopName::kNone, "", answer->status};
  WayState state{"NotReady", HopName::kMember, first_words(kube::error_of(*answer, {}).message), answer->status};
  const HopName refused = is_of_member(*answer) ? HopName::kMember : HopName::kGateway;
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
      state.hop = HopName::kTunnel;
      break;
    case 503:
      state.hop = refused == HopName::kMember ? HopName::kMember : HopName::kTunnel;
      if (state.hop == HopName::kTunnel) state.status = "NoTunnel";
      break;
    case 504: state.status = "Timeout"; break;
    default: break;
  }
  return state;
}

}  // namespace fleetadm::proxy
