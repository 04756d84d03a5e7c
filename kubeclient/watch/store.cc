#include "kubeclient/watch/store.h"

namespace fleetadm::kube {

Store::Entry Store::entry_of(std::string key, const Json& object) const {
  Entry entry;
  entry.object = std::make_shared<const CachedObject>(std::move(key), object);
  entry.values.reserve(indexes_.size());
  for (const auto& [name, values_of] : indexes_) entry.values.push_back(values_of(object));
  return entry;
}

std::optional<Store::Entry> Store::same(std::string_view key, std::string_view resource_version, std::string_view uid) const {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end() || resource_version.empty()) return std::nullopt;
  const auto& object = *found->second.object;
  if (object.resource_version() != resource_version || object.uid() != uid) return std::nullopt;
  return found->second;
}

std::optional<Store::Entry> Store::of(std::string_view key, std::string_view uid) const {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->second.object->uid() != uid) return std::nullopt;
  return found->second;
}

void Store::file(const Entry& entry) {
  for (std::size_t i = 0; i < filed_.size() && i < entry.values.size(); ++i) {
    for (const auto& value : entry.values[i]) filed_[i][value].insert(entry.object->key());
  }
}

void Store::unfile(const Entry& entry) {
  for (std::size_t i = 0; i < filed_.size() && i < entry.values.size(); ++i) {
    for (const auto& value : entry.values[i]) {
      const auto bucket = filed_[i].find(value);
      if (bucket == filed_[i].end()) continue;
      bucket->second.erase(entry.object->key());
      if (bucket->second.empty()) filed_[i].erase(bucket);
    }
  }
}

CachedPtr Store::put(Entry entry) {
  const std::scoped_lock lock(mutex_);
  CachedPtr before;
  const auto found = entries_.find(entry.object->key());
  if (found != entries_.end()) {
    before = found->second.object;
    unfile(found->second);
    file(entry);
    found->second = std::move(entry);
  } else {
    file(entry);
    std::string key = entry.object->key();
    entries_.emplace(std::move(key), std::move(entry));
  }
  return before;
}

CachedPtr Store::erase(std::string_view key) {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  CachedPtr before = found->second.object;
  unfile(found->second);
  entries_.erase(found);
  return before;
}

std::vector<Store::Change> Store::replace(Entries entries) {
  std::vector<Change> changes;
  const std::scoped_lock lock(mutex_);
  for (const auto& [key, old] : entries_) {
    if (!entries.contains(key)) changes.push_back({EventType::kDeleted, old.object, nullptr});
  }
  for (const auto& [key, entry] : entries) {
    const auto old = entries_.find(key);
    if (old == entries_.end()) {
      changes.push_back({EventType::kAdded, nullptr, entry.object});
    } else if (old->second.object->resource_version() != entry.object->resource_version() ||
               old->second.object->uid() != entry.object->uid()) {
      changes.push_back({EventType::kModified, old->second.object, entry.object});
    }
  }
  entries_ = std::move(entries);
  for (auto& index : filed_) index.clear();
  if (!filed_.empty()) {
    for (const auto& [key, entry] : entries_) file(entry);
  }
  return changes;
}

CachedPtr Store::get(std::string_view key) const {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : found->second.object;
}

std::vector<CachedPtr> Store::list() const {
  const std::scoped_lock lock(mutex_);
  std::vector<CachedPtr> all;
  all.reserve(entries_.size());
  for (const auto& [key, entry] : entries_) all.push_back(entry.object);
  return all;
}

std::vector<CachedPtr> Store::by_index(std::string_view index, std::string_view value) const {
  const std::scoped_lock lock(mutex_);
  std::vector<CachedPtr> found;
  for (std::size_t i = 0; i < indexes_.size(); ++i) {
    if (indexes_[i].first != index) continue;
    const auto bucket = filed_[i].find(value);
    if (bucket == filed_[i].end()) break;
    for (const auto& key : bucket->second) {
      if (const auto at = entries_.find(key); at != entries_.end()) found.push_back(at->second.object);
    }
    break;
  }
  return found;
}

}  // namespace fleetadm::kube
