#include "core/install/supported.h"

#include <charconv>

namespace fleetadm::install {
namespace {

// The first with ValidatingAdmissionPolicy v1 and its authorizer, which init installs, and the newest that the suites run on.
constexpr int kOldestMinor = 30;
constexpr int kNewestMinor = 35;

}  // namespace

Support support_of(const kube::ServerVersion& version) {
  int minor = -1;  // "35", or "35+" where a provider adds a plus
  std::from_chars(version.minor.data(), version.minor.data() + version.minor.size(), minor);
  if (version.major != "1" || minor < 0) return Support::kUnknown;
  if (minor < kOldestMinor) return Support::kTooOld;
  return minor > kNewestMinor ? Support::kNewerThanTested : Support::kSupported;
}

std::string supported_range() { return "1." + std::to_string(kOldestMinor) + " to 1." + std::to_string(kNewestMinor); }

}  // namespace fleetadm::install
