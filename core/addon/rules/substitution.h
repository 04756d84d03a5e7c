// {{NAME}} in the text of a manifest.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/rollout/types.h"
#include "kubeclient/base/result.h"

namespace fleetadm::addon {

using Variables = std::map<std::string, std::string, std::less<>>;

inline constexpr std::size_t kMaxVariableBytes = 64UL << 10U;

/// `text` with each {{NAME}} replaced, from the left, once: what a value brings in is not looked at again. An unknown name, a
/// value's blanks and those around a name count as they are: unknown names give nothing. kInvalid: an {{ without }}, a value
/// larger than kMaxVariableBytes, or an answer larger than `limit`.
///
/// `text` is JSON. kUpstream takes any value, and a name may go on to a }} of the JSON itself. kStrict answers an error where a
/// value is not a piece of a JSON string (an unescaped quote, a lone backslash, a line break), and where an {{ ends outside the
/// string in which it began: the answer has the structure of the text.
Result<std::string> substitute(std::string_view text, const Variables& variables, std::size_t limit, rollout::Semantics conduct);

}  // namespace fleetadm::addon
