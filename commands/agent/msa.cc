// fleetadm agent msa: the agent of the add-on managed-serviceaccount.
#include <algorithm>

#include "commands/agent/agent.h"
#include "core/api/kinds.h"
#include "core/msa/agent/account_agent.h"
#include "core/msa/agent/health_lease.h"
#include "kubeclient/config/in_cluster.h"

namespace fleetadm::commands {
namespace {

struct AccountsOptions {
  std::string hub_kubeconfig;
  std::string cluster;
  std::string health_address;
  std::string owner;
  bool lease = false;
  Duration look = msa::AccountAgentOptions().look;
};

void bind_accounts(FlagSet& flags, AccountsOptions& options) {
  Flag& file = flags.text(&options.hub_kubeconfig, "hub-kubeconfig", "Kubeconfig file of the hub");
  file.value_name = "FILE";
  file.complete = Complete::kFiles;
  flags.text(&options.cluster, "cluster-name", "Name of this cluster on the hub");
  flags.text(&options.owner, "owner-service-account",
             "Service account in --namespace that owns the others, so that they are deleted with it (default: none)");
  flags.boolean(&options.lease, "lease-health-check", "Renew a lease in --namespace that shows the hub that the agent is alive");
  flags.duration(&options.look, "secret-check-interval", "Time after which the next one of the accounts' Secrets is read again")
      .default_text = "10m";
  flags.text(&options.health_address, "health-address", "Address of the health and metrics server, such as :8000 (default: none)")
      .value_name = "HOST:PORT";
}

Status validate_accounts(const AccountsOptions& options, const std::vector<std::string>&) {
  if (options.hub_kubeconfig.empty()) return fail(Category::kUsage, "--hub-kubeconfig is required");
  if (options.cluster.empty()) return fail(Category::kUsage, "--cluster-name is required");
  if (options.look < std::chrono::seconds(1)) return fail(Category::kUsage, "--secret-check-interval must be at least 1s");
  return {};
}

Result<Report> run_accounts(Context& context, const AccountsOptions& options, const std::vector<std::string>&) {
  if (context.global().dry_run != kube::DryRun::kNone)
    return fail(Category::kUsage, "--dry-run does not apply to \"agent msa\", which is a long-running process");
  kube::ConfigOverrides of_hub;
  of_hub.kubeconfig = options.hub_kubeconfig;
  of_hub.interactive = false;
  FLEETADM_TRY(const auto hub, context.rest_config(of_hub));
  FLEETADM_TRY(const auto spoke, context.rest_config());
  msa::AccountAgentOptions agent;
  agent.cluster = options.cluster;
  agent.ns = context.global().config.ns;
  if (agent.ns.empty()) agent.ns = kube::in_cluster_namespace([&](const char* name) { return context.env(name); });
  if (agent.ns.empty()) agent.ns = std::string(api::kAgentAddonNamespace);
  agent.authority = spoke.ca_data;
  agent.owner = options.owner;
  agent.look = options.look;
  agent.tick = std::min(agent.tick, agent.look);
  controller::Manager::Options how;
  how.threads = 4;
  how.health_address = options.health_address;
  controller::Manager manager(how);
  const kube::Client member = context.client(spoke);
  msa::add_account_agent(manager, context.client(hub), member, agent);
  if (options.lease) msa::add_health_lease(manager, member, agent.ns);
  FLEETADM_CHECK(manager.run(context.stop()));
  return Report{};
}

}  // namespace

void register_agent_msa(Registry& registry) {
  Command command;
  command.path = "agent msa";
  command.target = Target::kSilent;
  command.group = "Programs";
  command.summary = "Keep tokens of a managed cluster's accounts on the hub";
  command.description =
      "For each ManagedServiceAccount in the cluster's namespace on the hub, keeps a ServiceAccount in --namespace of this "
      "cluster and, on the hub, a Secret of the same name with a token of it. The token is replaced after 80 % of its "
      "lifetime, and when the account was replaced. ServiceAccounts and Secrets that were not made for a "
      "ManagedServiceAccount are left alone. The add-on managed-serviceaccount runs it on managed clusters.\n\n"
      "The cluster is the one of --kubeconfig, and inside a pod the pod's own. --namespace is by default the "
      "pod's own, else open-cluster-management-agent-addon.";
  command.examples = {{"Outside of a cluster",
                       "fleetadm agent msa --kubeconfig spoke.kubeconfig --hub-kubeconfig hub.kubeconfig --cluster-name c1"}};
  command.make = invocation<AccountsOptions>(bind_accounts, validate_accounts, run_accounts);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
