#include "core/sandbox/auth/tokens.h"

#include <algorithm>
#include <array>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <optional>
#include <vector>

#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::sandbox {
namespace {

constexpr int kHalf = 32;  // bytes of r and of s on P-256
constexpr std::size_t kMaxToken = 16 * 1024;

using ContextPtr = std::unique_ptr<EVP_MD_CTX, pki::Deleter<EVP_MD_CTX_free>>;
using SignaturePtr = std::unique_ptr<ECDSA_SIG, pki::Deleter<ECDSA_SIG_free>>;

tl::unexpected<Error> bad_token() { return fail(Category::kAuth, "invalid bearer token"); }

/// JWS wants r and s side by side, OpenSSL speaks DER.
Result<std::string> raw_of_der(const std::vector<unsigned char>& der) {
  const unsigned char* at = der.data();
  const SignaturePtr signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())));
  if (!signature) return fail(Category::kInternal, "cannot read a signature");
  std::string raw(2 * kHalf, '\0');
  auto* bytes = reinterpret_cast<unsigned char*>(raw.data());
  if (BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), bytes, kHalf) != kHalf ||
      BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), bytes + kHalf, kHalf) != kHalf) {
    return fail(Category::kInternal, "cannot write a signature");
  }
  return raw;
}

Result<std::vector<unsigned char>> der_of_raw(const std::string& raw) {
  if (raw.size() != 2 * kHalf) return bad_token();
  const auto* bytes = reinterpret_cast<const unsigned char*>(raw.data());
  const SignaturePtr signature(ECDSA_SIG_new());
  ECDSA_SIG_set0(signature.get(), BN_bin2bn(bytes, kHalf, nullptr), BN_bin2bn(bytes + kHalf, kHalf, nullptr));
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &der);
  if (size <= 0) return bad_token();
  std::vector<unsigned char> out(der, der + size);
  OPENSSL_free(der);
  return out;
}

/// The same key has the same name in every server: the digest of its public half.
Result<std::string> name_of_key(EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  if (size <= 0) return pki::openssl_failure("reading a public key");
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  const int done = EVP_Digest(der, static_cast<std::size_t>(size), digest.data(), &length, EVP_sha256(), nullptr);
  OPENSSL_free(der);
  if (done != 1) return pki::openssl_failure("naming a public key");
  return base64url_encode({reinterpret_cast<const char*>(digest.data()), length});
}

Result<std::string> coordinate(EVP_PKEY* key, const char* name) {
  BIGNUM* number = nullptr;
  if (EVP_PKEY_get_bn_param(key, name, &number) != 1) return pki::openssl_failure("reading a public key");
  const pki::BignumPtr owned(number);
  std::array<unsigned char, kHalf> bytes{};
  if (BN_bn2binpad(number, bytes.data(), kHalf) != kHalf) return pki::openssl_failure("reading a public key");
  return base64url_encode({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

std::int64_t unix_seconds(Instant at) { return std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count(); }

Result<std::string> base64url_decode(std::string_view text) {
  std::string standard(text);
  std::replace(standard.begin(), standard.end(), '-', '+');
  std::replace(standard.begin(), standard.end(), '_', '/');
  while (standard.size() % 4 != 0) standard += '=';
  return base64_decode(standard);
}

Result<std::string> TokenSigner::sign(const Json& claims) const {
  if (!key_) return fail(key_.error());
  EVP_PKEY* const key = key_->get();
  FLEETADM_TRY(const auto kid, name_of_key(key));
  const auto header = dump_json({{"alg", "ES256"}, {"kid", kid}, {"typ", "JWT"}});
  const auto text = base64url_encode(header) + "." + base64url_encode(dump_json(claims));
  const ContextPtr context(EVP_MD_CTX_new());
  std::size_t size = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) != 1) {
    return pki::openssl_failure("signing a token");
  }
  std::vector<unsigned char> der(size);
  if (EVP_DigestSign(context.get(), der.data(), &size, bytes, text.size()) != 1) return pki::openssl_failure("signing a token");
  der.resize(size);
  FLEETADM_TRY(const auto raw, raw_of_der(der));
  return text + "." + base64url_encode(raw);
}

Result<Json> TokenSigner::public_key() const {
  if (!key_) return fail(key_.error());
  EVP_PKEY* const key = key_->get();
  FLEETADM_TRY(const auto kid, name_of_key(key));
  FLEETADM_TRY(const auto x, coordinate(key, OSSL_PKEY_PARAM_EC_PUB_X));
  FLEETADM_TRY(const auto y, coordinate(key, OSSL_PKEY_PARAM_EC_PUB_Y));
  return Json{{"use", "sig"}, {"kty", "EC"}, {"kid", kid}, {"crv", "P-256"}, {"alg", "ES256"}, {"x", x}, {"y", y}};
}

bool TokenSigner::signature_holds(std::string_view token, std::string_view signature) const {
  const auto raw = base64url_decode(signature);
  const auto der = raw ? der_of_raw(*raw) : Result<std::vector<unsigned char>>(bad_token());
  if (!der || !key_) return false;
  const ContextPtr context(EVP_MD_CTX_new());
  const auto signed_part = token.substr(0, token.size() - signature.size() - 1);
  return EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key_->get()) == 1 &&
         EVP_DigestVerify(context.get(), der->data(), der->size(), reinterpret_cast<const unsigned char*>(signed_part.data()),
                          signed_part.size()) == 1;
}

Result<Json> TokenSigner::claims_of(std::string_view token) const {
  const auto last = token.rfind('.');
  const auto first = token.find('.');
  if (first == std::string_view::npos || first == last) return bad_token();
  const auto header = base64url_decode(token.substr(0, first));
  const auto payload = base64url_decode(token.substr(first + 1, last - first - 1));
  if (!header || !payload) return bad_token();
  const auto head = parse_json(*header);
  if (!head || str(*head, {"alg"}) != "ES256" || !signature_holds(token, token.substr(last + 1))) return bad_token();
  return parse_json(*payload);
}

Result<std::shared_ptr<const Json>> TokenSigner::verify(std::string_view token, Instant now) const {
  if (token.size() > kMaxToken) return bad_token();
  const std::string digest = sha256_hex(token);
  std::shared_ptr<const Json> known;
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = checked_.find(digest); at != checked_.end()) known = at->second;
  }
  if (!known) {
    FLEETADM_TRY(Json claims, claims_of(token));
    known = std::make_shared<const Json>(std::move(claims));
    const std::lock_guard lock(mutex_);
    if (checked_.size() >= kMaxChecked) checked_.clear();
    checked_.emplace(digest, known);
  }
  const auto seconds = unix_seconds(now);
  const bool ends = find(*known, {"exp"}) != nullptr;  // those of Secrets do not
  if ((ends && num(*known, {"exp"}) <= seconds) || num(*known, {"nbf"}) > seconds) return bad_token();
  return known;
}

}  // namespace fleetadm::sandbox
