#include "commands/version/version.h"

#include "commands/version/build_facts.h"
#include "commands/version/libraries.h"
#include "core/install/supported.h"
#include "kubeclient/discovery/mapper.h"

namespace fleetadm::commands {
namespace {

struct VersionOptions {
  bool client = false;
};

#if defined(__x86_64__)
constexpr std::string_view kArch = "amd64";
#elif defined(__aarch64__)
constexpr std::string_view kArch = "arm64";
#else
constexpr std::string_view kArch = "unknown";
#endif

std::string skew_of(const kube::ServerVersion& server) {
  const std::string range = install::supported_range();
  switch (install::support_of(server)) {
    case install::Support::kTooOld: return "too old (supported: " + range + ")";
    case install::Support::kNewerThanTested: return "newer than tested (supported: " + range + ")";
    case install::Support::kSupported: return "supported (" + range + ")";
    case install::Support::kUnknown: break;
  }
  return "unknown (supported: " + range + ")";
}

bool chose_connection(const kube::ConfigOverrides& config) { return !config.kubeconfig.empty() || !config.context.empty(); }

Json client_version(const std::string& platform) {
  Json version = {{"gitVersion", FLEETADM_VERSION},   {"platform", platform},
                  {"compiler", kBuildFacts.compiler}, {"linkage", kBuildFacts.linked_statically ? "static" : "dynamic"},
                  {"hardened", kBuildFacts.hardened}, {"sandbox", kBuildFacts.sandbox},
                  {"libraries", library_versions()}};
  if (!kBuildFacts.commit.empty()) version["gitCommit"] = kBuildFacts.commit;
  return version;
}

Result<Report> run_version(Context& context, const VersionOptions& options, const std::vector<std::string>&) {
  const std::string platform = "linux/" + std::string(kArch);
  Report report;
  report.lines.push_back(std::string("Client Version: ") + FLEETADM_VERSION);
  if (context.global().output == "wide") report.lines.push_back("Client Platform: " + platform);
  const std::string& output = context.global().output;
  const bool wants_data = !output.empty() && output != "table" && output != "wide" && output != "name";
  if (wants_data) {
    report.data = {{"kind", "Version"}};
    report.data["clientVersion"] = client_version(platform);
  }
  if (options.client) return report;

  auto server = [&]() -> Result<kube::ServerVersion> {
    FLEETADM_TRY(const kube::Client client, context.client());
    return kube::server_version(client);
  }();
  if (!server && server.error().reason == "EmptyConfig" && !chose_connection(context.global().config)) {
    report.notes.emplace_back("The server was not asked for its version: there is no kubeconfig.");
    return report;
  }
  if (!server) {
    context.emit(report);
    return fail(server.error()
                    .wrap("cannot read the server's version")
                    .with_hint(server.error().hint.empty() ? "\"fleetadm version --client\" does not contact a server"
                                                           : server.error().hint));
  }
  const std::string skew = skew_of(*server);
  report.lines.push_back("Server Version: " + server->git_version);
  report.lines.push_back("Server Skew: " + skew);
  if (wants_data) {
    at_or_make(report.data, {"serverVersion", "gitVersion"}) = server->git_version;
    at_or_make(report.data, {"serverVersion", "major"}) = server->major;
    at_or_make(report.data, {"serverVersion", "minor"}) = server->minor;
    at_or_make(report.data, {"skew"}) = skew;
  }
  return report;
}

}  // namespace

void register_version(Registry& registry) {
  Command command;
  command.path = "version";
  command.group = "Other";
  command.summary = "Print the client and server versions";
  command.description =
      "Prints fleetadm's own version, the Kubernetes version of the server (a hub or a managed cluster) that the kubeconfig "
      "context names, and whether that version is one that fleetadm supports. Without any kubeconfig only the client's "
      "version is printed. With -o json or yaml also how this binary was built: its commit, compiler and libraries.";
  command.examples = {
      {"The versions of both sides", "fleetadm version"},
      {"Only the client version, for a script", "fleetadm version --client -o jsonpath='{.clientVersion.gitVersion}'"}};
  command.make = invocation<VersionOptions>(
      [](FlagSet& flags, VersionOptions& options) {
        flags.boolean(&options.client, "client", "print only the client version; do not contact a server");
      },
      [](const VersionOptions&, const std::vector<std::string>&) -> Status { return {}; }, run_version);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
