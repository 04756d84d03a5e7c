#include "commands/hub/run.h"

#include "commands/hub/hub.h"
#include "core/addon/webhook/keeper.h"
#include "core/controller/memory.h"
#include "core/hub/hub.h"
#include "kubeclient/base/names.h"
#include "kubeclient/config/kubeconfig.h"
#include "kubeclient/rest/kill_hook.h"
#include "kubeclient/transport/endpoint.h"

namespace fleetadm::commands {
namespace {

constexpr const char* kAuto = "auto";

void bind(FlagSet& flags, HubRunOptions& options) {
  Flag& elect = flags.text(
      &options.leader_elect, "leader-elect",
      "Use leader election, so that only one of several replicas is active; with --push, each dials its part of the members");
  elect.arity = Arity::kOptionalValue;
  elect.no_value = "true";
  elect.default_text = "true in a pod";
  elect.complete = Complete::kValues;
  elect.values = {kAuto, "true", "false"};
  Flag& health =
      flags.text(&options.health_address, "health-address", "Serve /healthz, /readyz and /metrics on this address (plain HTTP)");
  health.value_name = "HOST:PORT";
  Flag& webhook = flags.text(&options.webhook_address, "webhook-address",
                             "Serve the conversion between the versions of add-ons on this address (HTTPS)");
  webhook.value_name = "HOST:PORT";
  webhook.default_text = "a free loopback port if the API server is on a loopback address, otherwise none";
  Flag& url = flags.text(&options.webhook_url, "webhook-url", "URL at which the API server reaches --webhook-address");
  url.value_name = "URL";
  url.default_text = "the address itself if it is a loopback address, otherwise the Service that init installs";
  flags
      .duration(&options.leader_timing.lease, "leader-elect-lease-duration",
                "Time after which another replica takes over from a leader that renews nothing")
      .default_text = "12s";
  flags
      .duration(&options.leader_timing.renew_deadline, "leader-elect-renew-deadline",
                "Time after which a leader that cannot renew its lease gives up")
      .default_text = "8s";
  flags.duration(&options.leader_timing.retry, "leader-elect-retry-period", "Time between two attempts to get or renew the lease")
      .default_text = "2s";
  Flag& users = flags.texts(&options.auto_approve_users, "auto-approve-user",
                            "Approve certificate requests from this user automatically, and accept each of its "
                            "clusters once; repeatable");
  users.value_name = "USER";
  bind_hub_drivers(flags, options.drivers);
  flags.boolean(&options.cluster_profiles, "cluster-profiles",
                "Keep a ClusterProfile of each cluster in the namespaces that its cluster sets are bound to, and copy tokens of "
                "managed service accounts there");
  flags.boolean(
      &options.push, "push",
      "Dial the clusters that joined with `join --push`: probe them, apply their works and renew the hub's tokens there");
  bind_push_health(flags, options.push_health);
  flags
      .comma_texts(&options.labels, "labels",
                   "Labels for the namespaces, roles, bindings, leases and cluster sets that the hub creates")
      .value_name = "KEY=VALUE,...";
}

Result<std::map<std::string, std::string>> labels_of(const std::vector<std::string>& given) {
  std::map<std::string, std::string> labels;
  for (const std::string& one : given) {
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos) return fail(Category::kUsage, "--labels \"" + one + "\" is not KEY=VALUE");
    const std::string key = one.substr(0, equals);
    const std::string value = one.substr(equals + 1);
    for (const auto& problems : {qualified_name_problems(key), label_value_problems(value)}) {
      if (!problems.empty()) return fail(Category::kUsage, "--labels \"" + one + "\": " + problems.front());
    }
    labels[key] = value;
  }
  return labels;
}

Result<Report> run_hub(Context& context, const HubRunOptions& options, const std::vector<std::string>&) {
  if (context.global().dry_run != kube::DryRun::kNone) {
    return fail(Category::kUsage, "--dry-run does not apply to \"hub run\", which is a long-running process",
                "use \"fleetadm init --dry-run=server\" to see the objects that would be created");
  }
  // Controllers are many small threads' worth of short-lived JSON: one arena a thread would keep what each of them freed.
  controller::keep_memory_small();
  FLEETADM_TRY(const kube::RestConfig config, context.rest_config());
  const bool in_pod = !context.env("KUBERNETES_SERVICE_HOST").empty();
  hub::HubOptions hub_options;
  if (const std::string& ns = context.global().config.ns; !ns.empty()) {
    hub_options.ns = ns;
  } else if (const std::string pod_ns = context.env("POD_NAMESPACE"); !pod_ns.empty()) {
    hub_options.ns = pod_ns;
  }
  hub_options.leader_elect = options.leader_elect == kAuto ? in_pod : options.leader_elect == "true";
  hub_options.identity = context.env("POD_NAME");
  hub_options.health_address = options.health_address;
  // An API server of this machine can call back.
  hub_options.webhook_address =
      options.webhook_address.empty() && kube::is_loopback_server(config.server) ? "127.0.0.1:0" : options.webhook_address;
  hub_options.webhook_url = options.webhook_url;
  hub_options.auto_approve_users = options.auto_approve_users;
  hub_options.cluster_profiles = options.cluster_profiles;
  hub_options.push = options.push;
  hub_options.push_period = options.push_health.probe_period;
  hub_options.push_holds = {options.push_health.failure_hold, options.push_health.success_hold};
  hub_options.push_give_up_after = options.push_health.give_up_after;
  hub_options.csr = options.drivers.csr();
  FLEETADM_TRY(hub_options.awsirsa, awsirsa_of(options.drivers));
  FLEETADM_TRY(hub_options.labels, labels_of(options.labels));
  hub_options.leader_timing = options.leader_timing;
  hub_options.gate = std::make_shared<kube::WriteGate>();
  kube::install_kill_hook(*hub_options.gate);
  FLEETADM_CHECK(hub::run_hub(config, hub_options, context.stop()));
  return Report{};
}

}  // namespace

Status validate_hub_run(const HubRunOptions& options) {
  if (options.leader_elect != kAuto && options.leader_elect != "true" && options.leader_elect != "false") {
    return fail(Category::kUsage, "--leader-elect must be true or false, not \"" + options.leader_elect + "\"");
  }
  for (const std::string& user : options.auto_approve_users) {
    if (user.empty()) return fail(Category::kUsage, "--auto-approve-user requires a user name");
  }
  FLEETADM_CHECK(validate_hub_drivers(options.drivers));
  FLEETADM_CHECK(validate_push_health(options.push_health, options.push));
  if (options.webhook_address.empty() && !options.webhook_url.empty())
    return fail(Category::kUsage, "--webhook-url requires --webhook-address");
  if (!options.webhook_address.empty())
    FLEETADM_CHECK(addon::check_webhook({options.webhook_address, options.webhook_url, {}, nullptr}));
  FLEETADM_CHECK(kube::check_timing(options.leader_timing));
  return labels_of(options.labels).map([](const auto&) {});
}

Command hub_run_command() {
  Command command;
  command.path = "hub run";
  command.target = Target::kSilent;
  command.group = "Programs";
  command.summary = "Run the hub controllers";
  command.description =
      "Runs registration, cluster sets and placement against the hub of the selected kubeconfig context "
      "(in a pod: the pod's own cluster) until it is stopped. `fleetadm init` deploys it; "
      "running it by hand requires the same permissions.";
  command.examples = {{"Run the hub from a terminal", "fleetadm hub run --context hub --health-address 127.0.0.1:8080"},
                      {"Automatically accept clusters that join with the bootstrap identity",
                       "fleetadm hub run --auto-approve-user "
                       "system:serviceaccount:open-cluster-management:agent-registration-bootstrap"}};
  command.make = invocation<HubRunOptions>(
      bind, [](const HubRunOptions& options, const std::vector<std::string>&) { return validate_hub_run(options); }, run_hub);
  return command;
}

void register_hub(Registry& registry) { registry.add(hub_run_command()); }

}  // namespace fleetadm::commands
