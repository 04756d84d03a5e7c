// Owners of OpenSSL's objects and its error text; used inside kubeclient/pki only.
#pragma once

#include <memory>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/result.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::pki {

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
inline void free_extension_stack(STACK_OF(X509_EXTENSION) * stack) { sk_X509_EXTENSION_pop_free(stack, X509_EXTENSION_free); }

using BioPtr = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using CertPtr = std::unique_ptr<X509, Deleter<X509_free>>;
using RequestPtr = std::unique_ptr<X509_REQ, Deleter<X509_REQ_free>>;
using NamePtr = std::unique_ptr<X509_NAME, Deleter<X509_NAME_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;
using ExtensionsPtr = std::unique_ptr<STACK_OF(X509_EXTENSION), Deleter<free_extension_stack>>;
using NamesPtr = std::unique_ptr<GENERAL_NAMES, Deleter<GENERAL_NAMES_free>>;
using BignumPtr = std::unique_ptr<BIGNUM, Deleter<BN_free>>;

/// kInternal (or the given category) with OpenSSL's last reason; clears its error queue.
tl::unexpected<Error> openssl_failure(std::string_view what, Category category = Category::kInternal);

/// One block of a PEM text: its label and its decoded bytes.
struct PemBlock {
  std::string label;
  std::string der;
};
/// All blocks. `strict`: nothing but white space may stand outside of them.
Result<std::vector<PemBlock>> read_pem(std::string_view text, bool strict);
std::string write_pem(std::string_view label, std::string_view der);

/// ECDSA P-256.
Result<KeyPtr> new_key();
/// PEM, "EC PRIVATE KEY" for one of new_key's.
Result<std::string> write_private_key(const EVP_PKEY& key);
Result<KeyPtr> read_private_key(std::string_view pem);
Result<CertPtr> read_certificate_der(std::string_view der);
/// The first certificate of a PEM text.
Result<CertPtr> read_certificate(std::string_view pem);
Result<std::string> write_certificate(X509& certificate);

/// A distinguished name in Go's order and shape (O, OU, CN; several O in one set); no length limits, as on the wire.
Result<NamePtr> make_name(const Subject& subject);
/// The subject's CN (the last, as Go reads it), O and OU. `other` is set where it holds anything else or a second CN.
Subject read_name(const X509_NAME& name, bool* other = nullptr);

/// Subject alternative names by kind.
struct AlternativeNames {
  std::vector<std::string> dns;
  std::vector<std::string> ips;
  std::vector<std::string> emails;
  std::vector<std::string> uris;
  bool other = false;  // directory names, registered ids, …
};
AlternativeNames read_alternative_names(const GENERAL_NAMES& names);
/// kUsage: an address that is none.
Result<NamesPtr> make_alternative_names(const std::vector<std::string>& dns_names, const std::vector<std::string>& ip_addresses);

std::string describe_key(const EVP_PKEY& key);

}  // namespace fleetadm::pki
