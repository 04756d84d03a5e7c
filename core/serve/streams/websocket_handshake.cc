#include "core/serve/streams/websocket_handshake.h"

#include <algorithm>

#include "kubeclient/base/ascii.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/stream/websocket.h"

namespace fleetadm::serve {

std::vector<std::string> header_words(const HttpRequest& request, std::string_view name) {
  std::vector<std::string> words;
  for (const std::string& value : request.all(name)) {
    std::string_view rest = value;
    while (true) {
      const auto comma = rest.find(',');
      if (const auto word = trimmed(rest.substr(0, comma)); !word.empty()) words.emplace_back(word);
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return words;
}

bool asks_upgrade_to(const HttpRequest& request, std::string_view protocol) {
  const auto has = [&](std::string_view header, std::string_view wanted) {
    const auto words = header_words(request, header);
    return std::any_of(words.begin(), words.end(),
                       [&](const std::string& word) { return lower_case(word) == lower_case(wanted); });
  };
  return has("connection", "upgrade") && has("upgrade", protocol);
}

Result<HttpResponse> accept_websocket(const HttpRequest& request, std::string_view subprotocol) {
  if (request.method != "GET") return fail(Category::kUsage, "a WebSocket is asked for with GET");
  if (request.header("sec-websocket-version") != "13")
    return fail(Category::kUsage, "only version 13 of WebSockets is spoken (Sec-WebSocket-Version)");
  const std::string_view key = request.header("sec-websocket-key");
  if (const auto decoded = base64_decode(key); !decoded || decoded->size() != 16)
    return fail(Category::kUsage, "Sec-WebSocket-Key is not 16 bytes in base64");
  HttpResponse out;
  out.status = 101;
  out.headers = {{"upgrade", "websocket"}, {"connection", "Upgrade"}, {"sec-websocket-accept", kube::websocket_accept(key)}};
  if (!subprotocol.empty()) out.headers.emplace_back("sec-websocket-protocol", subprotocol);
  return out;
}

}  // namespace fleetadm::serve
