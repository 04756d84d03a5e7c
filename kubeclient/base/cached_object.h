// An object as caches keep it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kubeclient/base/json.h"

namespace fleetadm::kube {

/// One cached object: identity decoded, the rest as compact JSON, deflated where it is long, that is decoded on demand.
/// metadata.managedFields is dropped. A hub has very many small ones, so nothing of them is kept twice.
class CachedObject {
 public:
  CachedObject(std::string key, Json object);
  const std::string& key() const { return key_; }
  // These two are valid as long as the object.
  std::string_view resource_version() const { return {block_.get(), version_size_}; }
  std::string_view uid() const { return {block_.get() + version_size_, uid_size_}; }
  Json decode() const;
  /// That it takes, beside its identity.
  std::size_t bytes() const { return text_size_; }

 private:
  std::string_view text() const { return {block_.get() + version_size_ + uid_size_, text_size_}; }

  std::string key_;
  std::unique_ptr<char[]> block_;  // version, uid, text
  std::uint32_t version_size_ = 0;
  std::uint32_t uid_size_ = 0;
  std::uint32_t text_size_ = 0;
  std::uint32_t plain_size_ : 31 = 0;  // bytes, of what is deflated; 0: the text is as it is
  bool is_named_by_key_ : 1 = false;
};
using CachedPtr = std::shared_ptr<const CachedObject>;

}  // namespace fleetadm::kube
