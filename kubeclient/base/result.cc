#include "kubeclient/base/result.h"

namespace fleetadm {

Error Error::wrap(std::string_view prefix) const& {
  Error copy = *this;
  copy.message = std::string(prefix) + ": " + message;
  return copy;
}

Error Error::with_hint(std::string text) const& {
  Error copy = *this;
  copy.hint = std::move(text);
  return copy;
}

Error Error::with_cluster(std::string name) const& {
  Error copy = *this;
  copy.cluster = std::move(name);
  return copy;
}

tl::unexpected<Error> fail(Category category, std::string message, std::string hint) {
  Error error;
  error.category = category;
  error.message = std::move(message);
  error.hint = std::move(hint);
  return tl::unexpected(std::move(error));
}

tl::unexpected<Error> fail(Error error) { return tl::unexpected(std::move(error)); }

std::string_view to_string(Category category) {
  switch (category) {
    case Category::kInternal: return "Internal";
    case Category::kCancelled: return "Cancelled";
    case Category::kPartial: return "Partial";
    case Category::kAuth: return "Auth";
    case Category::kNotFound: return "NotFound";
    case Category::kTimeout: return "Timeout";
    case Category::kUsage: return "Usage";
    case Category::kConflict: return "Conflict";
    case Category::kInvalid: return "Invalid";
    case Category::kUnavailable: return "Unavailable";
    case Category::kTls: return "Tls";
    case Category::kGone: return "Gone";
    case Category::kUnsupported: return "Unsupported";
  }
  return "Internal";
}

}  // namespace fleetadm
