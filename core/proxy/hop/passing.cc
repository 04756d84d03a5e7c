#include "core/proxy/hop/passing.h"

#include <algorithm>
#include <utility>

#include "core/proxy/hop/headers.h"
#include "kubeclient/base/ascii.h"

namespace fleetadm::proxy {

std::string passing_upgrade(const serve::Headers& headers) {
  if (!is_upgrade(headers)) return {};
  for (const auto& [name, value] : headers) {
    if (name != "upgrade") continue;
    const std::string protocol = lower_case(value);
    return protocol == "websocket" || protocol == "spdy/3.1" ? value : std::string();
  }
  return {};
}

void clean_request(serve::HttpRequest& request) {
  std::string protocol = passing_upgrade(request.headers);
  drop_hop_headers(request.headers);
  drop_identity_headers(request.headers);
  std::erase_if(request.headers, [](const auto& header) { return header.first == "expect"; });
  if (protocol.empty()) return;
  request.headers.emplace_back("connection", "Upgrade");
  request.headers.emplace_back("upgrade", std::move(protocol));
}

bool clean_answer(serve::HttpResponse& answer, bool asked_upgrade, bool head_only) {
  const bool switched = answer.status == 101;
  if (switched != (answer.upgrade != nullptr) || (switched && !asked_upgrade)) return false;
  std::string protocol;
  for (const auto& [name, value] : answer.headers) {
    if (name == "upgrade") protocol = value;
  }
  drop_hop_headers(answer.headers);
  drop_answer_headers(answer.headers);
  if (switched) {
    answer.headers.emplace_back("connection", "Upgrade");
    answer.headers.emplace_back("upgrade", std::move(protocol));
  } else if (head_only || answer.status == 204 || answer.status == 304) {
    answer.stream = nullptr;
    answer.body.clear();
  }
  return true;
}

}  // namespace fleetadm::proxy
