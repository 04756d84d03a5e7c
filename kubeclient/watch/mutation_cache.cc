#include "kubeclient/watch/mutation_cache.h"

#include <algorithm>

namespace fleetadm::kube {
namespace {

/// A watch that has told nothing for so long is dead, or the storage was set back: its list decides.
constexpr auto kLasts = std::chrono::minutes(1);
constexpr std::size_t kSweepFrom = 64;

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool is_newer_version(std::string_view version, std::string_view than) {
  if (!is_number(version) || !is_number(than)) return false;
  return version.size() != than.size() ? version.size() > than.size() : version > than;
}

Json MutationCache::newest(Json cached) {
  const std::lock_guard lock(mutex_);
  const auto found = by_uid_.find(uid_of(cached));
  if (found == by_uid_.end()) return cached;
  if (is_newer_version(resource_version_of(found->second.object), resource_version_of(cached)) &&
      Steady::now() - found->second.noted < kLasts)
    return found->second.object;
  by_uid_.erase(found);
  return cached;
}

void MutationCache::note(const Json& stored) {
  const auto now = Steady::now();
  const std::lock_guard lock(mutex_);
  if (by_uid_.size() >= kSweepFrom) std::erase_if(by_uid_, [&](const auto& one) { return now - one.second.noted >= kLasts; });
  Entry& entry = by_uid_[uid_of(stored)];
  if (!entry.object.is_null() && !is_newer_version(resource_version_of(stored), resource_version_of(entry.object))) return;
  entry = {stored, now};
  erase_at(entry.object, {"metadata", "managedFields"});  // most of it, which informers leave out, too
}

}  // namespace fleetadm::kube
