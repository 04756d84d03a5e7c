#include "core/proxy/gateway/request_limits.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace fleetadm::proxy {
namespace {

constexpr auto kLook = std::chrono::seconds(10);  // between two looks for callers that are gone

tl::unexpected<Error> too_many(std::string message) {
  return fail({.code = 429,
               .category = Category::kUnavailable,
               .message = std::move(message),
               .reason = "TooManyRequests",
               .retry_after_seconds = 1});
}

}  // namespace

std::size_t ByteBudget::room(Time now) {
  const double waited = std::chrono::duration<double>(now - filled_).count();
  left_ = std::min(rate_, left_ + std::max(waited, 0.0) * rate_);
  filled_ = now;
  return left_ < 1 ? 0 : static_cast<std::size_t>(left_);
}

std::size_t ByteBudgets::room(ByteBudget::Time now) const {
  std::size_t room = std::numeric_limits<std::size_t>::max();
  for (const auto& budget : budgets_) room = std::min(room, budget->room(now));
  return room;
}

void ByteBudgets::spend(std::size_t bytes) const {
  for (const auto& budget : budgets_) budget->spend(bytes);
}

RequestLimits::Place RequestLimits::take_place(const std::shared_ptr<Uses>& uses, Uses::iterator use) {
  ++use->second.places;
  // Nobody is forgotten while they have a place, so the element stays where it is.
  return {&use->second, [uses](void* taken) { --static_cast<Use*>(taken)->places; }};
}

void RequestLimits::forget_the_idle(Time now) {
  if (now - looked_ < kLook) return;
  looked_ = now;
  // By then their budgets are full again.
  const double seconds = std::max(options_.rate > 0 ? options_.burst / options_.rate : 0.0, 1.0);
  std::erase_if(*callers_, [&](const auto& one) {
    return one.second.places == 0 && std::chrono::duration<double>(now - one.second.filled).count() >= seconds;
  });
  std::erase_if(*clusters_, [&](const auto& one) {
    return one.second.places == 0 && std::chrono::duration<double>(now - one.second.filled).count() >= 1.0;
  });
}

Result<RequestLimits::Place> RequestLimits::enter_caller(const std::string& caller, Time now) {
  forget_the_idle(now);
  const auto [use, made] = callers_->try_emplace(caller);
  Use& who = use->second;
  if (options_.rate > 0) {
    const double waited = std::chrono::duration<double>(now - who.filled).count();
    who.tokens = made ? options_.burst : std::min(options_.burst, who.tokens + std::max(waited, 0.0) * options_.rate);
    who.filled = now;
    if (who.tokens < 1) return too_many("user \"" + caller + "\" sends requests too fast");
    who.tokens -= 1;
  }
  if (who.places >= options_.per_caller)
    return too_many("user \"" + caller + "\" has " + std::to_string(who.places) + " requests that are being answered");
  return take_place(callers_, use);
}

Result<RequestLimits::Place> RequestLimits::enter_cluster(const std::string& cluster, Time now) {
  const auto use = clusters_->try_emplace(cluster).first;
  use->second.filled = now;
  if (use->second.places >= options_.per_cluster)
    return too_many("cluster \"" + cluster + "\" has " + std::to_string(use->second.places) +
                    " requests that are being answered");
  return take_place(clusters_, use);
}

std::shared_ptr<ByteBudget> RequestLimits::budget_of(Use& use, double rate, Time now) {
  if (rate <= 0) return nullptr;
  if (!use.bytes) use.bytes = std::make_shared<ByteBudget>(rate, now);
  return use.bytes;
}

std::shared_ptr<ByteBudget> RequestLimits::bytes_of_caller(const std::string& caller, Time now) {
  return budget_of((*callers_)[caller], options_.caller_bytes, now);
}

std::shared_ptr<ByteBudget> RequestLimits::bytes_of_cluster(const std::string& cluster, Time now) {
  return budget_of((*clusters_)[cluster], options_.cluster_bytes, now);
}

}  // namespace fleetadm::proxy
