// kubectl itself as the judge: the same scripts (*.case) against a sandbox server and against a real kube-apiserver have to print
// the same and end with the same code, but for what two servers cannot have in common (normal_form.h) and for the deviations that
// are listed with their reasons (deviations.txt).
//
// FLEETADM_KUBECTLS=FOLDER:FOLDER… names further folders with a kubectl: the scripts run with each of them, too.
#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>

#include "tests/kubectl/normal_form.h"
#include "tests/kubectl/runner.h"
#include "tests/support/source_folder.h"

namespace fleetadm::kubectl {
namespace {

const Scripts& scripts() {
  static const Scripts all = read_scripts(testkit::source_folder() + "/tests/kubectl");
  return all;
}

/// Folders of further programs; the first is the equipment's, which is known when servers are.
std::vector<std::string> kubectl_folders() {
  std::vector<std::string> out = {""};
  const char* given = std::getenv("FLEETADM_KUBECTLS");
  std::istringstream in(given == nullptr ? "" : given);
  for (std::string folder; std::getline(in, folder, ':');) {
    if (!folder.empty()) out.push_back(folder);
  }
  return out;
}

struct Case {
  std::size_t program = 0;  // of kubectl_folders()
  const Group* group = nullptr;
  std::string name;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> out;
    for (std::size_t program = 0; program < kubectl_folders().size(); ++program) {
      for (const auto& group : scripts().groups) {
        auto name = (program == 0 ? "" : "Kubectl" + std::to_string(program + 1) + "_") + group.name;
        std::replace(name.begin(), name.end(), '-', '_');
        out.push_back({program, &group, std::move(name)});
      }
    }
    return out;
  }();
  return all;
}

/// The groups that this run of the program is asked for.
std::vector<const Group*> asked_for(std::size_t program) {
  std::set<std::string> names;
  const auto& unit = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < unit.total_test_suite_count(); ++i) {
    const auto& suite = *unit.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const auto& info = *suite.GetTestInfo(j);
      const std::string name = info.name();
      if (info.should_run()) names.insert(name.substr(name.find('/') + 1));
    }
  }
  std::vector<const Group*> out;
  for (const auto& one : cases()) {
    if (one.program == program && names.contains(one.name)) out.push_back(one.group);
  }
  return out;
}

const Run& results(std::size_t program) {
  static std::map<std::size_t, Run> all;
  if (const auto at = all.find(program); at != all.end()) return at->second;
  auto folder = kubectl_folders()[program];
  if (const auto& programs = testkit::KubeServer::programs(); folder.empty() && programs) folder = *programs;
  return all.emplace(program, run_groups(asked_for(program), folder)).first->second;
}

std::string shown(const Step& step, const GroupOutcome& group, const StepOutcome& outcome) {
  const auto text = [&](const std::string& raw) {
    const auto normal = normal_form(raw, group.folder);
    return step.sorted ? sorted_lines(normal) : normal;
  };
  return text(outcome.out) + "--- stderr\n" + text(outcome.err) + "--- exit " + std::to_string(outcome.exit_code) + "\n";
}

/// What is left of a step on both servers without its deviations, and those of them that were needed.
struct Comparison {
  std::string sandbox;
  std::string real;
  std::set<std::string> needed;
};

Comparison compare(const Step& step, const ServerPair::Outcome& group, std::size_t index) {
  Comparison out;
  out.sandbox = shown(step, group.sandbox, group.sandbox.steps[index]);
  out.real = shown(step, group.real, group.real.steps[index]);
  for (const auto& deviation : scripts().deviations) {
    if (std::find(step.but.begin(), step.but.end(), deviation.name) == step.but.end()) continue;
    const bool differed = out.sandbox != out.real;
    auto sandbox = without(out.sandbox, deviation);
    auto real = without(out.real, deviation);
    if (differed && (sandbox != out.sandbox || real != out.real)) out.needed.insert(deviation.name);
    out.sandbox = std::move(sandbox);
    out.real = std::move(real);
  }
  return out;
}

/// What is as it should be on one server whatever the other says.
void check_outcome(const Step& step, const StepOutcome& outcome, const char* server) {
  SCOPED_TRACE(std::string("on ") + server + ", which said:\n" + outcome.out + outcome.err);
  EXPECT_FALSE(outcome.timed_out) << "the command did not end";
  if (step.exit_code >= 0) {
    EXPECT_EQ(outcome.exit_code, step.exit_code);
  }
  EXPECT_TRUE(outcome.shown) << (step.until ? "never showed: " : "did not show: ") << step.shows;
}

void check_step(const Step& step, const ServerPair::Outcome& group, std::size_t index) {
  SCOPED_TRACE(step.source + "\n$ " + step.run);
  check_outcome(step, group.real.steps[index], "kube-apiserver");
  check_outcome(step, group.sandbox.steps[index], "the sandbox");
  const auto both = compare(step, group, index);
  if (both.sandbox != both.real) {
    ADD_FAILURE() << "- kube-apiserver, + sandbox:\n" << differences(both.real, both.sandbox);
  }
}

class KubectlScript : public ::testing::TestWithParam<Case> {};

TEST_P(KubectlScript, SaysTheSame) {
  FLEETADM_NEEDS_KUBE_SERVERS();
  ASSERT_EQ(scripts().problem, "");
  const auto& [program, group, name] = GetParam();
  const auto& run = results(program);
  const auto at = run.groups.find(group->name);
  ASSERT_NE(at, run.groups.end()) << run.trouble;
  ASSERT_EQ(at->second.sandbox.trouble, "");
  ASSERT_EQ(at->second.real.trouble, "");
  for (std::size_t i = 0; i < group->steps.size(); ++i) check_step(group->steps[i], at->second, i);
  RecordProperty("real_ms", static_cast<int>(at->second.real.took.count()));
  RecordProperty("sandbox_ms", static_cast<int>(at->second.sandbox.took.count()));
  RecordProperty("steps", static_cast<int>(group->steps.size()));
}

INSTANTIATE_TEST_SUITE_P(Scripts, KubectlScript, ::testing::ValuesIn(cases()),
                         [](const ::testing::TestParamInfo<Case>& one) { return one.param.name; });

/// A deviation that makes no difference any more has to go from the list.
TEST(KubectlDeviations, AreAllNeeded) {
  FLEETADM_NEEDS_KUBE_SERVERS();
  if (asked_for(0).size() != scripts().groups.size()) GTEST_SKIP() << "not all scripts run";
  const auto& run = results(0);
  std::set<std::string> needed;
  for (const auto& group : scripts().groups) {
    const auto at = run.groups.find(group.name);
    ASSERT_NE(at, run.groups.end()) << run.trouble;
    const auto steps = std::min(at->second.sandbox.steps.size(), at->second.real.steps.size());
    for (std::size_t i = 0; i < steps; ++i) needed.merge(compare(group.steps[i], at->second, i).needed);
  }
  for (const auto& deviation : scripts().deviations) {
    EXPECT_TRUE(needed.contains(deviation.name)) << deviation.name << " makes no difference any more: " << deviation.reason;
  }
}

}  // namespace
}  // namespace fleetadm::kubectl
