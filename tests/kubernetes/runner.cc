#include "tests/kubernetes/runner.h"

#include <chrono>
#include <fstream>
#include <sstream>

#include "core/sandbox/node/child.h"
#include "kubeclient/base/json.h"
#include "tests/support/equipment.h"
#include "tests/support/kube_servers.h"
#include "tests/support/sandbox_node.h"
#include "tests/support/source_folder.h"

namespace fleetadm::kubernetes {
namespace fs = std::filesystem;
namespace {

constexpr auto kLongest = std::chrono::minutes(10);
constexpr std::string_view kSuiteName = "Kubernetes e2e suite ";

Result<std::string> find_suite() {
  auto folder = testkit::equipment("FLEETADM_KUBE_SUITE", "tests/kube/suite/build.sh", {"e2e.test", "ginkgo"}, "");
  if (!folder) return fail(folder.error().wrap("no end-to-end suite of Kubernetes"));
  return folder;
}

/// A name as a regular expression.
std::string literally(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (std::string_view("\\.+*?()|[]{}^$").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string end_of(const fs::path& file, std::size_t most) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  const auto whole = text.str();
  return whole.size() <= most ? whole : whole.substr(whole.size() - most);
}

std::string full_name(const Json& report) {
  std::string out;
  for (const auto& part : string_list_at(report, {"ContainerHierarchyTexts"})) out += part + " ";
  return out + str(report, {"LeafNodeText"});
}

Outcome outcome_of(const Json& report) {
  Outcome out;
  out.state = str(report, {"State"});
  out.seconds = static_cast<double>(num(report, {"RunTime"})) / 1e9;
  if (out.state == "passed") return out;
  const auto tell = [&](const Json& failure) {
    out.message += str(failure, {"Message"}) + "\n  at " + str(failure, {"Location", "FileName"}) + ":" +
                   std::to_string(num(failure, {"Location", "LineNumber"})) + "\n";
    if (const auto panic = str(failure, {"ForwardedPanic"}); !panic.empty()) out.message += "  " + panic + "\n";
  };
  if (const Json* failure = find(report, {"Failure"})) tell(*failure);
  for (const Json& more : list_at(report, {"AdditionalFailures"})) {
    if (const Json* failure = find(more, {"Failure"})) tell(*failure);
  }
  auto written = str(report, {"CapturedGinkgoWriterOutput"});
  constexpr std::size_t kMax = 4000;
  if (written.size() > kMax) written = "…" + written.substr(written.size() - kMax);
  out.message += written;
  return out;
}

void read_report(const fs::path& file, SpecRun& into) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  const auto reports = parse_json(text.str());
  if (!reports || !reports->is_array()) return;
  for (const Json& suite : *reports) {
    for (const Json& report : list_at(suite, {"SpecReports"})) {
      const auto kind = str(report, {"LeafNodeType"});
      if (kind == "It" && str(report, {"State"}) != "skipped") {
        into.outcomes[full_name(report)] = outcome_of(report);
      } else if (kind != "It" && str(report, {"State"}) == "failed") {
        into.trouble += kind + ": " + outcome_of(report).message;
      }
    }
  }
}

}  // namespace

const Result<std::string>& suite_programs() {
  static const Result<std::string> folder = find_suite();
  return folder;
}

std::vector<std::string> lines_of(const std::string& file) {
  std::ifstream in(testkit::source_folder() + "/tests/kubernetes/" + file);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.front() != '#') out.push_back(line);
  }
  return out;
}

SpecRun run_specs(const Target& target, const SpecOptions& options) {
  SpecRun out;
  if (!suite_programs()) {
    out.trouble = suite_programs().error().message;
    return out;
  }
  const auto& programs = *suite_programs();
  const auto folder = target.folder() / "specs";
  std::error_code failed;
  fs::create_directories(folder, failed);
  std::string focus;
  for (const auto& spec : options.specs) focus += (focus.empty() ? "" : "|") + literally(spec);
  sandbox::ChildSpec child;
  child.program = programs + "/ginkgo";
  child.args = {"--procs=" + std::to_string(options.parallel),
                "--no-color",
                "--succinct",
                "--timeout=" + std::to_string(std::chrono::seconds(kLongest).count()) + "s",
                "--output-dir=" + folder.string(),
                "--json-report=report.json",
                "--focus=^" + std::string(kSuiteName) + "(" + focus + ")$",
                programs + "/e2e.test",
                "--",
                "--kubeconfig=" + target.kubeconfig_file(),
                "--kube-api-content-type=" + options.content_type,
                "--provider=skeleton",
                "--minStartupPods=0",
                "--allowed-not-ready-nodes=10",
                "--num-nodes=1",
                "--dump-logs-on-failure=false"};
  child.environment = testkit::clean_environment();
  if (const auto& kube = testkit::KubeServer::programs()) child.args.push_back("--kubectl-path=" + *kube + "/kubectl");
  child.folder = folder.string();
  child.output_file = (folder / "ginkgo.log").string();
  const auto begun = std::chrono::steady_clock::now();
  auto started = sandbox::Child::start(child);
  if (!started) {
    out.trouble = started.error().message;
    return out;
  }
  if (!started->wait(kLongest + std::chrono::seconds(30))) started->stop(std::chrono::seconds(5));
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  read_report(folder / "report.json", out);
  if (out.outcomes.empty() && out.trouble.empty()) out.trouble = end_of(folder / "ginkgo.log", 4000);
  return out;
}

}  // namespace fleetadm::kubernetes
