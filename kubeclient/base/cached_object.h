// An object as caches keep it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "kubeclient/base/json.h"

namespace fleetadm::kube {

/// One cached object: identity decoded, the rest as compact JSON, deflated where it is long, that is decoded on demand.
/// metadata.managedFields is dropped.
class CachedObject {
 public:
  CachedObject(std::string key, const Json& object);
  const std::string& key() const { return key_; }
  const std::string& resource_version() const { return resource_version_; }
  const std::string& uid() const { return uid_; }
  Json decode() const;
  /// That it takes, beside its identity.
  std::size_t bytes() const { return text_.size(); }

 private:
  std::string key_;
  std::string resource_version_;
  std::string uid_;
  std::string text_;
  std::size_t plain_size_ = 0;  // bytes, of what is deflated; 0: the text is as it is
};
using CachedPtr = std::shared_ptr<const CachedObject>;

}  // namespace fleetadm::kube
