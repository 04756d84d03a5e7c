#include "core/sandbox/controllers/sign.h"

#include <algorithm>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include "kubeclient/pki/openssl.h"

namespace fleetadm::sandbox {
namespace {

constexpr auto kBackdate = std::chrono::minutes(5);

Status add_extension(X509& certificate, X509& issuer, int id, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
  const pki::ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, id, value));
  if (!extension || X509_add_ext(&certificate, extension.get(), -1) != 1) return pki::openssl_failure("signing a certificate");
  return {};
}

}  // namespace

Result<std::string> sign_client_certificate(const pki::KeyPair& ca, std::string_view request_pem, Duration lifetime) {
  FLEETADM_TRY(const auto key, pki::read_private_key(ca.key));
  FLEETADM_TRY(const auto issuer, pki::read_certificate(ca.certificate));
  const pki::BioPtr bio(BIO_new_mem_buf(request_pem.data(), static_cast<int>(request_pem.size())));
  const pki::RequestPtr request(PEM_read_bio_X509_REQ(bio.get(), nullptr, nullptr, nullptr));
  if (!request) return pki::openssl_failure("reading a certificate request", Category::kInvalid);
  const pki::CertPtr certificate(X509_new());
  unsigned char serial[16];
  if (RAND_bytes(serial, sizeof serial) != 1) return pki::openssl_failure("a serial number");
  serial[0] &= 0x7fU;
  const pki::BignumPtr number(BN_bin2bn(serial, sizeof serial, nullptr));
  const auto now = Clock::system()->now();
  const auto seconds = [](Instant at) { return std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count(); };
  // Never longer than the CA itself.
  FLEETADM_TRY(const auto authority, pki::parse_certificates(ca.certificate));
  const auto until = std::min(now + lifetime, authority.front().not_after);
  EVP_PKEY* subject_key = X509_REQ_get0_pubkey(request.get());
  if (subject_key == nullptr || X509_set_version(certificate.get(), X509_VERSION_3) != 1 ||
      BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate.get())) == nullptr ||
      X509_set_subject_name(certificate.get(), X509_REQ_get_subject_name(request.get())) != 1 ||
      X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer.get())) != 1 ||
      ASN1_TIME_set(X509_getm_notBefore(certificate.get()), seconds(now - kBackdate)) == nullptr ||
      ASN1_TIME_set(X509_getm_notAfter(certificate.get()), seconds(until)) == nullptr ||
      X509_set_pubkey(certificate.get(), subject_key) != 1) {
    return pki::openssl_failure("signing a certificate");
  }
  FLEETADM_CHECK(add_extension(*certificate, *issuer, NID_key_usage, "critical,digitalSignature,keyEncipherment"));
  FLEETADM_CHECK(add_extension(*certificate, *issuer, NID_ext_key_usage, "clientAuth"));
  FLEETADM_CHECK(add_extension(*certificate, *issuer, NID_basic_constraints, "critical,CA:FALSE"));
  FLEETADM_CHECK(add_extension(*certificate, *issuer, NID_authority_key_identifier, "keyid"));
  const pki::ExtensionsPtr asked(X509_REQ_get_extensions(request.get()));
  if (asked) {
    const int at = X509v3_get_ext_by_NID(asked.get(), NID_subject_alt_name, -1);
    if (at >= 0 && X509_add_ext(certificate.get(), X509v3_get_ext(asked.get(), at), -1) != 1)
      return pki::openssl_failure("signing a certificate");
  }
  if (X509_sign(certificate.get(), key.get(), EVP_sha256()) == 0) return pki::openssl_failure("signing a certificate");
  return pki::write_certificate(*certificate);
}

}  // namespace fleetadm::sandbox
