// Keys and certificate requests.
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include "kubeclient/pki/openssl.h"
#include "kubeclient/pki/recent.h"

namespace fleetadm::pki {
namespace {

// The requested extensions of every attribute that carries some: OpenSSL's own getter reads only the first, and what a
// signer in another language reads from the second must not pass unseen.
struct Requested {
  ExtensionsPtr extensions;
  bool ambiguous = false;
};

Result<Requested> requested_extensions(X509_REQ& request) {
  Requested out;
  int found = 0;
  for (int i = 0; i < X509_REQ_get_attr_count(&request); ++i) {
    X509_ATTRIBUTE* attribute = X509_REQ_get_attr(&request, i);
    const int nid = OBJ_obj2nid(X509_ATTRIBUTE_get0_object(attribute));
    if (nid == NID_ms_ext_req) out.ambiguous = true;
    if (nid != NID_ext_req) continue;
    ++found;
    if (X509_ATTRIBUTE_count(attribute) != 1) out.ambiguous = true;
    const ASN1_TYPE* value = X509_ATTRIBUTE_get0_type(attribute, 0);
    if (value == nullptr || value->type != V_ASN1_SEQUENCE)
      return fail(Category::kInvalid, "the request's extensions cannot be read");
    const unsigned char* at = value->value.sequence->data;
    const unsigned char* end = at + value->value.sequence->length;
    ExtensionsPtr extensions(d2i_X509_EXTENSIONS(nullptr, &at, value->value.sequence->length));
    if (!extensions || at != end) return openssl_failure("the request's extensions cannot be read", Category::kInvalid);
    if (found == 1) out.extensions = std::move(extensions);
  }
  if (found > 1) out.ambiguous = true;
  return out;
}

Status read_extensions(X509_REQ& request, CsrInfo& info) {
  FLEETADM_TRY(const Requested requested, requested_extensions(request));
  info.other_extensions = requested.ambiguous;
  if (!requested.extensions) return {};
  int alternative_names = 0;
  for (int i = 0; i < sk_X509_EXTENSION_num(requested.extensions.get()); ++i) {
    X509_EXTENSION* extension = sk_X509_EXTENSION_value(requested.extensions.get(), i);
    if (OBJ_obj2nid(X509_EXTENSION_get_object(extension)) != NID_subject_alt_name) {
      info.other_extensions = true;
      continue;
    }
    if (++alternative_names > 1) info.other_extensions = true;
    const NamesPtr names(static_cast<GENERAL_NAMES*>(X509V3_EXT_d2i(extension)));
    if (!names) return openssl_failure("the request's alternative names cannot be read", Category::kInvalid);
    const AlternativeNames read = read_alternative_names(*names);
    info.dns_names.insert(info.dns_names.end(), read.dns.begin(), read.dns.end());
    info.ip_addresses.insert(info.ip_addresses.end(), read.ips.begin(), read.ips.end());
    info.emails.insert(info.emails.end(), read.emails.begin(), read.emails.end());
    info.uris.insert(info.uris.end(), read.uris.begin(), read.uris.end());
    if (read.other) info.other_extensions = true;
  }
  return {};
}

bool ask_for_names(X509_REQ& request, const std::vector<std::string>& dns_names) {
  if (dns_names.empty()) return true;
  const auto names = make_alternative_names(dns_names, {});
  const ExtensionsPtr extensions(sk_X509_EXTENSION_new_null());
  ExtensionPtr extension(names ? X509V3_EXT_i2d(NID_subject_alt_name, 0, names->get()) : nullptr);
  if (!extensions || !extension || sk_X509_EXTENSION_push(extensions.get(), extension.get()) <= 0) return false;
  extension.release();
  return X509_REQ_add_extensions(&request, extensions.get()) == 1;
}

}  // namespace

Result<std::string> generate_key() {
  FLEETADM_TRY(const KeyPtr key, new_key());
  return write_private_key(*key);
}

Result<std::string> make_csr(std::string_view key_pem, const Subject& subject, const std::vector<std::string>& dns_names) {
  FLEETADM_TRY(const KeyPtr key, read_private_key(key_pem));
  FLEETADM_TRY(const NamePtr name, make_name(subject));
  const RequestPtr request(X509_REQ_new());
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (!request || !bio || X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) != 1 ||
      X509_REQ_set_subject_name(request.get(), name.get()) != 1 || X509_REQ_set_pubkey(request.get(), key.get()) != 1 ||
      !ask_for_names(*request, dns_names) || X509_REQ_sign(request.get(), key.get(), EVP_sha256()) <= 0 ||
      PEM_write_bio_X509_REQ(bio.get(), request.get()) != 1) {
    return openssl_failure("making a certificate request");
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

Result<CsrInfo> parse_csr(std::string_view pem) {
  static Recent<CsrInfo, 32> recent;
  if (auto known = recent.find(pem)) return *std::move(known);
  FLEETADM_TRY(const auto blocks, read_pem(pem, true));
  if (blocks.size() != 1 || blocks.front().label != "CERTIFICATE REQUEST") {
    return fail(Category::kInvalid, "the text is not exactly one PEM block of type CERTIFICATE REQUEST");
  }
  const std::string& der = blocks.front().der;
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  const auto* end = at + der.size();
  const RequestPtr request(d2i_X509_REQ(nullptr, &at, static_cast<long>(der.size())));
  if (!request) return openssl_failure("the certificate request cannot be read", Category::kInvalid);
  if (at != end) return fail(Category::kInvalid, "the certificate request has trailing data");

  CsrInfo info;
  info.subject = read_name(*X509_REQ_get_subject_name(request.get()), &info.other_subject_attributes);
  FLEETADM_CHECK(read_extensions(*request, info));
  EVP_PKEY* key = X509_REQ_get0_pubkey(request.get());
  if (key == nullptr) return openssl_failure("the request's public key cannot be read", Category::kInvalid);
  info.public_key_algorithm = describe_key(*key);
  info.signature_valid = X509_REQ_verify(request.get(), key) == 1;
  ERR_clear_error();
  recent.keep(pem, info);
  return info;
}

}  // namespace fleetadm::pki
