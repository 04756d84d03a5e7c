#include <utility>

#include "commands/fleet/bootstrap_token.h"
#include "commands/fleet/changes.h"
#include "commands/fleet/fleet.h"
#include "commands/fleet/image_flags.h"
#include "commands/fleet/pod_flags.h"
#include "commands/framework/dry_run.h"
#include "commands/framework/grammar.h"
#include "commands/framework/hub_drivers.h"
#include "commands/framework/push_health.h"
#include "core/api/cluster_proxy.h"
#include "core/api/gateway.h"
#include "core/api/kinds.h"
#include "core/api/proxy_server_secrets.h"
#include "core/install/install.h"
#include "core/install/program_args.h"
#include "core/install/supported.h"
#include "core/install/wait_deployment.h"
#include "core/install/webhook_urls.h"
#include "core/registration/join/cluster_info.h"
#include "kubeclient/base/host_port.h"
#include "kubeclient/base/ip_address.h"
#include "kubeclient/base/names.h"
#include "kubeclient/discovery/mapper.h"
#include "kubeclient/watch/informer.h"
#include "templates/templates.h"

namespace fleetadm::commands {
namespace {

constexpr std::string_view kHubDeployment = "fleetadm-hub";
// Of the gateway's Service (templates/hub/gateway.yaml).
constexpr int kGatewayPort = 8443;
constexpr int kTunnelPort = 8444;

struct InitOptions {
  ImageOptions image;
  PodOptions pods;
  std::int64_t replicas = 1;
  std::int64_t gateway_replicas = 1;
  std::vector<std::string> auto_approve_users;
  HubDriverOptions drivers;
  std::vector<std::string> hub_args;
  bool require_executor = false;
  bool network_policy = false;
  bool cluster_profiles = false;
  bool push = false;
  PushHealthOptions push_health;
  bool gateway = false;
  bool accept_konnectivity = false;
  std::string gateway_address;         // HOST[:PORT]
  std::string gateway_tunnel_address;  // HOST[:PORT]
  bool publish_ca = true;
  bool show_token = false;
  std::string join_file;
  bool wait = false;
  Duration timeout = kWaitTimeout;
};

void bind_init(FlagSet& flags, InitOptions& options) {
  image_flags(flags, options.image, "the hub controllers");
  pod_flags(flags, options.pods, "the hub controllers");
  flags
      .integer(
          &options.replicas, "replicas",
          "Number of replicas of the hub controllers (one leads, the others stand by; with --push, each dials its part of the members)")
      .default_text = "1";
  flags
      .texts(&options.auto_approve_users, "auto-approve-user",
             "User whose registration requests are approved and whose clusters are accepted automatically; "
             "repeatable")
      .value_name = "USER";
  bind_hub_drivers(flags, options.drivers);
  flags.texts(&options.hub_args, "hub-arg", "Extra argument for `fleetadm hub run`, as --name=value; repeatable").value_name =
      "ARG";
  flags.boolean(&options.require_executor, "require-executor",
                "Forbid works without an executor to users who may not have works executed as the agent (execute-as on "
                "system:serviceaccount::klusterlet-work-sa)");
  flags.boolean(&options.network_policy, "network-policy",
                "Let only pods of the same namespace connect to the hub controllers and the gateway (health and metrics); "
                "what they serve to clients and clusters, and the kubelet's probes, are not affected");
  flags.boolean(&options.cluster_profiles, "cluster-profiles",
                "Let the hub controllers keep a ClusterProfile of each cluster in the namespaces that its cluster sets are bound "
                "to, and copy tokens of managed service accounts there; installs the kind where it is not there, and gives them "
                "permission to read and write Secrets by name (upstream's feature gate ClusterProfile)");
  flags.boolean(
      &options.push, "push",
      "Let the hub controllers dial the clusters that join with `join --push`; gives them permission to read and update "
      "the Secrets of the namespace open-cluster-management-push");
  bind_push_health(flags, options.push_health);
  flags.boolean(&options.gateway, "gateway", "Install the gateway too, through which clients reach the API servers of clusters");
  flags.integer(&options.gateway_replicas, "gateway-replicas", "Number of replicas of the gateway").default_text = "1";
  flags.boolean(&options.accept_konnectivity, "accept-konnectivity",
                "Let the gateway take the place of the proxy server of the add-on cluster-proxy, which must be installed; "
                "it gets permission to read that server's Secrets and to sign its agents' certificates");
  flags
      .text(&options.gateway_address, "gateway-address",
            "Address at which clients reach the gateway (default: its Service, or in a sandbox where it listens); port 8443 "
            "unless given")
      .value_name = "HOST[:PORT]";
  flags
      .text(&options.gateway_tunnel_address, "gateway-tunnel-address",
            "Address at which clusters reach the gateway (default: the host of --gateway-address); port 8444 unless given")
      .value_name = "HOST[:PORT]";
  flags
      .boolean(&options.publish_ca, "publish-ca",
               "Allow anonymous clients to read the hub's CA (kube-public/cluster-info), so that join needs only "
               "its hash")
      .default_text = "true";
  flags.boolean(&options.show_token, "show-token", "Show the token of the join command even if stdout is a terminal");
  join_file_flag(flags, &options.join_file);
  wait_flag(flags, &options.wait, "Wait until the hub controllers are running and have created the default cluster set");
  timeout_flag(flags, &options.timeout, "How long to wait");
}

/// HOST[:PORT] with the port.
Result<std::string> public_address(const std::string& flag, const std::string& text, int port) {
  const auto parts = split_host_port(text);
  const bool host_is_one = parts && (is_dns_subdomain(parts->host) || IpAddress::parse(parts->host));
  if (!host_is_one || (!parts->port.empty() && parse_port(parts->port).value_or(0) == 0))
    return fail(Category::kUsage, flag + " \"" + text + "\" is not HOST[:PORT]");
  return join_host_port(parts->host, parts->port.empty() ? std::to_string(port) : parts->port);
}

Status validate_init(const InitOptions& options, const std::vector<std::string>&) {
  if (options.replicas < 1 || options.replicas > 9) return fail(Category::kUsage, "--replicas must be between 1 and 9");
  if (options.gateway_replicas < 1 || options.gateway_replicas > 9)
    return fail(Category::kUsage, "--gateway-replicas must be between 1 and 9");
  if (options.gateway_replicas > 1 && !options.gateway) return fail(Category::kUsage, "--gateway-replicas requires --gateway");
  FLEETADM_CHECK(validate_image_options(options.image));
  FLEETADM_CHECK(validate_pod_options(options.pods));
  for (const std::string& user : options.auto_approve_users) {
    if (user.empty()) return fail(Category::kUsage, "--auto-approve-user requires a user name");
  }
  FLEETADM_CHECK(validate_hub_drivers(options.drivers));
  FLEETADM_CHECK(validate_push_health(options.push_health, options.push));
  if (!options.gateway_tunnel_address.empty() && options.gateway_address.empty())
    return fail(Category::kUsage, "--gateway-tunnel-address requires --gateway-address");
  if (!options.gateway_address.empty() && !options.gateway) return fail(Category::kUsage, "--gateway-address requires --gateway");
  if (options.accept_konnectivity && !options.gateway) return fail(Category::kUsage, "--accept-konnectivity requires --gateway");
  for (const auto& [flag, text] : {std::pair{"--gateway-address", options.gateway_address},
                                   std::pair{"--gateway-tunnel-address", options.gateway_tunnel_address}}) {
    if (!text.empty()) FLEETADM_CHECK(public_address(flag, text, 0));
  }
  return check_program_args("hub-arg", options.hub_args);
}

// The newest thing that the installed manifests need is the authorizer of ValidatingAdmissionPolicies (GA in 1.30).
Status check_kubernetes_version(const kube::Client& hub) {
  FLEETADM_TRY(const auto version, kube::server_version(hub));
  if (install::support_of(version) == install::Support::kTooOld) {
    return fail(Category::kUnsupported, "the API server is " + version.git_version + "; a hub needs Kubernetes 1.30 or newer",
                "admission is enforced by ValidatingAdmissionPolicies, which older servers lack");
  }
  return {};
}

Json container_args(const InitOptions& options) {
  Json args = install::hub_args();
  for (const std::string& user : options.auto_approve_users) args.push_back("--auto-approve-user=" + user);
  if (options.cluster_profiles) args.emplace_back("--cluster-profiles");
  if (options.push) args.emplace_back("--push");
  for (const std::string& arg : push_health_args(options.push_health)) args.push_back(arg);
  for (const std::string& arg : hub_driver_args(options.drivers)) args.push_back(arg);
  for (const std::string& arg : options.hub_args) args.push_back(arg);
  return args;
}

Result<Json> gateway_args(const InitOptions& options) {
  Json args = install::gateway_args(options.accept_konnectivity);
  if (options.gateway_address.empty()) return args;
  FLEETADM_TRY(const std::string server, public_address("--gateway-address", options.gateway_address, kGatewayPort));
  const std::string host = split_host_port(options.gateway_address)->host;
  const std::string& given = options.gateway_tunnel_address;
  FLEETADM_TRY(const std::string tunnel,
               public_address("--gateway-tunnel-address",
                              given.empty() ? join_host_port(host, std::to_string(kTunnelPort)) : given, kTunnelPort));
  args.push_back("--public-address=" + server);
  args.push_back("--public-tunnel-address=" + tunnel);
  return args;
}

/// What the add-on's proxy server would serve with; the gateway reads nothing else of its namespace.
Result<api::ProxyServerSecrets> proxy_server_of(const kube::Client& hub) {
  const auto found = hub.find(api::managed_proxy_configurations(), {}, api::kProxyConfigurationName);
  if (!found && found.error().category != Category::kNotFound) return fail(found.error());
  if (found && *found) return api::proxy_server_secrets(**found);
  return fail(Category::kNotFound, "the hub has no ManagedProxyConfiguration " + std::string(api::kProxyConfigurationName),
              "--accept-konnectivity needs the add-on cluster-proxy: install it first");
}

Result<std::vector<Json>> manifests(const kube::Client& hub, const InitOptions& options, const DeployedImage& image,
                                    const kube::RestConfig& config) {
  std::vector<Json> objects;
  api::ProxyServerSecrets proxy;
  if (options.accept_konnectivity) {
    FLEETADM_TRY(proxy, proxy_server_of(hub));
  }
  FLEETADM_TRY(Json of_gateway, gateway_args(options));
  const std::map<std::string, Json> values{
      {"image", image.image},
      {"replicas", options.replicas},
      {"gateway_replicas", options.gateway_replicas},
      {"args", container_args(options)},
      {"gateway_args", std::move(of_gateway)},
      {"proxy_namespace", proxy.ns},
      {"proxy_secrets", Json{proxy.ca, proxy.front, proxy.agents, proxy.client, proxy.signer}}};
  std::vector<std::string_view> files{"hub/namespaces.yaml"};
  for (const std::string_view crd : templates::list("crds/hub/")) files.push_back(crd);
  if (options.cluster_profiles) files.emplace_back("crds/profiles/clusterprofiles.yaml");
  files.emplace_back("hub/admission.yaml");
  if (options.require_executor) files.emplace_back("hub/require-executor.yaml");
  if (options.network_policy) files.emplace_back("hub/network-policy.yaml");
  if (options.cluster_profiles) files.emplace_back("hub/cluster-profiles.yaml");
  if (options.push) files.emplace_back("hub/push.yaml");
  for (const char* file : {"hub/bootstrap.yaml", "hub/rbac.yaml", "hub/webhook.yaml", "hub/deployment.yaml"})
    files.emplace_back(file);
  if (options.replicas > 1) files.emplace_back("hub/disruption-budget.yaml");
  if (options.gateway) files.emplace_back("hub/gateway.yaml");
  if (options.gateway && options.push) files.emplace_back("hub/gateway-push.yaml");
  if (options.gateway && options.network_policy) files.emplace_back("hub/gateway-network-policy.yaml");
  if (options.gateway_replicas > 1) files.emplace_back("hub/gateway-disruption-budget.yaml");
  if (options.accept_konnectivity) files.emplace_back("hub/konnectivity.yaml");
  if (options.accept_konnectivity && options.network_policy) files.emplace_back("hub/konnectivity-network-policy.yaml");
  for (const std::string_view file : files) {
    if (file == "hub/deployment.yaml" && image.secret) objects.push_back(*image.secret);  // before the pods that need it
    FLEETADM_TRY(auto rendered, templates::render(file, values));
    for (Json& object : rendered) objects.push_back(std::move(object));
  }
  if (options.drivers.awsirsa()) {
    FLEETADM_TRY(const auto own, registration::aws::parse_eks_arn(options.drivers.hub_cluster_arn));
    install::annotate_account(objects, kHubDeployment, registration::aws::kRoleAnnotation,
                              registration::aws::identity_creator_arn(own));
  }
  install::set_image_pull(objects, image.pull);
  install::set_pod_settings(objects, pod_settings(options.pods));
  if (options.publish_ca && !config.ca_data.empty()) {
    for (Json& object : join::cluster_info_objects(config)) objects.push_back(std::move(object));
  }
  return objects;
}

/// The hub fills it in once it serves the conversion.
Status wait_convertible(const kube::Client& hub, Duration timeout, const std::stop_token& stop) {
  for (const std::string_view crd : templates::list("crds/hub/")) {
    FLEETADM_TRY(const auto rendered, templates::render(crd, {}));
    if (find(rendered.front(), {"spec", "conversion", "webhook"}) == nullptr) continue;
    const std::string name = name_of(rendered.front());
    auto trusted = [](const std::optional<Json>& live) -> Result<bool> {
      return !live || label_of(*live, install::kPartLabel) != install::kHubPart ||
             !str(*live, {"spec", "conversion", "webhook", "clientConfig", "caBundle"}).empty();
    };
    auto waited = kube::wait_for(hub, kube::resources::custom_resource_definitions(), "", name, trusted, timeout, stop);
    if (!waited) return fail(waited.error().wrap("the hub controllers are running but do not convert " + name));
  }
  return {};
}

/// It says where it is once it serves.
Status wait_gateway(Context& context, const kube::Client& hub, Duration timeout) {
  const std::stop_token stop = context.stop();
  FLEETADM_CHECK(
      install::wait_deployment(hub, api::kHubNamespace, api::kGatewayService, timeout, stop, warn_of_trouble(context)));
  auto published = [](const std::optional<Json>& live) -> Result<bool> {
    if (!live) return true;  // it was removed meanwhile
    FLEETADM_TRY(const auto gateway, api::read_gateway(*live));
    return gateway.has_value();
  };
  auto waited =
      kube::wait_for(hub, kube::resources::config_maps(), api::kHubNamespace, api::kGatewayConfigMap, published, timeout, stop);
  if (!waited) return fail(waited.error().wrap("the gateway is running but has not published where it is"));
  return {};
}

Status wait_ready(Context& context, const kube::Client& hub, const InitOptions& options) {
  context.progress().begin("Waiting for the hub controllers");
  Status ready = install::wait_deployment(hub, api::kHubNamespace, kHubDeployment, options.timeout, context.stop(),
                                          warn_of_trouble(context));
  if (ready) {
    // The controllers' first act, so they truly reconcile.
    auto made = [](const std::optional<Json>& set) -> Result<bool> { return set.has_value(); };
    auto waited =
        kube::wait_for(hub, api::managed_cluster_sets(), "", api::kDefaultClusterSet, made, options.timeout, context.stop());
    if (!waited)
      ready = fail(waited.error().wrap("the hub controllers are running but have not created the default cluster set"));
    if (ready) ready = wait_convertible(hub, options.timeout, context.stop());
    if (ready && options.gateway) ready = wait_gateway(context, hub, options.timeout);
  }
  if (!ready) {
    context.progress().failed(ready.error().message);
    return ready;
  }
  context.progress().done("running");
  return {};
}

/// What was signed is no longer what is there, where another address or CA was published.
Status sign_changed_info(Context& context, const kube::Client& hub, const std::vector<install::Change>& changes) {
  for (const install::Change& change : changes) {
    if (change.kind == "ConfigMap" && change.name == "cluster-info" && change.action == install::Action::kConfigured)
      return join::sign_again(hub, context.clock().now());
  }
  return {};
}

Result<Report> run_init(Context& context, const InitOptions& options, const std::vector<std::string>&) {
  FLEETADM_TRY(const auto config, context.rest_config());
  FLEETADM_TRY(const auto hub, context.client());
  FLEETADM_CHECK(check_kubernetes_version(hub));
  FLEETADM_TRY(const DeployedImage image, deployed_image(context, options.image, api::kHubNamespace));
  warn_of_missing_image(context, hub, image);
  FLEETADM_TRY(auto objects, manifests(hub, options, image, config));
  FLEETADM_CHECK(install::keep_webhook_urls(hub, objects));
  const bool dry_run = hub.gate().dry_run != kube::DryRun::kNone;
  if (wants_manifests(context)) {
    Report printed;
    print_manifests(context, install::kHubPart, objects, printed);
    return printed;
  }

  const install::Options how = options_with_progress(context, install::kHubPart, options.timeout);
  FLEETADM_TRY(const auto changes, step_with_progress(context, "Installing the hub",
                                                      [&] { return install::apply_all(hub, std::move(objects), how); }));

  if (!dry_run) FLEETADM_CHECK(sign_changed_info(context, hub, changes));
  if (options.wait && !dry_run) FLEETADM_CHECK(wait_ready(context, hub, options));

  Report report;
  if (!dry_run) {
    FLEETADM_TRY(const auto ticket, make_ticket(hub, config, std::chrono::hours(1)));
    report = ticket_report(ticket, may_show_token(context, options.show_token));
    FLEETADM_CHECK(write_join_script(context, options.join_file, ticket, report));
  } else {
    report.data = Json::object();
    FLEETADM_CHECK(write_join_script(context, options.join_file, {}, report));
  }
  report.data["kind"] = "InitReport";
  report.data["changes"] = install::to_json(changes);
  report.names = change_names(changes);
  std::vector<std::string> lines = change_lines(changes, dry_run_mark(context));
  if (lines.empty()) lines.emplace_back("The hub is already installed; nothing changed.");
  lines.insert(lines.end(), report.lines.begin(), report.lines.end());
  report.lines = std::move(lines);
  return report;
}

}  // namespace

void register_init(Registry& registry) {
  Command command;
  command.path = "init";
  command.group = "Fleet";
  command.summary = "Make the current cluster a hub";
  command.description =
      "Installs the fleet's CRDs, admission policies, roles, the bootstrap identity and the hub "
      "controllers on the cluster of the current context, and prints the join command. "
      "Running it again updates only what has changed. Objects with the same name that fleetadm did not "
      "create are kept as they are.\n\n"
      "A dry run with -o yaml prints what would be installed as one stream of documents, for a repository: without Secrets.";
  command.examples = {
      {"Make a hub and wait until its controllers are running", "fleetadm init --wait"},
      {"From a registry of your own, which wants a login",
       "fleetadm init --image-registry registry.example.com/team --image-pull-credential-file docker.json"},
      {"See what would be installed", "fleetadm init --dry-run=server"},
      {"Close the health and metrics port to other namespaces", "fleetadm init --network-policy"},
      {"With a gateway that clusters and clients reach at a load balancer",
       "fleetadm init --gateway --gateway-address gateway.example.com:443"},
      {"Write the join command as a script for whoever joins a cluster", "fleetadm init --output-join-command-file join.sh"},
      {"A hub on EKS, for clusters that come with an IAM role of their own",
       "fleetadm init --registration-drivers csr,awsirsa --hub-cluster-arn arn:aws:eks:us-west-2:123456789012:cluster/hub"},
      {"Manifests for a repository", "fleetadm init --dry-run=client -o yaml"}};
  command.make = invocation<InitOptions>(bind_init, validate_init, run_init);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
