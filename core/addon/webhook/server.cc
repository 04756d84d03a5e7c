#include "core/addon/webhook/server.h"

#include <algorithm>
#include <string>

#include "kubeclient/base/log.h"

namespace fleetadm::addon {
namespace {

constexpr std::chrono::seconds kBetweenPasses{30};
constexpr std::chrono::seconds kFirstRetry{1};
constexpr std::chrono::seconds kCallTimeout{10};

}  // namespace

WebhookServer::WebhookServer(const kube::Client& client, const WebhookOptions& options)
    : keeper_(client.with_timeout(kCallTimeout).with_stop(stop_.get_token()), options),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

WebhookServer::~WebhookServer() {
  stop_.request_stop();
  thread_.request_stop();
}

void WebhookServer::lead(bool leads) {
  {
    const std::lock_guard lock(mutex_);
    leads_ = leads;
    hurry_ = true;
  }
  changed_.notify_all();
}

void WebhookServer::run(const std::stop_token& stop) {
  std::string told;
  auto retry = kFirstRetry;
  while (!stop.stop_requested()) {
    bool leads = false;
    {
      const std::lock_guard lock(mutex_);
      leads = leads_;
      hurry_ = false;
    }
    const Status kept = keeper_.pass(leads);
    if (stop.stop_requested()) return;
    if (const std::string why = kept ? std::string() : kept.error().message; why != told) {
      if (!why.empty()) log::warn("conversion", "add-ons of the other version cannot be served: " + why);
      told = why;
    }
    const auto pause = kept ? kBetweenPasses : std::min(retry, kBetweenPasses);
    retry = kept ? kFirstRetry : std::min(retry * 2, kBetweenPasses);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, pause, [this] { return hurry_; });
  }
}

}  // namespace fleetadm::addon
