#include "core/sandbox/api/converted_events.h"

#include "core/sandbox/api/custom.h"

namespace fleetadm::sandbox {

ConvertedEvents::ConvertedEvents(KindPtr kind, bool before, std::function<void()> wake)
    : kind_(std::move(kind)), before_(before), wake_(std::move(wake)) {}

bool ConvertedEvents::needed(const StoredPtr& stored) const { return stored && Engine::converts(*kind_, *stored); }

void ConvertedEvents::add(std::vector<EventPtr> events) {
  const auto* converter = converter_of(*kind_);
  std::vector<Json> objects;
  for (auto& event : events) {
    if (needed(event->now)) objects.push_back(converter->decode(*event->now));
    if (before_ && needed(event->before)) objects.push_back(converter->decode(*event->before));
    events_.push_back({std::move(event), std::nullopt, std::nullopt});
  }
  if (!objects.empty()) conversion_ = converter->start(std::move(objects), kind_->version, wake_);
}

ApiResult<std::optional<ConvertedEvent>> ConvertedEvents::next() {
  if (conversion_) {
    if (!conversion_->done()) return std::nullopt;
    auto converted = conversion_->take();
    conversion_.reset();
    if (!converted) return tl::unexpected(std::move(converted).error());
    auto object = converted->begin();
    for (auto& one : events_) {  // as add() put them in
      if (needed(one.event->now)) one.now = std::move(*object++);
      if (before_ && needed(one.event->before)) one.before = std::move(*object++);
    }
  }
  if (events_.empty()) return std::nullopt;
  std::optional<ConvertedEvent> out = std::move(events_.front());
  events_.pop_front();
  return out;
}

}  // namespace fleetadm::sandbox
