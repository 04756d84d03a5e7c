#include "core/sandbox/engine/converted_events.h"

#include "core/sandbox/engine/custom.h"

namespace fleetadm::sandbox {
namespace {

constexpr auto kAskAgain = std::chrono::milliseconds(900);

}  // namespace

ConvertedEvents::ConvertedEvents(KindPtr kind, bool before, std::function<void()> wake, std::chrono::milliseconds patience)
    : kind_(std::move(kind)), before_(before), wake_(std::move(wake)), patience_(patience) {}

bool ConvertedEvents::needed(const StoredPtr& stored) const { return stored && Engine::converts(*kind_, *stored); }

void ConvertedEvents::add(std::vector<EventPtr> events) {
  for (auto& event : events) events_.push_back({std::move(event), std::nullopt, std::nullopt});
  start();
}

void ConvertedEvents::start() {
  const auto* converter = converter_of(*kind_);
  std::vector<Json> objects;
  for (const auto& one : events_) {
    if (needed(one.event->now)) objects.push_back(converter->decode(*one.event->now));
    if (before_ && needed(one.event->before)) objects.push_back(converter->decode(*one.event->before));
  }
  if (!objects.empty()) conversion_ = converter->start(std::move(objects), kind_->version, wake_);
}

/// Gives the events what was made of their objects.
ApiStatus ConvertedEvents::finish() {
  auto converted = conversion_->take();
  conversion_.reset();
  if (!converted) {
    const auto now = Steady::now();
    if (!failing_since_) failing_since_ = now;
    if (now - *failing_since_ >= patience_) return tl::unexpected(std::move(converted).error());
    again_at_ = now + kAskAgain;
    return {};
  }
  failing_since_.reset();
  auto object = converted->begin();
  for (auto& one : events_) {  // as start() took them
    if (needed(one.event->now)) one.now = std::move(*object++);
    if (before_ && needed(one.event->before)) one.before = std::move(*object++);
  }
  return {};
}

ApiResult<std::optional<ConvertedEvent>> ConvertedEvents::next() {
  if (again_at_ && Steady::now() >= *again_at_) {
    again_at_.reset();
    start();
  }
  if (conversion_ && conversion_->done()) FLEETADM_CHECK(finish());
  if (conversion_ || again_at_ || events_.empty()) return std::nullopt;
  std::optional<ConvertedEvent> out = std::move(events_.front());
  events_.pop_front();
  return out;
}

}  // namespace fleetadm::sandbox
