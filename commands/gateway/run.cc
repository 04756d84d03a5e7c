#include "commands/gateway/gateway.h"
#include "core/controller/memory.h"
#include "core/gateway/gateway.h"
#include "core/gateway/gateway_addresses.h"

namespace fleetadm::commands {
namespace {

struct GatewayRunOptions {
  gateway::GatewayOptions gateway;
  std::int64_t caller_requests = static_cast<std::int64_t>(proxy::RequestLimitOptions{}.per_caller);
  std::int64_t cluster_requests = static_cast<std::int64_t>(proxy::RequestLimitOptions{}.per_cluster);
  std::int64_t caller_rate = static_cast<std::int64_t>(proxy::RequestLimitOptions{}.rate);
  std::int64_t caller_bytes = 0;
  std::int64_t cluster_bytes = 0;
};

void bind_gateway(FlagSet& flags, GatewayRunOptions& options) {
  gateway::GatewayOptions& gateway = options.gateway;
  const auto address = [&](std::string* value, const char* name, const char* help, const std::string& otherwise) {
    Flag& flag = flags.text(value, name, help);
    flag.value_name = "HOST:PORT";
    flag.default_text = otherwise;
  };
  address(&gateway.address, "address", "Listen for clients on this address", gateway.address);
  address(&gateway.tunnel_address, "tunnel-address", "Listen for the agents of clusters on this address", gateway.tunnel_address);
  flags.boolean(&gateway.accept_konnectivity, "accept-konnectivity",
                "Take the place of the proxy server of the add-on cluster-proxy: accept its agents and its clients");
  address(&gateway.konnectivity_address, "konnectivity-address",
          "With --accept-konnectivity: listen for clients of cluster-proxy on this address", gateway.konnectivity_address);
  address(&gateway.konnectivity_agent_address, "konnectivity-agent-address",
          "With --accept-konnectivity: listen for agents of cluster-proxy on this address", gateway.konnectivity_agent_address);
  const std::string unless = "the address itself if it is a loopback address, otherwise the Service that init installs";
  address(&gateway.public_address, "public-address", "Address at which clients reach --address", unless);
  address(&gateway.public_tunnel_address, "public-tunnel-address", "Address at which agents reach --tunnel-address", unless);
  address(&gateway.peer_address, "peer-address",
          "Listen on this address for other replicas, which send on requests for clusters whose tunnel is here", "");
  Flag& health =
      flags.text(&gateway.health_address, "health-address", "Serve /healthz, /readyz and /metrics on this address (plain HTTP)");
  health.value_name = "HOST:PORT";
  Flag& audit = flags.text(&gateway.audit_log, "audit-log", "Append a line of JSON for each request to this file (-: stdout)");
  audit.value_name = "FILE";
  audit.complete = Complete::kFiles;
  flags.integer(&options.caller_requests, "max-requests-per-caller", "Requests and streams of one caller at the same time")
      .default_text = std::to_string(options.caller_requests);
  flags.integer(&options.cluster_requests, "max-requests-per-cluster", "Requests and streams to one cluster at the same time")
      .default_text = std::to_string(options.cluster_requests);
  flags.integer(&options.caller_rate, "max-rate-per-caller", "New requests of one caller a second (0: any number)").default_text =
      std::to_string(options.caller_rate);
  flags.integer(&options.caller_bytes, "max-bytes-per-caller", "Bytes a second that one caller sends and is sent (0: any number)")
      .default_text = "0";
  flags
      .integer(&options.cluster_bytes, "max-bytes-per-cluster",
               "Bytes a second that all callers of one cluster send and are sent (0: any number)")
      .default_text = "0";
  flags.duration(&gateway.drain, "drain-timeout", "When stopped, how long requests and streams that run may go on").default_text =
      "30s";
}

Status validate_gateway(const GatewayRunOptions& options, const std::vector<std::string>&) {
  for (const auto& [name, value] : {std::pair{"--max-requests-per-caller", options.caller_requests},
                                    std::pair{"--max-requests-per-cluster", options.cluster_requests}}) {
    if (value < 1) return fail(Category::kUsage, std::string(name) + " must be at least 1");
  }
  if (options.caller_rate < 0) return fail(Category::kUsage, "--max-rate-per-caller cannot be negative");
  if (options.caller_bytes < 0) return fail(Category::kUsage, "--max-bytes-per-caller cannot be negative");
  if (options.cluster_bytes < 0) return fail(Category::kUsage, "--max-bytes-per-cluster cannot be negative");
  if (options.gateway.drain < Duration::zero()) return fail(Category::kUsage, "--drain-timeout cannot be negative");
  gateway::GatewayOptions anywhere = options.gateway;
  anywhere.in_pod = true;
  return gateway::check_gateway(anywhere);
}

Result<Report> run_gateway(Context& context, const GatewayRunOptions& options, const std::vector<std::string>&) {
  if (context.global().dry_run != kube::DryRun::kNone) {
    return fail(Category::kUsage, "--dry-run does not apply to \"gateway run\", which is a long-running process",
                "use \"fleetadm init --gateway --dry-run=server\" to see the objects that would be created");
  }
  controller::keep_memory_small();
  gateway::GatewayOptions gateway = options.gateway;
  if (const std::string& ns = context.global().config.ns; !ns.empty()) {
    gateway.ns = ns;
  } else if (const std::string pod_ns = context.env("POD_NAMESPACE"); !pod_ns.empty()) {
    gateway.ns = pod_ns;
  }
  gateway.in_pod = !context.env("KUBERNETES_SERVICE_HOST").empty();
  gateway.limits.per_caller = static_cast<std::size_t>(options.caller_requests);
  gateway.limits.per_cluster = static_cast<std::size_t>(options.cluster_requests);
  gateway.limits.rate = static_cast<double>(options.caller_rate);
  gateway.limits.burst = 2 * gateway.limits.rate;
  gateway.limits.caller_bytes = static_cast<double>(options.caller_bytes);
  gateway.limits.cluster_bytes = static_cast<double>(options.cluster_bytes);
  FLEETADM_TRY(const auto hub, context.client());
  FLEETADM_CHECK(gateway::run_gateway(hub, gateway, context.stop()));
  return Report{};
}

}  // namespace

void register_gateway(Registry& registry) {
  Command command;
  command.path = "gateway run";
  command.target = Target::kSilent;
  command.group = "Programs";
  command.summary = "Run the gateway to the clusters of a hub";
  command.description =
      "Takes requests of clients for the API servers of managed clusters and sends them on over the connections that the "
      "clusters' agents have opened to it, so that no cluster needs an open port. Clusters that the hub dials (join --push) it "
      "dials, too, with the hub's credential. Clients authenticate as on the hub; the "
      "hub's RBAC decides who may use a cluster (clusters/proxy of proxy.open-cluster-management.io), and the "
      "cluster's RBAC what they may do there, under the same name.\n\n"
      "It runs against the hub of the selected kubeconfig context (in a pod: the pod's own cluster) until it is stopped. "
      "\"fleetadm init --gateway\" deploys it.";
  command.examples = {{"Run a gateway from a terminal",
                       "fleetadm gateway run --context hub --address 127.0.0.1:8443 --tunnel-address 127.0.0.1:8444"},
                      {"On a machine that clusters and clients reach by name",
                       "fleetadm gateway run --context hub --public-address gateway.example.com:8443 "
                       "--public-tunnel-address gateway.example.com:8444"}};
  command.make = invocation<GatewayRunOptions>(bind_gateway, validate_gateway, run_gateway);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
