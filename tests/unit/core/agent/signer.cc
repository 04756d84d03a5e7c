#include "signer.h"

#include <memory>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace fleetadm::testkit {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free_all)>;
using Request = std::unique_ptr<X509_REQ, decltype(&X509_REQ_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

Bio reader(std::string_view text) { return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free_all}; }

}  // namespace

std::string sign_request(const pki::KeyPair& ca, std::string_view request_pem, Duration validity) {
  const Bio request_text = reader(request_pem);
  const Bio ca_text = reader(ca.certificate);
  const Bio key_text = reader(ca.key);
  const Request request(PEM_read_bio_X509_REQ(request_text.get(), nullptr, nullptr, nullptr), X509_REQ_free);
  const Certificate issuer(PEM_read_bio_X509(ca_text.get(), nullptr, nullptr, nullptr), X509_free);
  const Key key(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
  if (!request || !issuer || !key) return {};
  const Certificate made(X509_new(), X509_free);
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 7);
  X509_set_subject_name(made.get(), X509_REQ_get_subject_name(request.get()));
  X509_set_issuer_name(made.get(), X509_get_subject_name(issuer.get()));
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -300);
  X509_gmtime_adj(X509_getm_notAfter(made.get()),
                  static_cast<long>(std::chrono::duration_cast<std::chrono::seconds>(validity).count()));
  const Key subject_key(X509_REQ_get_pubkey(request.get()), EVP_PKEY_free);
  X509_set_pubkey(made.get(), subject_key.get());
  X509_sign(made.get(), key.get(), EVP_sha256());
  const Bio out(BIO_new(BIO_s_mem()), BIO_free_all);
  PEM_write_bio_X509(out.get(), made.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

}  // namespace fleetadm::testkit
