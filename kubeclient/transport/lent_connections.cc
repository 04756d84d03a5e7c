#include "kubeclient/transport/lent_connections.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

namespace fleetadm::kube {
namespace {

bool impersonates(const RestConfig& config) {
  return !config.impersonate_user.empty() || !config.impersonate_uid.empty() || !config.impersonate_groups.empty() ||
         !config.impersonate_extra.empty();
}

bool connects_alike(const ExchangeContext& one, const ExchangeContext& other) {
  return one.loop == other.loop && one.config.credentials == other.config.credentials &&
         one.config.server == other.config.server && one.config.ca_data == other.config.ca_data &&
         one.config.tls_server_name == other.config.tls_server_name && one.config.proxy_url == other.config.proxy_url;
}

/// The transports that act as themselves, by their credential.
class Lenders {
 public:
  void add(const std::shared_ptr<ExchangeContext>& context) {
    const std::lock_guard lock(mutex_);
    lenders_.emplace(context->config.credentials.get(), context);
    if (lenders_.size() <= 2 * alive_) return;
    std::erase_if(lenders_, [](const auto& entry) { return entry.second.expired(); });
    alive_ = std::max(kFew, lenders_.size());
  }

  std::shared_ptr<CurlMulti> connections_for(const ExchangeContext& borrower) const {
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = lenders_.equal_range(borrower.config.credentials.get());
    for (auto at = begin; at != end; ++at) {
      // What stood at this address before may be gone: a lender that lives holds its credential.
      if (const auto lender = at->second.lock(); lender && connects_alike(*lender, borrower)) return lender->multi;
    }
    return nullptr;
  }

 private:
  static constexpr std::size_t kFew = 64;
  mutable std::mutex mutex_;
  std::unordered_multimap<const CredentialSource*, std::weak_ptr<const ExchangeContext>> lenders_;
  std::size_t alive_ = kFew;
};

}  // namespace

void give_connections(const std::shared_ptr<ExchangeContext>& context) {
  static auto* const kLenders = new Lenders();  // for good: transports may outlive static objects
  const bool borrows = impersonates(context->config);
  if (borrows && context->config.credentials) context->multi = kLenders->connections_for(*context);
  if (!context->multi) context->multi = CurlMulti::make(context->loop);
  if (!borrows && context->config.credentials) kLenders->add(context);
}

}  // namespace fleetadm::kube
