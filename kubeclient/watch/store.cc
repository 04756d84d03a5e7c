#include "kubeclient/watch/store.h"

namespace fleetadm::kube {

void Store::put_into(Entries& entries, Entry entry) {
  auto before = entries.find(entry.object->key());
  if (before != entries.end()) before = entries.erase(before);
  entries.insert(before, std::move(entry));
}

Store::Entry Store::entry_of(std::string key, Json object) const {
  Entry entry;
  entry.values.reserve(indexes_.size());
  for (const auto& [name, values_of] : indexes_) entry.values.push_back(values_of(object));
  entry.object = std::make_shared<const CachedObject>(std::move(key), std::move(object));
  return entry;
}

std::optional<Store::Entry> Store::same(std::string_view key, std::string_view resource_version, std::string_view uid) const {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end() || resource_version.empty()) return std::nullopt;
  const auto& object = *found->object;
  if (object.resource_version() != resource_version || object.uid() != uid) return std::nullopt;
  return *found;
}

std::optional<Store::Entry> Store::of(std::string_view key, std::string_view uid) const {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->object->uid() != uid) return std::nullopt;
  return *found;
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
    before = found->object;
    unfile(*found);
  }
  file(entry);
  put_into(entries_, std::move(entry));
  return before;
}

CachedPtr Store::erase(std::string_view key) {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  CachedPtr before = found->object;
  unfile(*found);
  entries_.erase(found);
  return before;
}

std::vector<Store::Change> Store::replace(Entries entries) {
  std::vector<Change> changes;
  const std::scoped_lock lock(mutex_);
  for (const Entry& old : entries_) {
    if (!entries.contains(old)) changes.push_back({EventType::kDeleted, old.object, nullptr});
  }
  for (const Entry& entry : entries) {
    const auto old = entries_.find(entry);
    if (old == entries_.end()) {
      changes.push_back({EventType::kAdded, nullptr, entry.object});
    } else if (old->object->resource_version() != entry.object->resource_version() || old->object->uid() != entry.object->uid()) {
      changes.push_back({EventType::kModified, old->object, entry.object});
    }
  }
  entries_ = std::move(entries);
  for (auto& index : filed_) index.clear();
  if (!filed_.empty()) {
    for (const Entry& entry : entries_) file(entry);
  }
  return changes;
}

CachedPtr Store::get(std::string_view key) const {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : found->object;
}

std::vector<CachedPtr> Store::list() const {
  const std::scoped_lock lock(mutex_);
  std::vector<CachedPtr> all;
  all.reserve(entries_.size());
  for (const Entry& entry : entries_) all.push_back(entry.object);
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
      if (const auto at = entries_.find(key); at != entries_.end()) found.push_back(at->object);
    }
    break;
  }
  return found;
}

}  // namespace fleetadm::kube
