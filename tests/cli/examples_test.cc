// Runs every example that help shows, in a scratch folder beside a sandbox; what would change something runs as a dry run.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <gtest/gtest.h>

#include "cli/app.h"
#include "tests/cli/case.h"
#include "tests/support/source_folder.h"

namespace fleetadm::cli_cases {
namespace {

constexpr int kSecondsOfExample = 400;  // a hundred programs beside two sandboxes, with sanitizers

struct Excused {
  std::string_view line;  // its beginning
  std::string_view why;
};
constexpr auto kExcused = std::to_array<Excused>({
    {"fleetadm accept c1", "needs an agent that asks to join; the end-to-end suites have one"},
    {"fleetadm reject c1 --csr", "needs the request that it names; the end-to-end suites have one"},
    {"fleetadm rejoin --mode hosted", "needs a hosted member; the end-to-end suites have one"},
    {"fleetadm upgrade agent --mode hosted", "needs a hosted member; the end-to-end suites have one"},
    {"fleetadm join --push", "needs a hub that dials clusters; the end-to-end suites have one"},
    {"fleetadm unjoin --push", "needs a hub that dials clusters; the end-to-end suites have one"},
    {"fleetadm cluster reconnect", "needs a hub that dials clusters; the end-to-end suites have one"},
    {"fleetadm agent msa", "runs until it is stopped, with the identities of an add-on's agent"},
    {"fleetadm agent run", "runs in a pod, or with a bootstrap kubeconfig that an agent uses up"},
    {"fleetadm gateway run", "listens on ports that may be taken; the end-to-end suites have one"},
    {"fleetadm get deploy", "needs a gateway and its clusters; the end-to-end suites have them"},
    {"fleetadm get pods", "needs a gateway and its clusters; the end-to-end suites have them"},
    {"fleetadm exec", "needs a gateway and its clusters; the end-to-end suites have them"},
    {"fleetadm logs", "needs a gateway and its clusters; the end-to-end suites have them"},
    {"fleetadm proxy", "needs a gateway and its clusters; the end-to-end suites have them"},
    {"fleetadm image load", "needs containerd"},
    {"fleetadm image push", "needs a registry"},
    {"fleetadm image save fleetadm.tar --platform", "needs the binary of another platform"},
    {"fleetadm in-pod", "needs a node that runs its pod; the cases of in_pod.case have one"},
    {"fleetadm agent scores", "runs until it is stopped, with the identities of an add-on's agent"},
    {"fleetadm msa exec-credential", "answers a client that knows a ClusterProfile; the end-to-end suites have one"},
});

/// Commands that cannot be a dry run; in the sandbox they run as they are.
constexpr auto kForReal = std::to_array<std::string_view>(
    {"hub run", "rollout run", "sandbox fault", "sandbox load", "sandbox kubeconfig", "sandbox node"});

bool excused(const std::string& line) {
  return std::any_of(kExcused.begin(), kExcused.end(), [&](const Excused& one) { return line.starts_with(one.line); });
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

std::string quoted(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

/// The line as it is run: placeholders filled in, and its own command as a dry run.
std::string runnable(const commands::Command& command, const std::string& line) {
  std::string text =
      replaced(replaced(replaced(line, "https://hub:6443", "$HUB"), "sha256:…", "$PIN"), "-token TOKEN", "-token $TOKEN");
  text = replaced(text, "register hub:6443", "register ${HUB#https://}");
  const bool real =
      line.find("--dry-run") != std::string::npos ||
      std::any_of(kForReal.begin(), kForReal.end(), [&](std::string_view path) { return command.path.starts_with(path); });
  std::string flags = real ? "" : "--dry-run=server ";
  if (command.path == "clean") flags += "--context c2 ";  // a hub without clusters
  if (command.path == "sandbox up" && line.find("--name") == std::string::npos) flags += "--name another ";
  // What is created must not be there yet.
  if (command.path == "placement create") text = replaced(text, "-n apps", "-n fresh");
  if (command.path == "addon create") text = replaced(text, " hello ", " fresh ");
  if (command.path == "work create") text = replaced(text, "apps/", "works/");
  const std::string call = "fleetadm " + command.path;
  const std::size_t at = text.rfind(call);
  if (at != std::string::npos) text.insert(at + std::string_view("fleetadm ").size(), flags);
  return text;
}

/// "sandbox faults" last: they make the sandbox fail.
std::string script() {
  const commands::Registry registry = cli::full_registry();
  std::string calm;
  std::string faults;
  for (const commands::Command& command : registry.commands()) {
    for (const commands::Example& example : command.examples) {
      if (excused(example.line)) continue;
      const bool endless = command.path == "hub run" || command.path == "rollout run" || command.path == "sandbox node" ||
                           (example.line + " ").find(" -w ") != std::string::npos || example.line.ends_with(" -f");
      const std::string call = "example " + command.path.substr(0, command.path.find(' ')) + " " +
                               quoted(runnable(command, example.line)) + (endless ? " 3\n" : "\n");
      (command.path.starts_with("sandbox fault") ? faults : calm) += call;
    }
  }
  return calm + faults;
}

TEST(Examples, OfEveryCommandRun) {
  Case one;
  one.run = ". " + std::string(testkit::source_folder()) + "/tests/cli/examples/setup.sh\n" + script() + "echo all were run";
  const Outcome outcome = run_case(one, std::getenv("FLEETADM_BINARY"), kSecondsOfExample);
  EXPECT_FALSE(outcome.timed_out);
  EXPECT_EQ(outcome.exit_code, 0) << "the setup ends with the number of its step";
  EXPECT_EQ(outcome.out, "all were run\n") << outcome.err;
}

}  // namespace
}  // namespace fleetadm::cli_cases
