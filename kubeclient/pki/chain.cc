#include "kubeclient/pki/chain.h"

#include <algorithm>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include "kubeclient/pki/openssl.h"

namespace fleetadm::pki {
namespace {

void free_certificate_stack(STACK_OF(X509) * stack) { sk_X509_pop_free(stack, X509_free); }
using StackPtr = std::unique_ptr<STACK_OF(X509), Deleter<free_certificate_stack>>;
using StorePtr = std::unique_ptr<X509_STORE, Deleter<X509_STORE_free>>;
using VerifyPtr = std::unique_ptr<X509_STORE_CTX, Deleter<X509_STORE_CTX_free>>;

/// Those that can be read.
StackPtr read_stack(std::string_view pem) {
  StackPtr stack(sk_X509_new_null());
  const auto blocks = read_pem(pem, false);
  if (!stack || !blocks) return stack;
  for (const PemBlock& block : *blocks) {
    if (block.label != "CERTIFICATE") continue;
    auto certificate = read_certificate_der(block.der);
    if (certificate && sk_X509_push(stack.get(), certificate->get()) > 0) certificate->release();
  }
  return stack;
}

StorePtr store_of(const STACK_OF(X509) * authorities) {
  StorePtr store(X509_STORE_new());
  if (!store) return nullptr;
  for (int i = 0; i < sk_X509_num(authorities); ++i) X509_STORE_add_cert(store.get(), sk_X509_value(authorities, i));
  // An intermediate may be what is trusted; dates are told apart from trust.
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_NO_CHECK_TIME);
  return store;
}

}  // namespace

std::optional<CertInfo> anchor_of(std::string_view chain, std::string_view authorities) {
  const StackPtr shown = read_stack(chain);
  const StackPtr trusted = read_stack(authorities);
  if (!shown || !trusted || sk_X509_num(shown.get()) == 0 || sk_X509_num(trusted.get()) == 0) return std::nullopt;
  const StorePtr store = store_of(trusted.get());
  const VerifyPtr verify(X509_STORE_CTX_new());
  std::optional<CertInfo> anchor;
  if (store && verify && X509_STORE_CTX_init(verify.get(), store.get(), sk_X509_value(shown.get(), 0), shown.get()) == 1 &&
      X509_verify_cert(verify.get()) == 1) {
    STACK_OF(X509)* found = X509_STORE_CTX_get0_chain(verify.get());
    if (const int length = sk_X509_num(found); length > 0) {
      const auto pem = write_certificate(*sk_X509_value(found, length - 1));
      if (const auto parsed = pem ? parse_certificates(*pem) : Result<std::vector<CertInfo>>(std::vector<CertInfo>());
          parsed && !parsed->empty())
        anchor = parsed->front();
    }
  }
  ERR_clear_error();
  return anchor;
}

std::optional<CertInfo> longest_lived(std::string_view pem) {
  const auto parsed = parse_certificates(pem);
  if (!parsed) return std::nullopt;
  return *std::max_element(parsed->begin(), parsed->end(),
                           [](const CertInfo& a, const CertInfo& b) { return a.not_after < b.not_after; });
}

}  // namespace fleetadm::pki
