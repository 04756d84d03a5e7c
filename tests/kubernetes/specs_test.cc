// Kubernetes' own end-to-end specs as a client that no one here wrote: those of specs.txt pass on a kube-apiserver without a
// kubelet, and have to pass on the sandbox, with typed clients that speak JSON and with such that speak protobuf.
//
// FLEETADM_SPECS_ON=kubernetes runs the same list on a real server: the control, which CI does not need.
#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <thread>

#include "tests/kubernetes/runner.h"
#include "tests/support/kube_servers.h"

namespace fleetadm::kubernetes {
namespace {

struct Case {
  std::string encoding;  // "Json", "Protobuf"
  std::string spec;
  std::string name;  // of the test
};

std::string name_of_case(const std::string& encoding, std::size_t index, const std::string& spec) {
  std::string out = encoding + "_" + std::to_string(index + 1);
  bool word = false;
  for (const char c : spec) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain && !word) out += '_';
    if (plain) out += c;
    word = plain;
  }
  return out;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> out;
    const auto specs = lines_of("specs.txt");
    for (const char* encoding : {"Json", "Protobuf"}) {
      for (std::size_t i = 0; i < specs.size(); ++i) out.push_back({encoding, specs[i], name_of_case(encoding, i, specs[i])});
    }
    return out;
  }();
  return all;
}

/// Those of an encoding that this run of the program is asked for.
std::vector<std::string> asked_for(const std::string& encoding) {
  std::vector<std::string> out;
  const auto& program = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < program.total_test_suite_count(); ++i) {
    const auto& suite = *program.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const auto& info = *suite.GetTestInfo(j);
      if (!info.should_run()) continue;
      for (const auto& one : cases()) {
        if (one.encoding == encoding && std::string(info.name()).ends_with("/" + one.name)) out.push_back(one.spec);
      }
    }
  }
  return out;
}

SpecRun run_encoding(const std::string& encoding) {
  const char* on = std::getenv("FLEETADM_SPECS_ON");
  const bool real = on != nullptr && std::string_view(on) == "kubernetes";
  auto target = real ? start_real_target() : start_sandbox_target();
  if (!target) {
    SpecRun out;
    out.trouble = target.error().message;
    return out;
  }
  const auto type = encoding == "Json" ? "application/json" : "application/vnd.kubernetes.protobuf";
  // The specs wait more than they compute.
  const auto parallel = std::clamp(static_cast<int>(std::thread::hardware_concurrency()) * 2, 4, 12);
  return run_specs(**target, {.specs = asked_for(encoding), .content_type = type, .parallel = parallel});
}

const SpecRun& results(const std::string& encoding) {
  static std::map<std::string, SpecRun> all;
  if (const auto at = all.find(encoding); at != all.end()) return at->second;
  return all.emplace(encoding, run_encoding(encoding)).first->second;
}

class KubernetesSpec : public ::testing::TestWithParam<Case> {};

TEST_P(KubernetesSpec, Passes) {
  if (const auto& programs = suite_programs(); !programs) {
    if (testkit::in_ci()) FAIL() << programs.error().message << "; " << programs.error().hint;
    GTEST_SKIP() << programs.error().message << "; " << programs.error().hint;
  }
  FLEETADM_NEEDS_KUBE_SERVERS();  // specs call kubectl, which comes with them
  const auto& run = results(GetParam().encoding);
  const auto at = run.outcomes.find(GetParam().spec);
  ASSERT_NE(at, run.outcomes.end()) << "the spec did not run: " << run.trouble;
  EXPECT_EQ(at->second.state, "passed") << at->second.message;
  RecordProperty("spec_seconds", std::to_string(at->second.seconds));
}

INSTANTIATE_TEST_SUITE_P(EndToEnd, KubernetesSpec, ::testing::ValuesIn(cases()),
                         [](const ::testing::TestParamInfo<Case>& one) { return one.param.name; });

}  // namespace
}  // namespace fleetadm::kubernetes
