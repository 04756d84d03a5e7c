#include "core/cel/pattern.h"

#include <algorithm>
#include <re2/re2.h>
#include <string>

namespace fleetadm::cel {

namespace {

/// (?<name>…) as RE2 spells it: (?P<name>…).
std::string with_named_groups(std::string_view pattern) {
  std::string result;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      result += pattern[i++];
      result += pattern[i];
      continue;
    }
    if (pattern[i] == '[') in_class = true;
    if (pattern[i] == ']') in_class = false;
    const std::string_view rest = pattern.substr(i);
    if (!in_class && rest.starts_with("(?<") && rest.size() > 3 && rest[3] != '=' && rest[3] != '!') {
      result += "(?P<";
      i += 2;
      continue;
    }
    result += pattern[i];
  }
  return result;
}

}  // namespace

Result<std::shared_ptr<const re2::RE2>> compile_pattern(std::string_view pattern) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  auto compiled = std::make_shared<const re2::RE2>(with_named_groups(pattern), options);
  if (!compiled->ok()) return fail(Category::kInvalid, "error parsing regexp: " + compiled->error());
  return std::shared_ptr<const re2::RE2>(std::move(compiled));
}

Result<std::shared_ptr<const re2::RE2>> compile_pattern(std::string_view pattern, Work& work) {
  if (!work.spend(200 + pattern.size() * 20)) return fail(Category::kInvalid, "work limit exceeded");
  auto compiled = compile_pattern(pattern);
  if (compiled && !work.spend(static_cast<std::uint64_t>(std::max(0, (*compiled)->ProgramSize())) * 20)) {
    return fail(Category::kInvalid, "work limit exceeded");
  }
  return compiled;
}

bool matches(const re2::RE2& pattern, std::string_view text) {
  return pattern.Match(re2::StringPiece(text.data(), text.size()), 0, text.size(), re2::RE2::UNANCHORED, nullptr, 0);
}

}  // namespace fleetadm::cel
