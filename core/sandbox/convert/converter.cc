#include "core/sandbox/convert/converter.h"

#include <algorithm>
#include <condition_variable>
#include <optional>

#include "core/sandbox/convert/review.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::sandbox::convert {
namespace {

// No object is larger than what a request may carry; the list around them is small.
constexpr std::size_t kMaxObjectBytes = 3 * 1024 * 1024;
constexpr std::size_t kMaxAnswerBytes = 64 * 1024 * 1024;
// Only a transport that never ends breaks this.
constexpr auto kPatienceBeyondTimeout = std::chrono::seconds(45);
constexpr auto kNotLong = std::chrono::milliseconds(50);

tl::unexpected<ApiError> not_converted(std::string why) { return api_fail(500, "", std::move(why)); }

/// Where the webhook's answer arrives.
struct AnswerSlot {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Webhook::Answer> answer;
};

}  // namespace

struct Conversion::Parts {
  const Converter* converter = nullptr;
  std::string version;
  std::vector<Json> objects;
  std::vector<std::size_t> places;  // of those that were sent
  std::vector<Json> sent;
  Review review;
  std::optional<ApiError> failure;
  std::shared_ptr<AnswerSlot> slot;  // null: no webhook was asked
  std::unique_ptr<kube::StreamHandle> handle;
};

Conversion::Conversion(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Conversion::~Conversion() = default;

bool Conversion::done() const {
  if (!parts_->slot) return true;
  const std::lock_guard lock(parts_->slot->mutex);
  return parts_->slot->answer.has_value();
}

void Conversion::wait() const {
  if (!parts_->slot) return;
  const auto answered_within = [&slot = *parts_->slot](auto patience) {
    std::unique_lock lock(slot.mutex);
    return slot.changed.wait_for(lock, patience, [&slot] { return slot.answer.has_value(); });
  };
  if (answered_within(kNotLong)) return;
  parts_->converter->options_.webhook->wait([&] { answered_within(kPatienceBeyondTimeout); });
}

ApiResult<std::vector<Json>> Conversion::take() {
  auto& parts = *parts_;
  if (parts.failure) return tl::unexpected(*parts.failure);
  if (parts.slot) {
    parts.handle.reset();
    Webhook::Answer answer = fail(Category::kTimeout, "context deadline exceeded");
    {
      const std::lock_guard lock(parts.slot->mutex);
      if (parts.slot->answer) answer = std::move(*parts.slot->answer);
    }
    if (!answer) return not_converted(review_subject(parts.sent.front()) + " failed: " + answer.error().message);
    auto converted = read_review(parts.review, parts.sent, *answer);
    if (!converted) return not_converted(converted.error().message);
    for (std::size_t i = 0; i < parts.places.size(); ++i) parts.objects[parts.places[i]] = std::move((*converted)[i]);
  }
  const auto& shape = parts.converter->options_.shapes.find(parts.version)->second;
  for (const auto place : parts.places) {
    std::vector<std::string> unknown;
    if (const auto pruned = shape->prune(parts.objects[place], unknown); !pruned) return not_converted(pruned.error().message);
  }
  return std::move(parts.objects);
}

Json Converter::decode(const Stored& stored) const {
  const auto& version = version_of(stored);
  Json object = stored.json();
  if (const auto shape = options_.shapes.find(version); shape != options_.shapes.end()) shape->second->default_values(object);
  object["apiVersion"] = api_version(version);
  object["kind"] = options_.kind;
  return object;
}

const apimachinery::TypeNode* Converter::type(const std::string& version) const {
  const auto shape = options_.shapes.find(version);
  return shape == options_.shapes.end() ? nullptr : &shape->second->type();
}

std::unique_ptr<Conversion> Converter::start(std::vector<Json> objects, const std::string& version,
                                             std::function<void()> wake) const {
  auto made = std::make_unique<Conversion::Parts>();
  auto& parts = *made;
  parts.converter = this;
  parts.version = version;
  parts.objects = std::move(objects);
  const auto to = api_version(version);
  const auto known = [this](const std::string& from) {
    const auto slash = from.rfind('/');
    return slash != std::string::npos && from.substr(0, slash) == options_.group &&
           options_.shapes.contains(std::string_view(from).substr(slash + 1));
  };
  if (!options_.shapes.contains(version)) {
    parts.failure = not_converted("request to convert CR to an invalid group/version: " + to).value();
  }
  for (std::size_t i = 0; i < parts.objects.size() && !parts.failure; ++i) {
    const auto from = str(parts.objects[i], {"apiVersion"});
    if (from == to) continue;
    if (!known(from)) {
      parts.failure = not_converted("request to convert CR from an invalid group/version: " + from).value();
      break;
    }
    parts.places.push_back(i);
  }
  if (parts.failure || parts.places.empty()) {
    if (wake) wake();
    return std::unique_ptr<Conversion>(new Conversion(std::move(made)));
  }
  if (!options_.webhook) {
    for (const auto place : parts.places) parts.objects[place]["apiVersion"] = to;
    if (wake) wake();
    return std::unique_ptr<Conversion>(new Conversion(std::move(made)));
  }
  for (const auto place : parts.places) parts.sent.push_back(std::move(parts.objects[place]));
  parts.review = {options_.review_version, random_uuid(), to};
  parts.slot = std::make_shared<AnswerSlot>();
  const auto most = std::min(kMaxAnswerBytes, kMaxObjectBytes * parts.sent.size());
  parts.handle = options_.webhook->post(review_request(parts.review, parts.sent), most,
                                        [slot = parts.slot, wake = std::move(wake)](Webhook::Answer answer) {
                                          {
                                            const std::lock_guard lock(slot->mutex);
                                            slot->answer = std::move(answer);
                                          }
                                          slot->changed.notify_all();
                                          if (wake) wake();
                                        });
  return std::unique_ptr<Conversion>(new Conversion(std::move(made)));
}

ApiResult<std::vector<Json>> Converter::convert(std::vector<Json> objects, const std::string& version) const {
  std::vector<Json> out;
  out.reserve(objects.size());
  for (std::size_t begin = 0; begin < objects.size(); begin += kMaxAtOnce) {
    const auto end = std::min(objects.size(), begin + kMaxAtOnce);
    std::vector<Json> some(std::make_move_iterator(objects.begin() + static_cast<std::ptrdiff_t>(begin)),
                           std::make_move_iterator(objects.begin() + static_cast<std::ptrdiff_t>(end)));
    const auto conversion = start(std::move(some), version, {});
    conversion->wait();
    FLEETADM_TRY(auto converted, conversion->take());
    std::move(converted.begin(), converted.end(), std::back_inserter(out));
  }
  return out;
}

ApiResult<Json> Converter::convert(Json object, const std::string& version) const {
  std::vector<Json> one;
  one.push_back(std::move(object));
  FLEETADM_TRY(auto converted, convert(std::move(one), version));
  return std::move(converted.front());
}

}  // namespace fleetadm::sandbox::convert
