#include "core/proxy/client/hub_credentials.h"

#include <chrono>
#include <condition_variable>
#include <stop_token>
#include <utility>

namespace fleetadm::proxy {
namespace {

constexpr auto kReadAgain = std::chrono::minutes(1);

}  // namespace

Status HubCredentials::read() {
  Result<kube::Credentials> credentials = source_ ? source_->current() : kube::Credentials{};
  if (!credentials) return fail(credentials.error());
  const std::scoped_lock lock(mutex_);
  credentials_ = std::move(*credentials);
  return {};
}

Result<kube::Credentials> HubCredentials::current() {
  const std::scoped_lock lock(mutex_);
  return credentials_;
}

bool HubCredentials::refresh() {
  stale_ = true;
  return false;
}

bool HubCredentials::take_stale() {
  if (!stale_.exchange(false)) return false;
  if (source_) source_->refresh();
  return true;
}

void HubCredentials::keep_reading() {
  reader_ = std::jthread([this](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    auto last = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, stop, std::chrono::seconds(1), [&] { return stop.stop_requested(); })) {
      const auto now = std::chrono::steady_clock::now();
      if (!take_stale() && now - last < kReadAgain) continue;
      last = now;
      // What was read before is used until there is something newer.
      [[maybe_unused]] const Status ignored = read();
    }
  });
}

}  // namespace fleetadm::proxy
