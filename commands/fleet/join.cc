#include <algorithm>
#include <utility>

#include "commands/fleet/changes.h"
#include "commands/fleet/fallback_hubs.h"
#include "commands/fleet/fleet.h"
#include "commands/fleet/join_file.h"
#include "commands/fleet/join_hosted.h"
#include "commands/fleet/join_options.h"
#include "commands/fleet/join_push.h"
#include "commands/fleet/join_steps.h"
#include "commands/framework/dry_run.h"
#include "commands/framework/files.h"
#include "core/api/kinds.h"
#include "core/install/install.h"
#include "core/registration/aws/names.h"
#include "core/registration/join/agent_id.h"
#include "core/registration/join/agent_manifests.h"
#include "core/registration/join/hosted_sides.h"
#include "core/registration/join/hub_secrets.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::commands {
namespace {

constexpr std::size_t kMaxFile = 1U << 20U;

// A flag comes before the variable. None of the messages repeats the token.
Result<std::string> bootstrap_token(Context& context, const JoinOptions& options) {
  std::string token = options.hub_token;
  std::string problem = "--hub-token is blank";
  if (!options.hub_token_file.empty()) {
    FLEETADM_TRY(token, read_file_or_stdin(context, options.hub_token_file, kMaxFile));
    problem = "--hub-token-file: " + (options.hub_token_file == "-" ? "standard input" : "\"" + options.hub_token_file + "\"") +
              " holds no token";
  } else if (token.empty()) {
    token = context.env(kHubTokenVariable);
    problem = "the bootstrap token is missing: use --hub-token-file or " + std::string(kHubTokenVariable);
  }
  token = std::string(trimmed(token));
  if (!token.empty()) return token;
  return fail(Category::kUsage, problem, "run `fleetadm get token -o jsonpath={.hub-token}` on the hub to get one");
}

/// The certificates of a file; empty without one.
Result<std::string> read_ca(const std::string& flag, const std::string& file, const std::string& hint) {
  if (file.empty()) return std::string();
  FLEETADM_TRY(std::string pem, read_whole_file(file, kMaxFile));
  if (auto certificates = pki::parse_certificates(pem); !certificates) {
    Error error = certificates.error().wrap(flag + " \"" + file + "\"");
    error.category = Category::kUsage;
    error.hint = hint;
    return fail(std::move(error));
  }
  return pem;
}

Result<join::HubEndpoint> endpoint_of(Context& context, const JoinOptions& options) {
  join::HubEndpoint endpoint;
  endpoint.server = options.hub_apiserver;
  while (endpoint.server.ends_with('/')) endpoint.server.pop_back();
  endpoint.ca_pin = options.ca_cert_hash;
  endpoint.system_roots = options.system_roots;
  endpoint.signed_info = options.signed_info;
  endpoint.proxy_url = options.proxy_url;
  endpoint.cluster_name = options.cluster_name;
  FLEETADM_TRY(endpoint.ca_pem,
               read_ca("--ca-file", options.ca_file,
                       "it must contain the hub's CA as PEM (certificate-authority-data of its kubeconfig, decoded)"));
  FLEETADM_TRY(endpoint.proxy_ca_pem, read_ca("--proxy-ca-file", options.proxy_ca_file, "it must contain the proxy's CA as PEM"));
  FLEETADM_TRY(endpoint.token, bootstrap_token(context, options));
  return endpoint;
}

}  // namespace

Result<Report> join_cluster(Context& context, const JoinOptions& given) {
  if (given.push.on) return join_push(context, given);
  FLEETADM_CHECK(validate_push(given.push, true));
  JoinOptions options = given;
  FLEETADM_TRY(const JoinFile file, read_join_file(context, options));
  FLEETADM_CHECK(validate_join(options));
  FLEETADM_TRY(auto endpoint, endpoint_of(context, options));
  if (!file.hub_ca_pem.empty()) endpoint.ca_pem = file.hub_ca_pem;
  FLEETADM_TRY(const auto fallbacks, read_fallback_hubs(options, endpoint.server));
  FLEETADM_TRY(const auto spoke, is_hosted_mode(options.member) ? hosting_client(context) : context.client());
  std::optional<HostedSides> hosted;
  if (is_hosted_mode(options.member)) {
    FLEETADM_TRY(hosted, hosted_sides(context, options.member));
  }
  join::Preflight preflight = join::check_hub(endpoint, context.clock(), context.stop());
  if (hosted) join::check_hosted_sides(hosted->hosting, hosted_namespace(options.member), hosted->member, preflight);
  tell_checks(context.progress(), preflight.checks);
  if (preflight.error) return fail(*preflight.error);
  check_fallback_hubs(context, fallbacks);
  std::vector<std::string> bootstraps{join::bootstrap_kubeconfig(endpoint, preflight.hub)};
  for (const FallbackHub& hub : fallbacks) bootstraps.push_back(hub.kubeconfig);
  Report report;
  report.data = Json{{"kind", "JoinReport"}, {"cluster-name", options.cluster_name}, {"checks", checks_json(preflight.checks)}};
  tell_fields(options.filename, file.fields, report);
  if (options.preflight_only) {
    report.table = checks_table(preflight.checks);
    return report;
  }
  if (hosted) return join_hosted(context, {options, file, endpoint, preflight.hub, bootstraps, *hosted}, std::move(report));
  FLEETADM_CHECK(join::check_not_hosted(spoke));
  FLEETADM_CHECK(join::check_not_elsewhere(spoke, options.cluster_name, endpoint.server));
  FLEETADM_TRY(DeployedImage image, deployed_image(context, options.image, api::kAgentNamespace));
  warn_of_missing_image(context, spoke, image);
  const bool dry_run = spoke.gate().dry_run != kube::DryRun::kNone;
  const std::vector<std::string> given_args = agent_args_of(options);
  FLEETADM_TRY(const join::AgentId agent_id, join::choose_agent_id(spoke, given_args, !dry_run));
  join::AgentInstall agent;
  agent.cluster_name = options.cluster_name;
  agent.image = image.image;
  agent.args = given_args;
  if (!agent_id.arg.empty()) agent.args.push_back(agent_id.arg);
  agent.network_policy = options.network_policy;
  agent.image_pull = std::move(image.pull);
  agent.image_pull_secret = std::move(image.secret);
  agent.pods = pods_of(options, file);
  FLEETADM_TRY(auto objects, join::agent_manifests(agent, bootstraps));
  if (const std::string role = role_of(options); !role.empty())
    install::annotate_account(objects, api::kAgentDeployment, registration::aws::kRoleAnnotation, role);
  if (wants_manifests(context)) {
    for (Json& claim : claim_objects(options)) objects.push_back(std::move(claim));
    // What would be said of fields and checks does not belong into the stream.
    report.notes.insert(report.notes.end(), report.lines.begin(), report.lines.end());
    print_manifests(context, install::kAgentPart, objects, report);
    return report;
  }

  const install::Options how = options_with_progress(context, install::kAgentPart, options.timeout);
  FLEETADM_TRY(const auto changes,
               step_with_progress(context, "Installing the agent", [&]() -> Result<std::vector<install::Change>> {
                 FLEETADM_TRY(auto done, install::apply_all(spoke, std::move(objects), how));
                 FLEETADM_CHECK(set_claims(spoke, options, done));
                 FLEETADM_TRY(const auto dropped, join::drop_further_hubs(spoke, api::kAgentNamespace, api::kBootstrapSecret,
                                                                          bootstraps.size(), install::kAgentPart));
                 done.insert(done.end(), dropped.begin(), dropped.end());
                 return done;
               }));
  if (options.wait != "none" && !dry_run) {
    FLEETADM_CHECK(wait_for_cluster(context, {spoke, std::string(api::kAgentNamespace), std::string(api::kAgentDeployment)},
                                    preflight.hub, options));
  }

  finish_join(context, options.cluster_name, changes, agent_id.id, report);
  return report;
}

void register_join(Registry& registry) {
  Command command;
  command.path = "join";
  command.target = Target::kCluster;
  command.group = "Fleet";
  command.summary = "Join the current cluster to a hub";
  command.description =
      "Checks connectivity to the hub step by step, verifies the hub's CA against its hash before "
      "sending the token, and installs the agent on the cluster of the current context. "
      "The cluster becomes a member once it has been accepted on the hub: compare the agent ID, which join prints, with "
      "that of the request there. Running it again updates only "
      "what has changed; a new token replaces the old one.\n\n"
      "With --mode hosted the agent runs on the cluster of the current context, and the managed cluster is the one of "
      "--managed-cluster-kubeconfig or --managed-cluster-context, on which nothing runs. It gets the agent's accounts, roles and "
      "CRDs; a Secret on the hosting cluster gets a kubeconfig with a token of the agent's account there, and not your own "
      "credentials. The token lasts 30 days, or as long as the managed cluster allows, and the agent renews it after four fifths "
      "of that time: if the hosting cluster is away for longer, run join again. One pod has the agents of all members in a "
      "namespace of the hosting cluster; what concerns the pod (--image, --tolerations and the like) is changed for all of them, "
      "and stays as it is where it is not given.\n\n"
      "With --fallback-hub the agent has several hubs and is with one of them at a time: it leaves a hub that denies the cluster, and "
      "one that is silent for 10 minutes (--agent-arg=--hub-connection-timeout=DURATION), and joins the first of the others that "
      "can be joined. Each hub has to accept the cluster.\n\n"
      "With --push nothing of the fleet runs on the cluster: the hub controllers (`fleetadm init --push`) dial it. The current context "
      "is the hub, and the cluster is that of --member-kubeconfig or --member-context; its name is that of the context unless "
      "--cluster-name is given. Its address, its certificate, your rights on both sides and its identity are checked before "
      "anything is written. The hub gets a token of an account of its own on the cluster, which it renews, and never your own "
      "credentials. What a run that fails has made is removed again; a run that was killed is finished by the next.\n\n"
      "With --karmada-names, what the hub has on the cluster is called as by `karmadactl join`, for whatever looks for that: in the "
      "namespace karmada-cluster the accounts karmada-NAME and karmada-impersonator, each with a Secret with a token that does not "
      "end, and the ClusterRole and ClusterRoleBinding karmada-controller-manager:karmada-NAME. As with Karmada the hub's token may do "
      "everything on the cluster (without it, no more than look after itself), and who reads these Secrets may, too. What a Karmada "
      "control plane or another hub has in that namespace is left as it is, now and when the cluster leaves.\n\n"
      "A dry run with -o yaml prints what would be installed as one stream of documents, for a repository: without Secrets, and "
      "for the image, the arguments and the settings that were given.";
  command.examples = {{"Join with a token from a file",
                       "fleetadm join --hub-token-file token --hub-apiserver https://hub:6443 --ca-cert-hash sha256:… "
                       "--cluster-name c1 --wait"},
                      {"Join without storing or showing the token",
                       "fleetadm get token --context hub -o jsonpath={.hub-token} | fleetadm join --context c1 "
                       "--hub-token-file - --hub-apiserver https://hub:6443 --ca-cert-hash sha256:… --cluster-name c1"},
                      {"With labels, a claim, and the address of the cluster's API server",
                       "fleetadm join --hub-token-file token --hub-apiserver https://hub:6443 --ca-cert-hash sha256:… "
                       "--cluster-name c1 --labels env=prod,region=eu --claim owner.example.com=team-a "
                       "--external-server-urls https://c1.example.com:6443"},
                      {"As a Klusterlet of upstream's operator says, and what becomes of its fields",
                       "fleetadm join -f klusterlet.yaml --dry-run=client"},
                      {"With the agent on another cluster",
                       "fleetadm join --mode hosted --context hub --managed-cluster-context c2 --hub-token-file token "
                       "--hub-apiserver https://hub:6443 --ca-cert-hash sha256:… --cluster-name c2"},
                      {"With a second hub, which the agent joins when the first one is lost",
                       "fleetadm join --hub-token-file token --hub-apiserver https://hub:6443 --ca-cert-hash sha256:… "
                       "--cluster-name c1 --fallback-hub second-hub.kubeconfig"},
                      {"A cluster that the hub dials, where no agent runs",
                       "fleetadm join --push --context hub --member-context c3 --wait=available"},
                      {"Likewise, with the names and the rights of a Karmada control plane there",
                       "fleetadm join --push --karmada-names --context hub --member-context c3 --wait=available"},
                      {"Manifests for a repository",
                       "fleetadm join --hub-token-file token --hub-apiserver https://hub:6443 --ca-cert-hash sha256:… "
                       "--cluster-name c1 --dry-run=client -o yaml"},
                      {"Only check connectivity to the hub",
                       "fleetadm join --preflight-only --hub-token-file token --hub-apiserver https://hub:6443 --ca-file "
                       "hub.crt --cluster-name c1"}};
  command.make = invocation<JoinOptions>(
      bind_join, [](const JoinOptions&, const std::vector<std::string>&) -> Status { return {}; },
      [](Context& context, const JoinOptions& options, const std::vector<std::string>&) {
        return join_cluster(context, options);
      });
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
