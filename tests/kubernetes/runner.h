// Kubernetes' own end-to-end specs (tests/kube/suite) against one API server, several at a time.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kubeclient/base/result.h"

namespace fleetadm::kubernetes {

/// An API server with a Ready node, up for as long as this lives.
class Target {
 public:
  virtual ~Target() = default;
  virtual std::string kubeconfig_file() const = 0;
  virtual std::filesystem::path folder() const = 0;
};
/// A sandbox cluster in this process, and the process node.
Result<std::unique_ptr<Target>> start_sandbox_target();
/// kube-apiserver with its controller manager, and the process node: the control.
Result<std::unique_ptr<Target>> start_real_target();

/// How one spec ended.
struct Outcome {
  std::string state;    // "passed", "failed", "timedout", "panicked", "skipped"
  std::string message;  // of a failure: what ginkgo says, and where
  double seconds = 0;
};

struct SpecRun {
  std::map<std::string, Outcome> outcomes;  // by the spec's full name
  std::string trouble;                      // why there are none: the end of what was printed
  double seconds = 0;
};

struct SpecOptions {
  std::vector<std::string> specs;
  std::string content_type;  // of the typed clients
  int parallel = 4;
};

/// The folder with e2e.test and ginkgo: $FLEETADM_KUBE_SUITE, else what tests/kube/suite/build.sh answers (it builds them once).
const Result<std::string>& suite_programs();
SpecRun run_specs(const Target& target, const SpecOptions& options);

/// Lines of a file of tests/kubernetes; comments and empty lines are left out.
std::vector<std::string> lines_of(const std::string& file);

}  // namespace fleetadm::kubernetes
