// ConversionReview of apiextensions.k8s.io, v1 and v1beta1: what a conversion webhook is asked, and whether its answer may be
// believed (docs/reference/kubernetes-api.md#custom-resource-definitions). Pure.
#pragma once

#include <string>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::sandbox::convert {

struct Review {
  std::string version;  // "v1" or "v1beta1"
  std::string uid;
  std::string to;  // the apiVersion that is wanted: "example.com/v2"
};

/// The first of a definition's conversionReviewVersions that is known here; empty where none is.
std::string review_version(const std::vector<std::string>& offered);

/// The text of the request. `objects` have their apiVersion and kind.
std::string review_request(const Review& review, const std::vector<Json>& objects);

/// The converted objects in the order in which they were sent (at least one was). Labels and annotations are the webhook's; all
/// other metadata is as it was sent. Else why the answer is refused, in kube-apiserver's words.
Result<std::vector<Json>> read_review(const Review& review, const std::vector<Json>& sent, const std::string& answer);

/// "conversion webhook for example.com/v1, Kind=Widget": how messages about an object's conversion begin.
std::string review_subject(const Json& object);

}  // namespace fleetadm::sandbox::convert
