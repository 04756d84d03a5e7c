// Regular expressions in RE2's syntax, as `matches` and the regex library take them.
#pragma once

#include <memory>
#include <string_view>

#include "core/cel/value.h"
#include "kubeclient/base/result.h"

namespace re2 {
class RE2;
}

namespace fleetadm::cel {

/// Category::kInvalid where it is no pattern.
Result<std::shared_ptr<const re2::RE2>> compile_pattern(std::string_view pattern);
/// The same while an expression runs: compiling is work, in proportion to the program it yields. An error also once the work is
/// used up.
Result<std::shared_ptr<const re2::RE2>> compile_pattern(std::string_view pattern, Work& work);
/// Whether any part of `text` matches.
bool matches(const re2::RE2& pattern, std::string_view text);

}  // namespace fleetadm::cel
