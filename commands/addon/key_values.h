// KEY=VALUE words of flags: labels and annotations.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kubeclient/base/result.h"

namespace fleetadm::commands {

using KeyValues = std::map<std::string, std::string>;

/// kUsage: no '=', a key that is given twice, or one (or a label's value) that the server would refuse.
Result<KeyValues> labels_of_words(const std::vector<std::string>& words);
Result<KeyValues> annotations_of_words(const std::vector<std::string>& words);

}  // namespace fleetadm::commands
