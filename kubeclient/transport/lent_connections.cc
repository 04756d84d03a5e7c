#include "kubeclient/transport/lent_connections.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "kubeclient/config/forward_proxy.h"
#include "kubeclient/transport/trust_store.h"

namespace fleetadm::kube {
namespace {

bool impersonates(const RestConfig& config) {
  return !config.impersonate_user.empty() || !config.impersonate_uid.empty() || !config.impersonate_groups.empty() ||
         !config.impersonate_extra.empty();
}

/// Whether the server is reached through a proxy, or might be.
bool is_behind_proxy(const RestConfig& config, const Endpoint& endpoint) {
  if (config.proxy_url.empty() && endpoint.loopback) return false;
  std::string_view host = endpoint.host;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const auto proxy = forward_proxy(config, host);
  return !proxy || proxy->has_value();  // what it cannot tell is left to libcurl
}

bool connects_alike(const ExchangeContext& one, const ExchangeContext& other) {
  return one.loop == other.loop && one.config.credentials == other.config.credentials &&
         one.config.server == other.config.server && one.config.ca_data == other.config.ca_data &&
         one.config.tls_server_name == other.config.tls_server_name && one.config.proxy_url == other.config.proxy_url;
}

/// Null where libcurl makes the connections: without TLS, through a proxy, and with the system's roots, which it knows to find.
std::shared_ptr<Http2Pool> http2_pool(const ExchangeContext& context) {
  const RestConfig& config = context.config;
  const Endpoint& endpoint = context.endpoint;
  if (endpoint.scheme != "https" || !trust_store(config.ca_data)) return nullptr;
  if (is_behind_proxy(config, endpoint)) return nullptr;
  const std::string& name = config.tls_server_name.empty() ? endpoint.host : config.tls_server_name;
  return Http2Pool::make(context.loop, {.host = endpoint.host,
                                        .port = endpoint.port,
                                        .peer = {name, config.ca_data},
                                        .keep_alive = {config.read_idle_timeout, config.ping_timeout}});
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

  std::shared_ptr<const ExchangeContext> lender_for(const ExchangeContext& borrower) const {
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = lenders_.equal_range(borrower.config.credentials.get());
    for (auto at = begin; at != end; ++at) {
      // What stood at this address before may be gone: a lender that lives holds its credential.
      if (auto lender = at->second.lock(); lender && connects_alike(*lender, borrower)) return lender;
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
  const auto lender = borrows && context->config.credentials ? kLenders->lender_for(*context) : nullptr;
  context->multi = lender ? lender->multi : CurlMulti::make(context->loop);
  context->http2 = lender ? lender->http2 : http2_pool(*context);
  if (!borrows && context->config.credentials) kLenders->add(context);
}

}  // namespace fleetadm::kube
