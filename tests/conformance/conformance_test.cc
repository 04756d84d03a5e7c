// The same expectations of the sandbox and of kube-apiserver (docs/reference/kubernetes-api.md).
#include <gtest/gtest.h>

#include "tests/conformance/lab.h"

namespace fleetadm::conformance {
namespace {

enum class Which { kSandbox, kReal };

/// One of each, started when the first check asks and stopped after the last.
std::map<Which, std::unique_ptr<Server>>& servers() {
  static std::map<Which, std::unique_ptr<Server>> all;
  return all;
}
Server& server(Which which) {
  auto& place = servers()[which];
  if (!place) place = which == Which::kSandbox ? start_sandbox() : start_real();
  return *place;
}

struct Case {
  Which which;
  Check check;
};

class Conformance : public ::testing::TestWithParam<Case> {
 protected:
  static void TearDownTestSuite() { servers().clear(); }
};

TEST_P(Conformance, Holds) {
  const auto& [which, check] = GetParam();
  Server& under_test = server(which);
  if (const auto why = under_test.absent(); !why.empty()) {
    if (which == Which::kReal) GTEST_SKIP() << why;
    FAIL() << why;
  }
  if (const auto known = under_test.deviations().find(check.id); known != under_test.deviations().end())
    GTEST_SKIP() << "known deviation: " << known->second;
  Lab lab(under_test);
  check.run(lab);
}

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const auto which : {Which::kSandbox, Which::kReal}) {
    for (const auto& check : all_checks()) out.push_back({which, check});
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Wire, Conformance, ::testing::ValuesIn(cases()), [](const ::testing::TestParamInfo<Case>& one) {
  return std::string(one.param.which == Which::kSandbox ? "Sandbox_" : "Real_") + one.param.check.id;
});

}  // namespace
}  // namespace fleetadm::conformance
