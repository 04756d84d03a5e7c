// A request's failure as the wire shows it: what becomes a metav1.Status. Everything that refuses a request answers with it; what
// only says why something cannot be had answers with an Error.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "kubeclient/base/json.h"

namespace fleetadm::apimachinery {

struct ApiError {
  int code = 500;
  std::string reason;
  std::string message;
  Json details = Json::object();
  int retry_after = 0;
  std::vector<std::string> warnings;  // of the write that failed
  std::string continue_token;         // in the Status' metadata, of an expired list
};
template <class T>
using ApiResult = tl::expected<T, ApiError>;
using ApiStatus = ApiResult<void>;

inline tl::unexpected<ApiError> api_fail(int code, std::string reason, std::string message) {
  ApiError error;
  error.code = code;
  error.reason = std::move(reason);
  error.message = std::move(message);
  return tl::unexpected(std::move(error));
}

}  // namespace fleetadm::apimachinery
