#include "kubeclient/pki/csr_key.h"

#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/der.h"
#include "kubeclient/pki/openssl.h"
#include "kubeclient/pki/recent.h"

namespace fleetadm::pki {

Result<CsrKey> csr_key(std::string_view pem) {
  static Recent<CsrKey, 32> recent;
  if (auto known = recent.find(pem)) return *std::move(known);
  FLEETADM_TRY(const auto blocks, read_pem(pem, true));
  if (blocks.size() != 1 || blocks.front().label != "CERTIFICATE REQUEST") {
    return fail(Category::kInvalid, "the text is not exactly one PEM block of type CERTIFICATE REQUEST");
  }
  const std::string& der = blocks.front().der;
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  const RequestPtr request(d2i_X509_REQ(nullptr, &at, static_cast<long>(der.size())));
  EVP_PKEY* key = request ? X509_REQ_get0_pubkey(request.get()) : nullptr;
  if (key == nullptr) return openssl_failure("the request's public key cannot be read", Category::kInvalid);
  unsigned char* spki = nullptr;
  const int length = i2d_PUBKEY(key, &spki);
  if (length <= 0) return openssl_failure("the request's public key cannot be encoded", Category::kInvalid);
  CsrKey out;
  out.strength = EVP_PKEY_get_security_bits(key);
  out.spki_sha256 = sha256_hex(std::string_view(reinterpret_cast<const char*>(spki), static_cast<std::size_t>(length)));
  out.der = is_der(der);
  OPENSSL_free(spki);
  recent.keep(pem, out);
  return out;
}

}  // namespace fleetadm::pki
