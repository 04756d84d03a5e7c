// Linked into a suite of server tests: its servers are the sandbox's. Left out is what a server in the test's own process cannot
// be: frozen, or served by the real controller manager (which the suite on real servers runs against a sandbox); what judges
// pods by real admission; what needs certificates of minutes, since a sandbox signs for a year; and what starts a sandbox of its
// own.
#include <cstdlib>
#include <string>

namespace {

/// FLEETADM_TEST_PART: of which cases, as GoogleTest's filter, without those.
std::string filter() {
  const std::string without =
      "ControllerManagerOnSandbox.*:PodsOnAServer.*:Demo.*:SandboxJoin.*:*SandboxStreams*:*SandboxMembers*:"
      "ProxyRotation.*:ProxyNetworks.*:EgressProxy.*:"
      "WorkDiff.E_AClusterThatDoesNotAnswerEndsByTheDeadline";
  const char* part = std::getenv("FLEETADM_TEST_PART");
  if (part == nullptr) return "-" + without;
  return part + std::string(*part == '-' ? ":" : "-") + without;
}

[[maybe_unused]] const bool kAsked =
    setenv("FLEETADM_TEST_SERVERS", "sandbox", 0) == 0 && setenv("GTEST_FILTER", filter().c_str(), 0) == 0;

}  // namespace
