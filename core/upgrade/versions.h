// Versions of fleetadm, as tags of its image say them, and which of them work together.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kubeclient/base/result.h"

namespace fleetadm::upgrade {

struct Version {
  int major = 0;
  int minor = 0;
  int patch = 0;
  auto operator<=>(const Version&) const = default;
};

/// "v1.2.3" or "1.2.3", with or without a suffix ("-rc1"); nothing else is a version.
std::optional<Version> parse_version(std::string_view text);

/// The tag of an image, where it is a version; else empty.
std::string version_of(std::string_view image);

/// The same image with another tag. kUsage where it is named by its digest alone.
Result<std::string> with_tag(const std::string& image, const std::string& tag);

/// How an agent stands to its hub. A hub works with agents of its own minor version and of the one before.
enum class Skew { kSame, kSupported, kTooOld, kNewer, kUnknown };
Skew skew_of(std::string_view hub, std::string_view agent);
std::string_view to_string(Skew skew);  // "same", "supported", "too old", "newer than the hub", "unknown"

}  // namespace fleetadm::upgrade
