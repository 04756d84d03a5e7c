// What was read last. OpenSSL tries each of its decoders for the key of each certificate, request and key, which takes a tenth of
// a millisecond, and one process reads the same few again and again: for each connection, each look at a kubeconfig, each
// signature.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kubeclient/base/encoding.h"

namespace fleetadm::pki {

/// The last `N` values, by the SHA-256 of the text that they were read from: the text, which may be a secret, is not kept. Any
/// thread.
template <class Value, std::size_t N>
class Recent {
 public:
  std::optional<Value> find(std::string_view text) const {
    const auto digest = sha256_hex(text);
    const std::lock_guard lock(mutex_);
    const auto known = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& one) { return one.digest == digest; });
    if (known == kept_.end()) return std::nullopt;
    return known->value;
  }
  void keep(std::string_view text, Value value) {
    auto digest = sha256_hex(text);
    const std::lock_guard lock(mutex_);
    kept_[next_] = {std::move(digest), std::move(value)};
    next_ = (next_ + 1) % kept_.size();
  }

 private:
  struct Kept {
    std::string digest;  // empty: nothing
    Value value{};
  };
  mutable std::mutex mutex_;
  std::array<Kept, N> kept_;
  std::size_t next_ = 0;
};

}  // namespace fleetadm::pki
