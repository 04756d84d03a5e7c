// proxy port-forward: ports of this machine that lead to a pod of a managed cluster.
#include "commands/framework/dry_run.h"
#include "commands/framework/members.h"
#include "commands/proxy/member_pod.h"
#include "commands/proxy/proxy.h"
#include "core/proxy/client/forwarding.h"

namespace fleetadm::commands {
namespace {

struct PortForwardOptions {
  MemberPod pod;
};

Result<std::vector<proxy::ForwardedPort>> forwarded_ports(const std::vector<std::string>& args) {
  std::vector<proxy::ForwardedPort> ports;
  for (std::size_t i = 1; i < args.size(); ++i) {
    FLEETADM_TRY(const proxy::ForwardedPort port, proxy::parse_forwarded_port(args[i]));
    ports.push_back(port);
  }
  return ports;
}

Result<Report> run_port_forward(Context& context, const PortForwardOptions& options, const std::vector<std::string>& args) {
  FLEETADM_CHECK(refuse_dry_run(context, "proxy port-forward"));
  FLEETADM_TRY(std::vector<proxy::ForwardedPort> ports, forwarded_ports(args));
  FLEETADM_TRY(const kube::RestConfig member, member_connection(context, options.pod.cluster, options.pod.asker));
  const auto pod = find_pod(context, context.client(member), args.front(), ports);
  if (!pod) return fail(at_member(pod.error(), options.pod.cluster));
  FLEETADM_TRY(proxy::Forwarding forwarding, proxy::Forwarding::listen(ports));
  kube::Request request;
  request.path = pod_path(context, *pod, "portforward");
  const auto opened = kube::ForwardStream::open(member, request);
  if (!opened) return fail(at_member(opened.error(), options.pod.cluster));
  const auto& stream = *opened;
  Report ready;
  for (const proxy::ForwardedPort& port : ports)
    ready.lines.push_back("forwarding 127.0.0.1:" + std::to_string(port.local) + " to port " + std::to_string(port.remote) +
                          " of pod " + *pod);
  context.emit(ready);
  const Status ended =
      forwarding.run(*stream, context.stop(), [&context](const std::string& text) { context.progress().warn(text); });
  if (!ended) return fail(at_member(ended.error(), options.pod.cluster));
  // An interrupt is how it is meant to end.
  Report report;
  report.exit_code = 2;
  return report;
}

}  // namespace

void register_port_forward(Registry& registry) {
  Command command;
  command.path = "proxy port-forward";
  command.group = "Clusters";
  command.target = Target::kSilent;
  command.summary = "Forward ports of this machine to a pod on a cluster";
  command.description =
      "Listens on ports of 127.0.0.1 and forwards each connection to a port of a pod on a managed cluster, through the hub's "
      "gateway, until it is interrupted. The namespace is the one of -n, or \"default\". TYPE/NAME of a workload or a Service stands "
      "for one of its pods; a port of a Service leads to the pod's port behind it.";
  command.args = {"POD|TYPE/NAME [LOCAL:]REMOTE...", 2, -1};
  command.examples = {{"Port 8080 here to port 80 there", "fleetadm proxy port-forward web-0 8080:80 --cluster c1 -n apps"},
                      {"A port of a Service", "fleetadm proxy port-forward svc/web 8080:80 --cluster c1 -n apps"},
                      {"A free port here", "fleetadm proxy port-forward web-0 :80 --cluster c1 -n apps"}};
  command.make = invocation<PortForwardOptions>(
      [](FlagSet& flags, PortForwardOptions& options) { member_pod_flags(flags, options.pod, "cluster that the pod is on"); },
      [](const PortForwardOptions& options, const std::vector<std::string>& args) -> Status {
        FLEETADM_TRY([[maybe_unused]] const auto ports, forwarded_ports(args));
        return validate_member_pod(options.pod, args.front());
      },
      run_port_forward);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
