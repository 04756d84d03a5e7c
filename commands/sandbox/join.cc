#include "commands/sandbox/join.h"

#include <algorithm>

#include "commands/framework/command.h"

namespace fleetadm::commands {
namespace {

/// The context of a command that runs inside another, on one cluster of the sandbox.
class ClusterContext final : public Context {
 public:
  ClusterContext(Context& outer, std::string kubeconfig, std::string name) : outer_(outer), globals_(outer.global()) {
    globals_.config = {};
    globals_.config.kubeconfig = std::move(kubeconfig);
    globals_.config.context = std::move(name);
  }
  const GlobalOptions& global() const override { return globals_; }
  Result<kube::RestConfig> rest_config() override { return outer_.rest_config(globals_.config); }
  Result<kube::RestConfig> rest_config(const kube::ConfigOverrides& overrides) override { return outer_.rest_config(overrides); }
  Result<kube::Client> client() override {
    FLEETADM_TRY(const auto config, rest_config());
    return outer_.client(config);
  }
  kube::Client client(const kube::RestConfig& config) override { return outer_.client(config); }
  Result<std::string> ns() override { return std::string("default"); }
  Clock& clock() override { return outer_.clock(); }
  Progress& progress() override { return outer_.progress(); }
  Terminal& terminal() override { return outer_.terminal(); }
  std::stop_token stop() override { return outer_.stop(); }
  std::string env(std::string_view name) const override { return outer_.env(name); }
  std::string executable() const override { return outer_.executable(); }
  void emit(const Report& report) override { outer_.emit(report); }

 private:
  Context& outer_;
  GlobalOptions globals_;
};

using Words = std::vector<std::pair<std::string, std::string>>;

/// Runs a registered command with flags as they would be typed. Secrets among them stay in this process.
Result<Report> run_command(Context& context, const Registry& registry, const std::string& path, const Words& flags,
                           const std::vector<std::string>& args = {}) {
  const auto command =
      std::find_if(registry.commands().begin(), registry.commands().end(), [&](const Command& one) { return one.path == path; });
  if (command == registry.commands().end()) return fail(Category::kInternal, "there is no command " + path);
  auto call = command->make();
  for (const auto& [name, value] : flags) {
    const auto flag = std::find_if(call.flags.flags().begin(), call.flags.flags().end(),
                                   [&, wanted = &name](const Flag& one) { return one.name == *wanted; });
    if (flag == call.flags.flags().end()) return fail(Category::kInternal, path + " has no flag --" + name);
    FLEETADM_CHECK(flag->set(value));
  }
  FLEETADM_TRY(auto report, call.run(context, args));
  if (!report.failures.empty()) return fail(report.failures.front());
  return report;
}

}  // namespace

Status join_sandbox(Context& context, const SandboxFleet& fleet) {
  Registry registry;
  register_all(registry);
  ClusterContext hub(context, fleet.kubeconfig, fleet.sandbox + "-hub");
  FLEETADM_TRY(const auto ticket, run_command(hub, registry, "init", {{"wait", "true"}, {"show-token", "true"}}));
  for (const auto& name : fleet.clusters) {
    ClusterContext spoke(context, fleet.kubeconfig, fleet.sandbox + "-" + name);
    const auto joined = run_command(spoke, registry, "join",
                                    {{"cluster-name", name},
                                     {"hub-apiserver", str(ticket.data, {"hub-apiserver"})},
                                     {"hub-token", str(ticket.data, {"hub-token"})},
                                     {"ca-cert-hash", str(ticket.data, {"ca-cert-hash"})}});
    if (!joined) return fail(joined.error().wrap("cluster " + name + " cannot join"));
  }
  if (fleet.clusters.empty()) return {};
  FLEETADM_CHECK(run_command(hub, registry, "accept", {{"yes", "true"}, {"wait", "available"}}, fleet.clusters));
  return {};
}

}  // namespace fleetadm::commands
