// Keys, certificate requests, certificates, pins. PEM in and out; OpenSSL inside.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/result.h"

namespace fleetadm::pki {

/// ECDSA P-256 private key, PEM ("EC PRIVATE KEY", as client-go writes it).
Result<std::string> generate_key();

struct Subject {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> organizational_units;
  bool operator==(const Subject&) const = default;
};

/// PEM "CERTIFICATE REQUEST", SHA-256; no SANs but the given ones.
Result<std::string> make_csr(std::string_view key_pem, const Subject& subject, const std::vector<std::string>& dns_names = {});

/// What a certificate request really asks for.
struct CsrInfo {
  Subject subject;
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  std::vector<std::string> emails;
  std::vector<std::string> uris;
  bool other_subject_attributes = false;  // anything beside O, OU and one CN
  bool other_extensions = false;          // any requested extension beside one subjectAltName of the four kinds above
  bool signature_valid = false;           // self-signature checks out
  std::string public_key_algorithm;       // "ECDSA P-256", "RSA 2048", …
};
/// Exactly one PEM block of the right type; else kInvalid.
Result<CsrInfo> parse_csr(std::string_view pem);

struct CertInfo {
  Subject subject;
  Subject issuer;
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  std::vector<std::string> usages;  // of "digital signature", "key encipherment", "cert sign", "server auth", "client auth"
  Instant not_before;
  Instant not_after;
  bool is_ca = false;
  std::string spki_sha256;  // lower-case hex of the SHA-256 of the DER SubjectPublicKeyInfo
};
/// All certificates of a PEM text, in order; at least one.
Result<std::vector<CertInfo>> parse_certificates(std::string_view pem);
/// The certificate (first of the chain) was issued for this private key.
/// Order and validity of a chain are not checked here.
bool key_matches(std::string_view certificate_pem, std::string_view key_pem);

/// kubeadm's pin of a CA (of the first certificate in the text): "sha256:<hex of SPKI hash>".
Result<std::string> ca_pin(std::string_view ca_pem);
/// True where one CA of the bundle has the pin. Category::kUsage for a malformed pin.
Result<bool> matches_pin(std::string_view ca_pem, std::string_view pin);

/// A certificate authority: of an add-on's own signer, for tests, the sandbox and proxies.
struct KeyPair {
  std::string certificate;  // PEM
  std::string key;          // PEM
};
/// How far the clocks of those who issue certificates and of those who check them may be apart: certificates begin so much before
/// they were made.
inline constexpr Duration kClocksApart = std::chrono::hours(1);
Result<KeyPair> make_ca(std::string_view common_name, Duration validity);
struct LeafOptions {
  Subject subject;
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  bool server = false;
  bool client = false;
  Duration validity = std::chrono::hours(24 * 365);
  Duration backdate = std::chrono::minutes(5);  // notBefore = now - backdate
};
Result<KeyPair> issue(const KeyPair& ca, const LeafOptions& options);

/// The certificate (PEM) that a request asks for, for servers and clients and never a CA's: its subject and DNS names, valid for
/// `validity` or as long as the CA, from five minutes before `now`; what else it asks for is left out. kInvalid: a request for
/// names of other kinds, or for DNS names that are not printable ASCII; a CA that is unreadable, expired or not one. Whether the
/// request may be signed was decided before.
Result<std::string> sign_request(const KeyPair& ca, std::string_view request_pem, Instant now, Duration validity);

}  // namespace fleetadm::pki
