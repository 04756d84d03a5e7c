// Reading certificates, pins, and issuing for tests, the sandbox and proxies.
#include <algorithm>
#include <array>
#include <ctime>
#include <limits>
#include <openssl/err.h>
#include <openssl/rand.h>

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/ip_address.h"
#include "kubeclient/pki/openssl.h"

namespace fleetadm::pki {
namespace {

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
  ERR_clear_error();
  return info;
}

bool add_extension(X509& certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer == nullptr ? &certificate : issuer, &certificate, nullptr, nullptr, 0);
  const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  return extension && X509_add_ext(&certificate, extension.get(), -1) == 1;
}

// Built from values, not from OpenSSL's text form, in which a comma inside a name would start another name.
Status add_alternative_names(X509& certificate, const LeafOptions& options) {
  if (options.dns_names.empty() && options.ip_addresses.empty()) return {};
  const NamesPtr names(sk_GENERAL_NAME_new_null());
  const auto add = [&](int type, const void* data, std::size_t size) {
    std::unique_ptr<GENERAL_NAME, Deleter<GENERAL_NAME_free>> name(GENERAL_NAME_new());
    std::unique_ptr<ASN1_STRING, Deleter<ASN1_STRING_free>> value(
        ASN1_STRING_type_new(type == GEN_DNS ? V_ASN1_IA5STRING : V_ASN1_OCTET_STRING));
    if (!name || !value || ASN1_STRING_set(value.get(), data, static_cast<int>(size)) != 1) return false;
    GENERAL_NAME_set0_value(name.get(), type, value.release());
    if (sk_GENERAL_NAME_push(names.get(), name.get()) <= 0) return false;
    name.release();
    return true;
  };
  for (const std::string& dns : options.dns_names) {
    if (!add(GEN_DNS, dns.data(), dns.size())) return openssl_failure("adding a DNS name");
  }
  for (const std::string& ip : options.ip_addresses) {
    const auto address = IpAddress::parse(ip);
    if (!address || !address->zone.empty()) return fail(Category::kUsage, "\"" + ip + "\" is not an IP address");
    if (!add(GEN_IPADD, address->bytes.data(), address->v6 ? 16 : 4)) return openssl_failure("adding an IP address");
  }
  if (X509_add1_ext_i2d(&certificate, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) != 1) {
    return openssl_failure("adding the alternative names");
  }
  return {};
}

Result<CertPtr> blank_certificate(const Subject& subject, EVP_PKEY& key, Duration backdate, Duration validity) {
  FLEETADM_TRY(const NamePtr name, make_name(subject));
  CertPtr certificate(X509_new());
  const BignumPtr serial(BN_new());
  const std::time_t now = std::time(nullptr);
  const auto whole = [](Duration value) { return std::chrono::duration_cast<std::chrono::seconds>(value).count(); };
  if (!certificate || !serial || BN_rand(serial.get(), 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) != 1 ||
      BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate.get())) == nullptr ||
      X509_set_version(certificate.get(), X509_VERSION_3) != 1 || X509_set_subject_name(certificate.get(), name.get()) != 1 ||
      X509_set_pubkey(certificate.get(), &key) != 1 ||
      ASN1_TIME_set(X509_getm_notBefore(certificate.get()), now - whole(backdate)) == nullptr ||
      ASN1_TIME_set(X509_getm_notAfter(certificate.get()), now + whole(validity)) == nullptr) {
    return openssl_failure("making a certificate");
  }
  return certificate;
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
  FLEETADM_TRY(pair.key, generate_key());
  FLEETADM_TRY(const KeyPtr key, read_private_key(pair.key));
  Subject subject;
  subject.common_name = std::string(common_name);
  FLEETADM_TRY(const CertPtr certificate, blank_certificate(subject, *key, std::chrono::minutes(5), validity));
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
  FLEETADM_TRY(pair.key, generate_key());
  FLEETADM_TRY(const KeyPtr key, read_private_key(pair.key));
  FLEETADM_TRY(const CertPtr certificate, blank_certificate(options.subject, *key, options.backdate, options.validity));
  std::string usages = options.server ? "serverAuth" : "";
  if (options.client) usages += usages.empty() ? "clientAuth" : ",clientAuth";
  FLEETADM_CHECK(add_alternative_names(*certificate, options));
  if (X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer.get())) != 1 ||
      !add_extension(*certificate, nullptr, NID_basic_constraints, "critical,CA:FALSE") ||
      !add_extension(*certificate, nullptr, NID_key_usage, "critical,digitalSignature") ||
      (!usages.empty() && !add_extension(*certificate, nullptr, NID_ext_key_usage, usages.c_str())) ||
      !add_extension(*certificate, issuer.get(), NID_authority_key_identifier, "keyid") ||
      X509_sign(certificate.get(), issuer_key.get(), EVP_sha256()) <= 0) {
    return openssl_failure("issuing a certificate");
  }
  FLEETADM_TRY(pair.certificate, write_certificate(*certificate));
  return pair;
}

}  // namespace fleetadm::pki
