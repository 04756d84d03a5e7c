// The stable words that say why a command failed: an error's document carries one of them, and help and documentation explain it.
#pragma once

#include <string_view>
#include <vector>

#include "kubeclient/base/result.h"

namespace fleetadm::commands {

struct Reason {
  std::string_view word;  // "Forbidden"
  Category category = Category::kInternal;
  std::string_view cause;
  std::string_view remedy;
};

/// Every word that an error's document may have as its reason, by alphabet. Words are added, never renamed: scripts compare them.
const std::vector<Reason>& error_reasons();

/// The row of an error's own reason; of its category where it has none, or one that is no row (webhooks make up their own).
const Reason& reason_of(const Error& error);

}  // namespace fleetadm::commands
