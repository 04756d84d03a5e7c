// Linked into a suite of server tests: its servers are the sandbox's.
#include <cstdlib>

namespace {

[[maybe_unused]] const int kAsked = setenv("FLEETADM_TEST_SERVERS", "sandbox", 0);

}  // namespace
