// Requests whose clients leave before the head of an answer.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

#include "kubeclient/base/result.h"

namespace fleetadm::proxy {

/// What such a request ends with. Nobody reads it.
inline Error client_left() {
  Error error;
  error.category = Category::kCancelled;
  error.message = "the client has left";
  return error;
}

/// Calls a function, once, when a stop is requested; at once where it was before. It may be dropped from within the call.
using WhenLeft = std::unique_ptr<std::stop_callback<std::function<void()>>>;

/// Null for those that never stop.
inline WhenLeft when_left(std::stop_token left, std::function<void()> then) {
  if (!left.stop_possible()) return nullptr;
  return std::make_unique<WhenLeft::element_type>(std::move(left), std::move(then));
}

}  // namespace fleetadm::proxy
