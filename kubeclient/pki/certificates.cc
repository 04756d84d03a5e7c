// Reading certificates, pins, and issuing: for add-ons' own signers, tests, the sandbox and proxies.
#include <algorithm>
#include <array>
#include <ctime>
#include <limits>
#include <openssl/err.h>
#include <openssl/rand.h>

#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/client_certificate.h"
#include "kubeclient/pki/openssl.h"

namespace fleetadm::pki {
namespace {

constexpr auto kClockSkew = std::chrono::minutes(5);  // of those who check a certificate that was just signed

Instant instant_of(const ASN1_TIME& time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(&time, &parts) != 1) return {};
  const std::int64_t seconds = timegm(&parts);
  constexpr std::int64_t kLimit = std::numeric_limits<std::int64_t>::max() / 1'000'000'000 - 1;
  if (seconds > kLimit) return Instant::max();
  if (seconds < -kLimit) return Instant::min();
  return Instant(std::chrono::seconds(seconds));
}

std::string spki_hash(X509& certificate) {
  unsigned char* der = nullptr;
  const int length = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(&certificate), &der);
  if (length <= 0) return {};
  std::string hash = sha256_hex(std::string_view(reinterpret_cast<const char*>(der), static_cast<std::size_t>(length)));
  OPENSSL_free(der);
  return hash;
}

std::vector<std::string> usages_of(X509& certificate) {
  std::vector<std::string> usages;
  const std::uint32_t key = X509_get_key_usage(&certificate);  // all bits where there is no such extension
  if (key != UINT32_MAX && (key & KU_DIGITAL_SIGNATURE) != 0) usages.emplace_back("digital signature");
  if (key != UINT32_MAX && (key & KU_KEY_ENCIPHERMENT) != 0) usages.emplace_back("key encipherment");
  if (key != UINT32_MAX && (key & KU_KEY_CERT_SIGN) != 0) usages.emplace_back("cert sign");
  const std::uint32_t extended = X509_get_extended_key_usage(&certificate);
  if (extended != UINT32_MAX && (extended & XKU_SSL_SERVER) != 0) usages.emplace_back("server auth");
  if (extended != UINT32_MAX && (extended & XKU_SSL_CLIENT) != 0) usages.emplace_back("client auth");
  return usages;
}

CertInfo describe(X509& certificate) {
  CertInfo info;
  info.subject = read_name(*X509_get_subject_name(&certificate));
  info.issuer = read_name(*X509_get_issuer_name(&certificate));
  info.not_before = instant_of(*X509_get0_notBefore(&certificate));
  info.not_after = instant_of(*X509_get0_notAfter(&certificate));
  info.is_ca = X509_check_ca(&certificate) == 1;
  info.spki_sha256 = spki_hash(certificate);
  const NamesPtr names(static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  if (names) {
    AlternativeNames read = read_alternative_names(*names);
    info.dns_names = std::move(read.dns);
    info.ip_addresses = std::move(read.ips);
  }
  info.usages = usages_of(certificate);
  ERR_clear_error();
  return info;
}

bool add_extension(X509& certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer == nullptr ? &certificate : issuer, &certificate, nullptr, nullptr, 0);
  const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  return extension && X509_add_ext(&certificate, extension.get(), -1) == 1;
}

Status add_alternative_names(X509& certificate, const std::vector<std::string>& dns_names,
                             const std::vector<std::string>& ip_addresses) {
  if (dns_names.empty() && ip_addresses.empty()) return {};
  FLEETADM_TRY(const NamesPtr names, make_alternative_names(dns_names, ip_addresses));
  if (X509_add1_ext_i2d(&certificate, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) != 1) {
    return openssl_failure("adding the alternative names");
  }
  return {};
}

struct Validity {
  std::time_t from = 0;
  std::time_t until = 0;
};

std::time_t seconds_of(Instant at) { return std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count(); }

Validity from_now(Duration backdate, Duration validity) {
  const std::time_t now = std::time(nullptr);
  const auto whole = [](Duration value) { return std::chrono::duration_cast<std::chrono::seconds>(value).count(); };
  return {now - whole(backdate), now + whole(validity)};
}

Result<CertPtr> blank_certificate(const Subject& subject, EVP_PKEY& key, Validity validity) {
  FLEETADM_TRY(const NamePtr name, make_name(subject));
  CertPtr certificate(X509_new());
  const BignumPtr serial(BN_new());
  if (!certificate || !serial || BN_rand(serial.get(), 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) != 1 ||
      BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate.get())) == nullptr ||
      X509_set_version(certificate.get(), X509_VERSION_3) != 1 || X509_set_subject_name(certificate.get(), name.get()) != 1 ||
      X509_set_pubkey(certificate.get(), &key) != 1 ||
      ASN1_TIME_set(X509_getm_notBefore(certificate.get()), validity.from) == nullptr ||
      ASN1_TIME_set(X509_getm_notAfter(certificate.get()), validity.until) == nullptr) {
    return openssl_failure("making a certificate");
  }
  return certificate;
}

Result<std::string> signed_leaf(X509& certificate, X509& issuer, EVP_PKEY& issuer_key, const char* usages,
                                const std::string& extended_usages) {
  const bool named = X509_get0_subject_key_id(&issuer) != nullptr;
  if (X509_set_issuer_name(&certificate, X509_get_subject_name(&issuer)) != 1 ||
      !add_extension(certificate, nullptr, NID_basic_constraints, "critical,CA:FALSE") ||
      !add_extension(certificate, nullptr, NID_key_usage, usages) ||
      (!extended_usages.empty() && !add_extension(certificate, nullptr, NID_ext_key_usage, extended_usages.c_str())) ||
      (named && !add_extension(certificate, &issuer, NID_authority_key_identifier, "keyid")) ||
      X509_sign(&certificate, &issuer_key, EVP_sha256()) <= 0) {
    return openssl_failure("issuing a certificate");
  }
  return write_certificate(certificate);
}

Result<KeyPtr> public_key_of_request(std::string_view pem) {
  FLEETADM_TRY(const auto blocks, read_pem(pem, true));
  const std::string der = blocks.empty() ? std::string() : blocks.front().der;
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  const RequestPtr request(d2i_X509_REQ(nullptr, &at, static_cast<long>(der.size())));
  KeyPtr key(request ? X509_REQ_get_pubkey(request.get()) : nullptr);
  if (!key) return openssl_failure("the request's public key cannot be read", Category::kInvalid);
  return key;
}

/// A CA that may sign now.
struct Signer {
  CertPtr certificate;
  KeyPtr key;
  Instant end;
};

Result<Signer> read_signer(const KeyPair& ca, Instant now) {
  Signer signer;
  FLEETADM_TRY(signer.certificate, read_certificate(ca.certificate));
  FLEETADM_TRY(signer.key, read_private_key(ca.key));
  if (X509_check_ca(signer.certificate.get()) != 1) return fail(Category::kInvalid, "the signer's certificate is not a CA's");
  if (X509_check_private_key(signer.certificate.get(), signer.key.get()) != 1) {
    return openssl_failure("the signer's key is not that of its certificate", Category::kInvalid);
  }
  signer.end = instant_of(*X509_get0_notAfter(signer.certificate.get()));
  if (signer.end <= now) return fail(Category::kInvalid, "the signer's certificate expired at " + format_time(signer.end));
  return signer;
}

Result<std::string> sign_key(const Signer& signer, const Subject& subject, const std::vector<std::string>& dns_names,
                             std::string_view request_pem, Instant now, Duration validity, const std::string& extended_usages) {
  FLEETADM_TRY(const KeyPtr key, public_key_of_request(request_pem));
  const Instant from = std::max(now - kClockSkew, instant_of(*X509_get0_notBefore(signer.certificate.get())));
  FLEETADM_TRY(const CertPtr certificate,
               blank_certificate(subject, *key, {seconds_of(from), seconds_of(std::min(now + validity, signer.end))}));
  FLEETADM_CHECK(add_alternative_names(*certificate, dns_names, {}));
  return signed_leaf(*certificate, *signer.certificate, *signer.key, "critical,digitalSignature,keyEncipherment",
                     extended_usages);
}

}  // namespace

Result<std::vector<CertInfo>> parse_certificates(std::string_view pem) {
  FLEETADM_TRY(const auto blocks, read_pem(pem, false));
  std::vector<CertInfo> out;
  for (const PemBlock& block : blocks) {
    if (block.label != "CERTIFICATE") continue;
    FLEETADM_TRY(const CertPtr certificate, read_certificate_der(block.der));
    out.push_back(describe(*certificate));
  }
  if (out.empty()) return fail(Category::kInvalid, "no certificate in the PEM text");
  return out;
}

bool key_matches(std::string_view certificate_pem, std::string_view key_pem) {
  const auto certificate = read_certificate(certificate_pem);
  const auto key = read_private_key(key_pem);
  const bool matches = certificate && key && X509_check_private_key(certificate->get(), key->get()) == 1;
  ERR_clear_error();
  return matches;
}

Result<std::string> ca_pin(std::string_view ca_pem) {
  FLEETADM_TRY(const auto certificates, parse_certificates(ca_pem));
  return "sha256:" + certificates.front().spki_sha256;
}

Result<bool> matches_pin(std::string_view ca_pem, std::string_view pin) {
  static constexpr std::string_view kPrefix = "sha256:";
  std::string wanted(pin);
  std::transform(wanted.begin(), wanted.end(), wanted.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool hex = wanted.starts_with(kPrefix) && wanted.size() == kPrefix.size() + 64 &&
                   wanted.find_first_not_of("0123456789abcdef", kPrefix.size()) == std::string::npos;
  if (!hex) return fail(Category::kUsage, "a CA pin is sha256: and 64 hexadecimal digits");
  FLEETADM_TRY(const auto certificates, parse_certificates(ca_pem));
  return std::any_of(certificates.begin(), certificates.end(),
                     [&](const CertInfo& info) { return !info.spki_sha256.empty() && wanted == "sha256:" + info.spki_sha256; });
}

Result<KeyPair> make_ca(std::string_view common_name, Duration validity) {
  KeyPair pair;
  FLEETADM_TRY(const KeyPtr key, new_key());
  FLEETADM_TRY(pair.key, write_private_key(*key));
  Subject subject;
  subject.common_name = std::string(common_name);
  FLEETADM_TRY(const CertPtr certificate, blank_certificate(subject, *key, from_now(kClocksApart, validity)));
  if (X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get())) != 1 ||
      !add_extension(*certificate, nullptr, NID_basic_constraints, "critical,CA:TRUE") ||
      !add_extension(*certificate, nullptr, NID_key_usage, "critical,digitalSignature,keyCertSign,cRLSign") ||
      !add_extension(*certificate, nullptr, NID_subject_key_identifier, "hash") ||
      X509_sign(certificate.get(), key.get(), EVP_sha256()) <= 0) {
    return openssl_failure("making a certificate authority");
  }
  FLEETADM_TRY(pair.certificate, write_certificate(*certificate));
  return pair;
}

Result<KeyPair> issue(const KeyPair& ca, const LeafOptions& options) {
  FLEETADM_TRY(const CertPtr issuer, read_certificate(ca.certificate));
  FLEETADM_TRY(const KeyPtr issuer_key, read_private_key(ca.key));
  KeyPair pair;
  FLEETADM_TRY(const KeyPtr key, new_key());
  FLEETADM_TRY(pair.key, write_private_key(*key));
  FLEETADM_TRY(const CertPtr certificate, blank_certificate(options.subject, *key, from_now(options.backdate, options.validity)));
  std::string usages = options.server ? "serverAuth" : "";
  if (options.client) usages += usages.empty() ? "clientAuth" : ",clientAuth";
  FLEETADM_CHECK(add_alternative_names(*certificate, options.dns_names, options.ip_addresses));
  FLEETADM_TRY(pair.certificate, signed_leaf(*certificate, *issuer, *issuer_key, "critical,digitalSignature", usages));
  return pair;
}

Result<std::string> sign_request(const KeyPair& ca, std::string_view request_pem, Instant now, Duration validity) {
  FLEETADM_TRY(const Signer signer, read_signer(ca, now));
  FLEETADM_TRY(const CsrInfo asked, parse_csr(request_pem));
  if (asked.other_subject_attributes || !asked.ip_addresses.empty() || !asked.emails.empty() || !asked.uris.empty()) {
    return fail(Category::kInvalid, "the request asks for other names than are signed");
  }
  for (const std::string& name : asked.dns_names) {
    // Such bytes would be read as another name than they were asked for as.
    const auto is_odd = [](char c) { return c <= ' ' || c > '~'; };
    if (std::any_of(name.begin(), name.end(), is_odd))
      return fail(Category::kInvalid, "the request asks for a name that is none");
  }
  return sign_key(signer, asked.subject, asked.dns_names, request_pem, now, validity, "serverAuth,clientAuth");
}

Result<std::string> sign_client_request(const KeyPair& ca, std::string_view request_pem, Instant now, Duration validity) {
  FLEETADM_TRY(const Signer signer, read_signer(ca, now));
  FLEETADM_TRY(const CsrInfo asked, parse_csr(request_pem));
  if (asked.other_subject_attributes) return fail(Category::kInvalid, "the request asks for another subject than is signed");
  return sign_key(signer, asked.subject, {}, request_pem, now, validity, "clientAuth");
}

}  // namespace fleetadm::pki
