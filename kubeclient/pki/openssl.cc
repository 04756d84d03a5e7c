#include "kubeclient/pki/openssl.h"

#include <arpa/inet.h>
#include <array>
#include <openssl/err.h>
#include <openssl/pem.h>

#include "kubeclient/base/ascii.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/ip_address.h"
#include "kubeclient/pki/recent.h"

namespace fleetadm::pki {
namespace {

BioPtr reader(std::string_view text) { return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

Result<std::string> drain(BIO& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(&bio, &data);
  if (size < 0 || data == nullptr) return openssl_failure("writing PEM");
  return std::string(data, static_cast<std::size_t>(size));
}

std::string text_of(const ASN1_STRING& value) {
  unsigned char* utf8 = nullptr;
  const int length = ASN1_STRING_to_UTF8(&utf8, &value);
  if (length < 0) {
    ERR_clear_error();
    const auto* raw = ASN1_STRING_get0_data(&value);
    return std::string(raw, raw + ASN1_STRING_length(&value));
  }
  std::string out(utf8, utf8 + length);
  OPENSSL_free(utf8);
  return out;
}

std::string ip_text(const ASN1_OCTET_STRING& address) {
  const auto* bytes = ASN1_STRING_get0_data(&address);
  const int length = ASN1_STRING_length(&address);
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  if (length != 4 && length != 16) return "invalid";
  return inet_ntop(length == 4 ? AF_INET : AF_INET6, bytes, buffer.data(), buffer.size());
}

bool add_entry(X509_NAME& name, int nid, const std::string& value, bool same_set) {
  // The type is given outright: through MBSTRING_UTF8 OpenSSL refuses a CN of more than 64 characters, which agents have.
  return X509_NAME_add_entry_by_NID(&name, nid, V_ASN1_UTF8STRING, reinterpret_cast<const unsigned char*>(value.data()),
                                    static_cast<int>(value.size()), -1, same_set ? -1 : 0) == 1;
}

int no_password(char*, int, int, void*) { return -1; }

/// A key whose label tells its type. Where it does not, OpenSSL tries each of its decoders, which takes three times as long.
KeyPtr read_typed_key(std::string_view pem) {
  const auto blocks = read_pem(pem, false);
  if (!blocks || blocks->size() != 1) return nullptr;
  const PemBlock& block = blocks->front();
  const int type = block.label == "EC PRIVATE KEY"    ? EVP_PKEY_EC
                   : block.label == "RSA PRIVATE KEY" ? EVP_PKEY_RSA
                                                      : EVP_PKEY_NONE;
  if (type == EVP_PKEY_NONE) return nullptr;
  const auto* at = reinterpret_cast<const unsigned char*>(block.der.data());
  const auto* end = at + block.der.size();
  KeyPtr key(d2i_PrivateKey(type, nullptr, &at, static_cast<long>(block.der.size())));
  return at == end ? std::move(key) : nullptr;
}

}  // namespace

tl::unexpected<Error> openssl_failure(std::string_view what, Category category) {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return fail(category, std::string(what) + (reason == nullptr ? "" : std::string(": ") + reason));
}

Result<std::vector<PemBlock>> read_pem(std::string_view text, bool strict) {
  static constexpr std::string_view kBegin = "-----BEGIN ";
  static constexpr std::string_view kDashes = "-----";
  std::vector<PemBlock> blocks;
  std::string_view rest = text;
  while (true) {
    const std::size_t begin = rest.find(kBegin);
    if (strict && !trimmed(rest.substr(0, begin)).empty())
      return fail(Category::kInvalid, "the PEM text has something outside of its blocks");
    if (begin == std::string_view::npos) return blocks;
    rest.remove_prefix(begin + kBegin.size());
    const std::size_t label_end = rest.find(kDashes);
    if (label_end == std::string_view::npos || label_end > 64)
      return fail(Category::kInvalid, "a PEM block has a malformed first line");
    PemBlock block;
    block.label = std::string(rest.substr(0, label_end));
    rest.remove_prefix(label_end + kDashes.size());
    const std::string end_line = "-----END " + block.label + "-----";
    const std::size_t end = rest.find(end_line);
    if (end == std::string_view::npos) return fail(Category::kInvalid, "a PEM block has no matching END line");
    std::string_view body = rest.substr(0, end);
    rest.remove_prefix(end + end_line.size());
    // Headers (encrypted keys) end with an empty line; such blocks are somebody else's and only strict readers mind them.
    if (body.find(':') != std::string_view::npos) {
      if (strict) return fail(Category::kInvalid, "a PEM block has headers");
      continue;
    }
    FLEETADM_TRY(block.der, base64_decode(body));
    blocks.push_back(std::move(block));
  }
}

std::string write_pem(std::string_view label, std::string_view der) {
  const std::string body = base64_encode(der);
  std::string out = "-----BEGIN " + std::string(label) + "-----\n";
  for (std::size_t at = 0; at < body.size(); at += 64) out += body.substr(at, 64) + "\n";
  return out + "-----END " + std::string(label) + "-----\n";
}

Result<KeyPtr> new_key() {
  KeyPtr key(EVP_EC_gen("P-256"));
  if (!key) return openssl_failure("generating a key");
  return key;
}

Result<std::string> write_private_key(const EVP_PKEY& key) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_PrivateKey_traditional(bio.get(), &key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return openssl_failure("writing a key");
  }
  return drain(*bio);
}

Result<KeyPtr> read_private_key(std::string_view pem) {
  static Recent<std::shared_ptr<EVP_PKEY>, 16> recent;
  if (const auto known = recent.find(pem)) {
    EVP_PKEY_up_ref(known->get());
    return KeyPtr(known->get());
  }
  KeyPtr key = read_typed_key(pem);
  if (!key) {
    ERR_clear_error();
    const BioPtr bio = reader(pem);
    key.reset(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  }
  if (!key) return openssl_failure("the private key cannot be read", Category::kInvalid);
  EVP_PKEY_up_ref(key.get());
  recent.keep(pem, std::shared_ptr<EVP_PKEY>(key.get(), &EVP_PKEY_free));
  return key;
}

Result<CertPtr> read_certificate_der(std::string_view der) {
  static Recent<std::shared_ptr<X509>, 16> recent;
  if (const auto known = recent.find(der)) {
    X509_up_ref(known->get());
    return CertPtr(known->get());
  }
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  const auto* end = at + der.size();
  CertPtr certificate(d2i_X509(nullptr, &at, static_cast<long>(der.size())));
  if (!certificate) return openssl_failure("a certificate cannot be read", Category::kInvalid);
  if (at != end) return fail(Category::kInvalid, "a certificate has trailing data");
  X509_up_ref(certificate.get());
  recent.keep(der, std::shared_ptr<X509>(certificate.get(), &X509_free));
  return certificate;
}

Result<CertPtr> read_certificate(std::string_view pem) {
  FLEETADM_TRY(const auto blocks, read_pem(pem, false));
  for (const PemBlock& block : blocks) {
    if (block.label == "CERTIFICATE") return read_certificate_der(block.der);
  }
  return fail(Category::kInvalid, "no certificate in the PEM text");
}

Result<std::string> write_certificate(X509& certificate) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_X509(bio.get(), &certificate) != 1) return openssl_failure("writing a certificate");
  return drain(*bio);
}

Result<NamePtr> make_name(const Subject& subject) {
  NamePtr name(X509_NAME_new());
  if (!name) return openssl_failure("making a name");
  bool good = true;
  for (std::size_t i = 0; i < subject.organizations.size(); ++i) {
    good = good && add_entry(*name, NID_organizationName, subject.organizations[i], i > 0);
  }
  for (std::size_t i = 0; i < subject.organizational_units.size(); ++i) {
    good = good && add_entry(*name, NID_organizationalUnitName, subject.organizational_units[i], i > 0);
  }
  if (!subject.common_name.empty()) good = good && add_entry(*name, NID_commonName, subject.common_name, false);
  if (!good) return openssl_failure("making a name");
  return name;
}

Subject read_name(const X509_NAME& name, bool* other) {
  Subject subject;
  int common_names = 0;
  bool strange = false;
  for (int i = 0; i < X509_NAME_entry_count(&name); ++i) {
    const X509_NAME_ENTRY* entry = X509_NAME_get_entry(&name, i);
    std::string value = text_of(*X509_NAME_ENTRY_get_data(entry));
    switch (OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry))) {
      case NID_commonName:
        subject.common_name = std::move(value);
        ++common_names;
        break;
      case NID_organizationName: subject.organizations.push_back(std::move(value)); break;
      case NID_organizationalUnitName: subject.organizational_units.push_back(std::move(value)); break;
      default: strange = true;
    }
  }
  if (other != nullptr) *other = strange || common_names > 1;
  return subject;
}

AlternativeNames read_alternative_names(const GENERAL_NAMES& names) {
  AlternativeNames out;
  for (int i = 0; i < sk_GENERAL_NAME_num(&names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(&names, i);
    switch (name->type) {
      case GEN_DNS: out.dns.push_back(text_of(*name->d.dNSName)); break;
      case GEN_EMAIL: out.emails.push_back(text_of(*name->d.rfc822Name)); break;
      case GEN_URI: out.uris.push_back(text_of(*name->d.uniformResourceIdentifier)); break;
      case GEN_IPADD: out.ips.push_back(ip_text(*name->d.iPAddress)); break;
      default: out.other = true;
    }
  }
  return out;
}

// Built from values, not from OpenSSL's text form, in which a comma inside a name would start another name.
Result<NamesPtr> make_alternative_names(const std::vector<std::string>& dns_names, const std::vector<std::string>& ip_addresses) {
  NamesPtr names(sk_GENERAL_NAME_new_null());
  const auto add = [&](int type, const void* data, std::size_t size) {
    std::unique_ptr<GENERAL_NAME, Deleter<GENERAL_NAME_free>> name(GENERAL_NAME_new());
    std::unique_ptr<ASN1_STRING, Deleter<ASN1_STRING_free>> value(
        ASN1_STRING_type_new(type == GEN_DNS ? V_ASN1_IA5STRING : V_ASN1_OCTET_STRING));
    if (!names || !name || !value || ASN1_STRING_set(value.get(), data, static_cast<int>(size)) != 1) return false;
    GENERAL_NAME_set0_value(name.get(), type, value.release());
    if (sk_GENERAL_NAME_push(names.get(), name.get()) <= 0) return false;
    name.release();
    return true;
  };
  for (const std::string& dns : dns_names) {
    if (!add(GEN_DNS, dns.data(), dns.size())) return openssl_failure("adding a DNS name");
  }
  for (const std::string& ip : ip_addresses) {
    const auto address = IpAddress::parse(ip);
    if (!address || !address->zone.empty()) return fail(Category::kUsage, "\"" + ip + "\" is not an IP address");
    if (!add(GEN_IPADD, address->bytes.data(), address->v6 ? 16 : 4)) return openssl_failure("adding an IP address");
  }
  return names;
}

std::string describe_key(const EVP_PKEY& key) {
  const int id = EVP_PKEY_get_base_id(&key);
  if (id == EVP_PKEY_RSA) return "RSA " + std::to_string(EVP_PKEY_get_bits(&key));
  if (id == EVP_PKEY_ED25519) return "Ed25519";
  if (id != EVP_PKEY_EC) return "unknown";
  std::array<char, 64> group{};
  std::size_t length = 0;
  if (EVP_PKEY_get_group_name(&key, group.data(), group.size(), &length) != 1) return "ECDSA";
  const std::string_view name(group.data(), length);
  if (name == "prime256v1") return "ECDSA P-256";
  if (name == "secp384r1") return "ECDSA P-384";
  if (name == "secp521r1") return "ECDSA P-521";
  return "ECDSA " + std::string(name);
}

}  // namespace fleetadm::pki
