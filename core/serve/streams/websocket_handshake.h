// The server's half of a WebSocket's opening handshake (RFC 6455 4.2).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/serve/http/message.h"
#include "kubeclient/base/result.h"

namespace fleetadm::serve {

/// The words of a header that is a list: of all headers of the name, separated by commas.
std::vector<std::string> header_words(const HttpRequest& request, std::string_view name);
/// The request wants another protocol on its connection ("websocket", "spdy/3.1"; in any case).
bool asks_upgrade_to(const HttpRequest& request, std::string_view protocol);
/// The answer of 101, without its streams; kUsage where the request is no opening handshake of version 13.
Result<HttpResponse> accept_websocket(const HttpRequest& request, std::string_view subprotocol);

}  // namespace fleetadm::serve
