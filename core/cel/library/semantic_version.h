// Semantic versions (semver.org 2.0.0), strictly: MAJOR.MINOR.PATCH with optional pre-release and build parts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/result.h"

namespace fleetadm::cel {

struct SemanticVersion {
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  std::uint64_t patch = 0;
  std::vector<std::string> pre_release;
  std::vector<std::string> build;

  static Result<SemanticVersion> parse(std::string_view text);
  /// By precedence: build parts do not count.
  int compare(const SemanticVersion& other) const;
  std::string to_string() const;
};

}  // namespace fleetadm::cel
