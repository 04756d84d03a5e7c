#include "core/serve/streams/upgrade_request.h"

#include <algorithm>
#include <utility>

#include "core/serve/streams/websocket_handshake.h"

namespace fleetadm::serve {
namespace {

std::string first_common(const std::vector<std::string>& offered, const std::vector<std::string_view>& known) {
  const auto at = std::find_first_of(offered.begin(), offered.end(), known.begin(), known.end());
  return at == offered.end() ? std::string() : *at;
}

std::string word_list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return "[" + text + "]";
}

UpgradeChoice refuse_upgrade(int status, const std::string& why) {
  UpgradeChoice choice;
  choice.answer = answer_text(status, "unable to upgrade: " + why + "\n");
  return choice;
}

UpgradeChoice choose_websocket(const HttpRequest& request, const std::vector<std::string_view>& known) {
  const auto offered = header_words(request, "sec-websocket-protocol");
  const std::string protocol = first_common(offered, known);
  if (protocol.empty()) {
    return refuse_upgrade(403, "unable to negotiate protocol: client supports " + word_list(offered) + ", server accepts " +
                                   word_list({known.begin(), known.end()}));
  }
  auto answer = accept_websocket(request, protocol);
  if (!answer) return refuse_upgrade(400, answer.error().message);
  return {true, protocol, std::move(*answer)};
}

UpgradeChoice choose_spdy(const HttpRequest& request, std::string_view known) {
  const auto offered = header_words(request, "x-stream-protocol-version");
  if (offered.empty()) return refuse_upgrade(400, "header X-Stream-Protocol-Version does not exist in request");
  const std::string protocol = first_common(offered, {known});
  if (protocol.empty()) {
    auto refused = refuse_upgrade(403, "unable to negotiate protocol: client supports " + word_list(offered) +
                                           ", server accepts " + word_list({std::string(known)}));
    refused.answer.headers.emplace_back("x-accepted-stream-protocol-versions", known);
    return refused;
  }
  UpgradeChoice choice;
  choice.protocol = protocol;
  choice.answer.status = 101;
  choice.answer.headers = {
      {"connection", "Upgrade"}, {"upgrade", std::string(kube::kSpdyUpgrade)}, {"x-stream-protocol-version", protocol}};
  return choice;
}

}  // namespace

bool asks_stream_upgrade(const HttpRequest& request) {
  return asks_upgrade_to(request, kube::kWebSocketUpgrade) || asks_upgrade_to(request, kube::kSpdyUpgrade);
}

UpgradeChoice choose_upgrade(const HttpRequest& request, const std::vector<std::string_view>& websocket_protocols,
                             std::string_view spdy_protocol) {
  if (asks_upgrade_to(request, kube::kWebSocketUpgrade)) return choose_websocket(request, websocket_protocols);
  return choose_spdy(request, spdy_protocol);
}

}  // namespace fleetadm::serve
