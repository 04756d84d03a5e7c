// ConversionReview of apiextensions.k8s.io: the question of an API server, and its answer. Pure.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/result.h"

namespace fleetadm::addon {

/// The body of the answer to the body of a request, of versions v1 and v1beta1. Where one of its objects cannot be converted the
/// answer is a failure that names it and says why. kInvalid: it is no such review, and there is nobody to answer.
Result<std::string> answer_conversion(std::string_view body);

}  // namespace fleetadm::addon
