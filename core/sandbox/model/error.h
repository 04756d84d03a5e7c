// Failures as the wire shows them: a metav1.Status (docs/reference/kubernetes-api.md#errors).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/apimachinery/api_error.h"
#include "core/apimachinery/causes.h"
#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::sandbox {

struct Kind;

using apimachinery::api_fail;
using apimachinery::ApiError;
using apimachinery::ApiResult;
using apimachinery::ApiStatus;

// Causes with the words of Kubernetes' field errors.
using apimachinery::bad_value;
using apimachinery::Cause;
using apimachinery::duplicate;
using apimachinery::forbidden_field;
using apimachinery::required;
using apimachinery::unsupported;

tl::unexpected<ApiError> bad_request(std::string message);
tl::unexpected<ApiError> not_found(const Kind& kind, const std::string& name);
tl::unexpected<ApiError> already_exists(const Kind& kind, const std::string& name, bool deleting = false);
tl::unexpected<ApiError> modified_meanwhile(const Kind& kind, const std::string& name, std::string why = {});
/// 422 with one cause an entry; `name` may be empty.
tl::unexpected<ApiError> invalid(const Kind& kind, const std::string& name, const std::vector<Cause>& causes);
/// 422 of options: kind "ListOptions" and so on, group meta.k8s.io.
tl::unexpected<ApiError> invalid_options(const std::string& options_kind, const std::string& field, const std::string& message,
                                         const std::string& reason = "FieldValueForbidden");
/// The same with several.
tl::unexpected<ApiError> invalid_options(const std::string& options_kind, const std::vector<Cause>& causes);
/// 400: what was sent is named otherwise than the URL says, or not at all.
tl::unexpected<ApiError> other_name(const std::string& given, const std::string& in_url);
/// 403 of an object: `configmaps "x" is forbidden: why`.
tl::unexpected<ApiError> forbidden(const Kind& kind, const std::string& name, const std::string& why);
/// An error of the rest of the program as the wire shows it: kConflict 409, kInvalid 422 or its code, else 500.
ApiError from_error(const Error& error);

Json status_of(const ApiError& error);

}  // namespace fleetadm::sandbox
