#include "core/sandbox/auth/issuer.h"

#include "core/sandbox/model/negotiate.h"

namespace fleetadm::sandbox {
namespace {

serve::HttpResponse public_document(const Json& document, std::string type) {
  serve::HttpResponse out;
  out.status = 200;
  out.headers = {{"content-type", std::move(type)}, {"cache-control", "public, max-age=3600"}};
  out.body = dump_json(document);
  return out;
}

}  // namespace

std::optional<serve::HttpResponse> answer_issuer(const TokenSigner& signer, const serve::HttpRequest& request,
                                                 std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const bool keys = path == "/openid/v1/jwks";
  if ((!keys && path != "/.well-known/openid-configuration") || request.method != "GET") return std::nullopt;
  if (keys) {
    const auto key = signer.public_key();
    if (!key) return serve::answer_text(500, "the key cannot be read\n");
    return public_document({{"keys", Json::array({*key})}}, "application/jwk-set+json");
  }
  return public_document({{"issuer", std::string(kIssuer)},
                          {"jwks_uri", "https://" + std::string(request.header("host")) + "/openid/v1/jwks"},
                          {"response_types_supported", {"id_token"}},
                          {"subject_types_supported", {"public"}},
                          {"id_token_signing_alg_values_supported", {"ES256"}}},
                         "application/json");
}

}  // namespace fleetadm::sandbox
