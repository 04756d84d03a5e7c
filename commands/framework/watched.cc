#include "commands/framework/watched.h"

#include <algorithm>
#include <map>
#include <utility>

namespace fleetadm::commands {
namespace {

constexpr Duration kTogether = std::chrono::milliseconds(100);  // news that comes together is looked at together
constexpr Duration kGlance = std::chrono::milliseconds(50);     // while a first list is waited for: is it refused?

bool heals(const Error& error) {
  return error.category == Category::kUnavailable || error.category == Category::kTimeout || error.category == Category::kGone;
}

/// Lists as they were read.
struct Read final : Objects {
  std::vector<std::map<std::string, Json>> lists;

  std::vector<Json> objects(std::size_t which) const override {
    std::vector<Json> all;
    for (const auto& [key, object] : lists.at(which)) all.push_back(object);
    return all;
  }
  std::optional<Json> find(std::size_t which, const std::string& ns, const std::string& name) const override {
    const auto found = lists.at(which).find(kube::object_key(ns, name));
    if (found == lists.at(which).end()) return std::nullopt;
    return found->second;
  }
};

}  // namespace

Watched::~Watched() {
  for (const List& list : lists_) list.informer->stop();
}

std::size_t Watched::add(const kube::Resource& resource, kube::InformerOptions options) {
  auto informer = kube::Informer::make(client_, resource, options);
  informer->on_event([this](kube::EventType, const kube::CachedPtr&, const kube::CachedPtr&) { changed(); });
  lists_.push_back({resource, std::move(options), std::move(informer)});
  return lists_.size() - 1;
}

Status Watched::start(Duration patience, const std::stop_token& stop) {
  for (const List& list : lists_) list.informer->start();
  const auto end = std::chrono::steady_clock::now() + patience;
  for (const auto& [resource, options, informer] : lists_) {
    while (!informer->wait_synced(kGlance, stop)) {
      if (stop.stop_requested()) return fail(Category::kCancelled, "stopped");
      const std::optional<Error> error = informer->last_error();
      if (error && !heals(*error)) return tl::unexpected(*error);
      if (std::chrono::steady_clock::now() < end) continue;
      if (error) return tl::unexpected(*error);
      return fail(Category::kTimeout,
                  "timed out waiting for the server to list " + resource.qualified() + " (" + format_duration(patience) + ")");
    }
  }
  return {};
}

std::vector<Json> Watched::objects(std::size_t which) const {
  std::vector<Json> all;
  for (const kube::CachedPtr& one : lists_.at(which).informer->list()) all.push_back(one->decode());
  return all;
}

std::optional<Json> Watched::find(std::size_t which, const std::string& ns, const std::string& name) const {
  const kube::CachedPtr one = lists_.at(which).informer->get(kube::object_key(ns, name));
  if (!one) return std::nullopt;
  return one->decode();
}

Result<std::unique_ptr<Objects>> Watched::read_now() const {
  auto read = std::make_unique<Read>();
  for (const List& list : lists_) {
    std::map<std::string, Json> objects;
    kube::ListOptions which;
    which.label_selector = list.options.label_selector;
    which.field_selector = list.options.field_selector;
    FLEETADM_CHECK(client_.list_each(list.resource, list.options.ns, which, [&](Json&& object) -> Status {
      if (list.options.project) list.options.project(object);
      std::string key = kube::object_key(object);
      objects.insert_or_assign(std::move(key), std::move(object));
      return {};
    }));
    read->lists.push_back(std::move(objects));
  }
  return read;
}

void Watched::wait(Duration at_most, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const bool news = wake_.wait_for(lock, stop, at_most, [this] { return changed_; });
  if (news && !stop.stop_requested()) wake_.wait_for(lock, stop, std::min(kTogether, at_most), [] { return false; });
  changed_ = false;
}

std::optional<Error> Watched::trouble() const {
  for (const List& list : lists_) {
    if (std::optional<Error> error = list.informer->last_error()) return error;
  }
  return std::nullopt;
}

void Watched::changed() {
  const std::scoped_lock lock(mutex_);
  changed_ = true;
  wake_.notify_all();
}

}  // namespace fleetadm::commands
