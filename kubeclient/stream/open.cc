#include "kubeclient/stream/open.h"

#include <algorithm>
#include <array>
#include <openssl/rand.h>

#include "kubeclient/base/ascii.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/json.h"
#include "kubeclient/base/log.h"
#include "kubeclient/stream/channels.h"
#include "kubeclient/stream/websocket.h"

namespace fleetadm::kube {
namespace {

constexpr std::size_t kMaxRefusalText = 1024;

std::string header_of_answer(const Response& response, const std::string& name) {
  const auto at = response.headers.find(name);
  return at == response.headers.end() ? std::string() : std::string(trimmed(at->second));
}

Category category_of_refusal(int status) {
  switch (status) {
    case 400:
    case 422: return Category::kInvalid;
    case 401:
    case 403: return Category::kAuth;
    case 404: return Category::kNotFound;
    case 405:
    case 406:
    case 501: return Category::kUnsupported;
    default: return status == 429 || status >= 500 ? Category::kUnavailable : Category::kInvalid;
  }
}

Error refusal(const Response& response, const RestConfig& config) {
  std::string text = response.body;
  Error error;
  if (const auto status = parse_json(response.body); status && status->is_object()) {
    const auto string_at = [&](const char* key) {
      const auto at = status->find(key);
      return at != status->end() && at->is_string() ? at->get<std::string>() : std::string();
    };
    text = string_at("message");
    error.reason = string_at("reason");
  }
  text = log::escape_terminal(trimmed(std::string_view(text).substr(0, kMaxRefusalText)));
  error.code = response.status;
  error.category = category_of_refusal(response.status);
  error.message = text.empty() ? "the server answered the upgrade with " + std::to_string(response.status) : text;
  error.cluster = config.name;
  return error;
}

tl::unexpected<Error> unknown_protocol(const RestConfig& config) {
  return fail(fail(Category::kInvalid, "the server chose a protocol that was not offered").value().with_cluster(config.name));
}

}  // namespace

Result<OpenedStream> open_websocket(const RestConfig& config, Request request, const std::vector<std::string_view>& protocols) {
  std::array<unsigned char, 16> nonce{};
  if (RAND_bytes(nonce.data(), static_cast<int>(nonce.size())) != 1) return fail(Category::kInternal, "no random bytes");
  const std::string key = base64_encode({reinterpret_cast<const char*>(nonce.data()), nonce.size()});
  std::string offered;
  for (const auto protocol : protocols) offered += (offered.empty() ? "" : ", ") + std::string(protocol);
  request.method = Method::kGet;
  request.headers["Sec-WebSocket-Version"] = "13";
  request.headers["Sec-WebSocket-Key"] = key;
  request.headers["Sec-WebSocket-Protocol"] = offered;
  FLEETADM_TRY(UpgradeAnswer answer, upgrade_connection(config, request, kWebSocketUpgrade));
  if (!answer.connection) return fail(refusal(answer.response, config));
  if (header_of_answer(answer.response, "sec-websocket-accept") != websocket_accept(key))
    return fail(fail(Category::kInvalid, "the server's answer is not to this WebSocket's key").value().with_cluster(config.name));
  std::string chosen = header_of_answer(answer.response, "sec-websocket-protocol");
  if (std::find(protocols.begin(), protocols.end(), chosen) == protocols.end()) return unknown_protocol(config);
  return OpenedStream{std::move(chosen), std::move(answer.connection)};
}

Result<OpenedStream> open_spdy(const RestConfig& config, Request request, std::string_view protocol) {
  request.method = Method::kPost;
  request.headers["X-Stream-Protocol-Version"] = std::string(protocol);
  FLEETADM_TRY(UpgradeAnswer answer, upgrade_connection(config, request, kSpdyUpgrade));
  if (!answer.connection) return fail(refusal(answer.response, config));
  std::string chosen = header_of_answer(answer.response, "x-stream-protocol-version");
  if (chosen != protocol) return unknown_protocol(config);
  return OpenedStream{std::move(chosen), std::move(answer.connection)};
}

}  // namespace fleetadm::kube
