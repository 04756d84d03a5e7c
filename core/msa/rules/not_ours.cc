#include "core/msa/rules/not_ours.h"

#include <utility>

namespace fleetadm::msa {

Error not_ours(std::string message, std::string hint) {
  Error error;
  error.category = Category::kConflict;
  error.reason = kNotOurs;
  error.message = std::move(message);
  error.hint = std::move(hint);
  return error;
}

}  // namespace fleetadm::msa
