// Status feedback: values of live objects that travel back to the hub (docs/reference/work.md#status-feedback). Pure.
#pragma once

#include <cstddef>
#include <string>

#include "kubeclient/base/json.h"

namespace fleetadm::work {

struct FeedbackOptions {
  bool raw_json = false;              // gate RawFeedbackJsonString
  std::size_t max_raw_length = 1024;  // bytes
};

struct FeedbackResult {
  Json values = Json::array();  // {name, fieldValue}; of a name that several rules give, the last
  std::string error;            // some value could not be read; the others are there
};

/// One entry of feedbackRules.
FeedbackResult feedback_of_rule(const Json& rule, const Json& object, const FeedbackOptions& options);
/// All of them.
FeedbackResult feedback_of(const Json& rules, const Json& object, const FeedbackOptions& options);

}  // namespace fleetadm::work
