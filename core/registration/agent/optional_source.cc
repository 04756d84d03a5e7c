#include "core/registration/agent/optional_source.h"

#include "kubeclient/base/json.h"
#include "kubeclient/base/log.h"

namespace fleetadm::registration::agent {
namespace {

constexpr auto kLookAgain = std::chrono::minutes(5);

Json content(const kube::CachedPtr& object) {
  Json decoded = object->decode();
  erase_at(decoded, {"metadata", "resourceVersion"});
  return decoded;
}

}  // namespace

OptionalSource::OptionalSource(kube::Client spoke, kube::Resource resource, kube::InformerOptions which,
                               std::function<void()> changed)
    : spoke_(std::move(spoke)), resource_(std::move(resource)), which_(std::move(which)), changed_(std::move(changed)) {}

OptionalSource::~OptionalSource() {
  if (informer_) informer_->stop();
}

bool OptionalSource::is_due(Instant now) const {
  return !informer_ && !(looked_ && now >= *looked_ && now - *looked_ < kLookAgain);
}

void OptionalSource::ensure(Instant now) {
  if (!is_due(now)) return;
  looked_ = now;
  kube::Request request;
  request.path = resource_.path(which_.ns);
  request.query = {{"limit", "1"}};
  if (!which_.field_selector.empty()) request.query.emplace_back("fieldSelector", which_.field_selector);
  const Result<kube::Response> answer = spoke_.raw(request);
  const int status = answer ? answer->status : answer.error().code;
  absent_ = status == 404;
  if (absent_) return;
  if (!answer || status >= 300) {
    log::warn("registration", "cannot read " + resource_.qualified() + " of the cluster" +
                                  (answer ? std::string() : ": " + answer.error().message));
    if (status == 0 || status >= 500) looked_.reset();  // the server is away, not the type: look again next time
    return;
  }
  informer_ = kube::Informer::make(spoke_, resource_, which_);
  informer_->on_event([changed = changed_](kube::EventType type, const kube::CachedPtr& before, const kube::CachedPtr& after) {
    // Kubelets touch their nodes all day; only what is reported matters.
    if (type != kube::EventType::kModified || content(before) != content(after)) changed();
  });
  informer_->on_synced(changed_);
  informer_->start();
}

std::optional<std::vector<Json>> OptionalSource::objects() const {
  std::vector<Json> decoded;
  if (!for_each([&decoded](const Json& object) { decoded.push_back(object); })) return std::nullopt;
  return decoded;
}

bool OptionalSource::for_each(const std::function<void(const Json&)>& look) const {
  if (!informer_) return absent_;
  if (!informer_->synced()) return false;
  for (const kube::CachedPtr& object : informer_->list()) look(object->decode());
  return true;
}

}  // namespace fleetadm::registration::agent
