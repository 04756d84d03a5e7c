#include "kubeclient/transport/trust_store.h"

#include <algorithm>
#include <mutex>
#include <openssl/err.h>
#include <unordered_map>

#include "kubeclient/pki/openssl.h"

namespace fleetadm::kube {
namespace {

std::shared_ptr<X509_STORE> parse_trust_store(const std::string& ca_pem) {
  const auto blocks = pki::read_pem(ca_pem, false);
  if (!blocks || blocks->empty()) return nullptr;
  std::shared_ptr<X509_STORE> store(X509_STORE_new(), &X509_STORE_free);
  if (!store) return nullptr;
  for (const pki::PemBlock& block : *blocks) {
    if (block.label != "CERTIFICATE") return nullptr;
    const auto certificate = pki::read_certificate_der(block.der);
    if (!certificate || X509_STORE_add_cert(store.get(), certificate->get()) != 1) {
      ERR_clear_error();
      return nullptr;
    }
  }
  // An intermediate that the kubeconfig names is trusted without its root, as Go does.
  X509_STORE_set_flags(store.get(), X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN);
  return store;
}

class TrustStores {
 public:
  std::shared_ptr<X509_STORE> of(const std::string& ca_pem) {
    const std::lock_guard lock(mutex_);
    if (const auto known = stores_.find(ca_pem); known != stores_.end()) {
      if (auto store = known->second.lock()) return store;
    }
    auto store = parse_trust_store(ca_pem);
    if (!store) return nullptr;
    stores_.insert_or_assign(ca_pem, store);
    if (stores_.size() > 2 * alive_) {
      std::erase_if(stores_, [](const auto& entry) { return entry.second.expired(); });
      alive_ = std::max(kFew, stores_.size());
    }
    return store;
  }

 private:
  static constexpr std::size_t kFew = 16;
  std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<X509_STORE>> stores_;
  std::size_t alive_ = kFew;
};

}  // namespace

std::shared_ptr<X509_STORE> trust_store(const std::string& ca_pem) {
  static auto* const kStores = new TrustStores();  // for good: transports may be made while static objects end
  return ca_pem.empty() ? nullptr : kStores->of(ca_pem);
}

}  // namespace fleetadm::kube
