#include <algorithm>
#include <utility>

#include "commands/fleet/changes.h"
#include "commands/fleet/fleet.h"
#include "commands/fleet/image_flags.h"
#include "commands/fleet/pod_flags.h"
#include "commands/framework/dry_run.h"
#include "commands/framework/files.h"
#include "commands/framework/grammar.h"
#include "core/api/kinds.h"
#include "core/install/install.h"
#include "core/install/wait_deployment.h"
#include "core/registration/join/agent_manifests.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/base/names.h"
#include "kubeclient/pki/pki.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::commands {
namespace {

constexpr std::size_t kMaxFile = 1U << 20U;
constexpr std::string_view kTokenVariable = "FLEETADM_HUB_TOKEN";

struct JoinOptions {
  std::string cluster_name;
  std::string hub_apiserver;
  std::string hub_token;
  std::string hub_token_file;
  std::string ca_cert_hash;
  std::string ca_file;
  bool system_roots = false;
  std::string proxy_url;
  std::string proxy_ca_file;
  ImageOptions image;
  PodOptions pods;
  std::vector<std::string> agent_args;
  bool network_policy = false;
  bool preflight_only = false;
  std::string wait = "none";
  Duration timeout = kWaitTimeout;
};

void bind_join(FlagSet& flags, JoinOptions& options) {
  flags.text(&options.cluster_name, "cluster-name", "Name of this cluster in the fleet (a DNS label)").required = true;
  auto& hub = flags.text(&options.hub_apiserver, "hub-apiserver", "Address of the hub's API server");
  hub.required = true;
  hub.value_name = "URL";
  flags
      .text(&options.hub_token, "hub-token",
            "Bootstrap token from `fleetadm get token`; visible to other users of this machine, "
            "prefer --hub-token-file or the environment variable FLEETADM_HUB_TOKEN")
      .value_name = "TOKEN";
  auto& token_file =
      flags.text(&options.hub_token_file, "hub-token-file", "File with the bootstrap token; - reads standard input");
  token_file.value_name = "FILE";
  token_file.complete = Complete::kFiles;
  flags.text(&options.ca_cert_hash, "ca-cert-hash", "SHA-256 hash of the hub CA's public key, as sha256:HEX").value_name = "PIN";
  auto& ca_file = flags.text(&options.ca_file, "ca-file", "File with the hub's CA (PEM)");
  ca_file.value_name = "FILE";
  ca_file.complete = Complete::kFiles;
  flags.boolean(&options.system_roots, "system-roots", "The hub's certificate is signed by a CA that this system trusts");
  flags.text(&options.proxy_url, "proxy-url", "Proxy for connections to the hub").value_name = "URL";
  auto& proxy_ca = flags.text(&options.proxy_ca_file, "proxy-ca-file",
                              "File with the CA of that proxy (PEM), trusted in addition to the hub's; requires --proxy-url");
  proxy_ca.value_name = "FILE";
  proxy_ca.complete = Complete::kFiles;
  image_flags(flags, options.image, "the agent");
  pod_flags(flags, options.pods, "the agent");
  flags.texts(&options.agent_args, "agent-arg", "Extra argument for `fleetadm agent run`, as --name=value; repeatable")
      .value_name = "ARG";
  flags.boolean(&options.network_policy, "network-policy",
                "Let only pods of the same namespace connect to the agent (health and metrics); the kubelet's probes are not "
                "affected");
  flags.boolean(&options.preflight_only, "preflight-only", "Only check connectivity to the hub; change nothing");
  wait_flag(flags, &options.wait, {"registered", "joined", "available"}, "registered",
            "Wait until the agent is running and the cluster is registered on the hub, or for a later state (which requires "
            "acceptance on the hub)");
  timeout_flag(flags, &options.timeout, "How long to wait");
}

bool is_ca_pin(std::string_view text) {
  constexpr std::string_view kKind = "sha256:";
  return text.size() == kKind.size() + 64 && text.starts_with(kKind) &&
         std::all_of(text.begin() + kKind.size(), text.end(), is_hex);
}

/// https://host[:port][/prefix] and nothing else: no credentials, no query, nothing that a terminal or a header would obey.
bool is_hub_url(std::string_view text) {
  constexpr std::string_view kScheme = "https://";
  if (!text.starts_with(kScheme)) return false;
  text.remove_prefix(kScheme.size());
  const std::string_view host = text.substr(0, text.find_first_of("/:"));
  return !host.empty() && std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || std::string_view("@?#\\\"<>").find(c) != std::string_view::npos;
  });
}

Status check_trust(const JoinOptions& options) {
  if (options.ca_cert_hash.empty() && options.ca_file.empty() && !options.system_roots) {
    return fail(Category::kUsage, "the hub's CA is not specified",
                "pass --ca-cert-hash as printed by `fleetadm init`, --ca-file, or --system-roots if the hub's "
                "certificate is publicly signed");
  }
  if (options.system_roots && !(options.ca_cert_hash.empty() && options.ca_file.empty())) {
    return fail(Category::kUsage, "--system-roots cannot be combined with --ca-cert-hash or --ca-file", "use only one of them");
  }
  if (!options.ca_cert_hash.empty() && !is_ca_pin(options.ca_cert_hash)) {
    return fail(
        Category::kUsage,
        "--ca-cert-hash \"" + options.ca_cert_hash + "\" is not a valid CA hash (expected sha256: followed by 64 hex digits)",
        "copy all of it from what `fleetadm init` or `fleetadm get token` prints on the hub");
  }
  return {};
}

Status validate_join(const JoinOptions& options, const std::vector<std::string>&) {
  if (!is_dns_label(options.cluster_name)) {
    return fail(Category::kUsage, "--cluster-name \"" + options.cluster_name + "\" is not a valid DNS label",
                "use at most 63 lowercase letters, digits and '-': the name becomes a namespace on the hub");
  }
  if (!is_hub_url(options.hub_apiserver)) {
    return fail(Category::kUsage, "--hub-apiserver \"" + options.hub_apiserver + "\" is not an https URL",
                "for example: https://hub.example.com:6443");
  }
  if (!options.hub_token.empty() && !options.hub_token_file.empty())
    return fail(Category::kUsage, "--hub-token cannot be combined with --hub-token-file", "use only one of them");
  FLEETADM_CHECK(check_trust(options));
  FLEETADM_CHECK(check_proxy_url("--proxy-url", options.proxy_url));
  if (!options.proxy_ca_file.empty() && options.proxy_url.empty())
    return fail(Category::kUsage, "--proxy-ca-file requires --proxy-url");
  if (!options.proxy_ca_file.empty() && options.system_roots) {
    return fail(Category::kUsage, "--proxy-ca-file cannot be combined with --system-roots",
                "name with --ca-file all CAs that are to be trusted");
  }
  FLEETADM_CHECK(validate_image_options(options.image));
  FLEETADM_CHECK(validate_pod_options(options.pods));
  return check_program_args("agent-arg", options.agent_args);
}

// A flag comes before the variable. None of the messages repeats the token.
Result<std::string> bootstrap_token(Context& context, const JoinOptions& options) {
  std::string token = options.hub_token;
  std::string problem = "--hub-token is blank";
  if (!options.hub_token_file.empty()) {
    FLEETADM_TRY(token, read_file_or_stdin(context, options.hub_token_file, kMaxFile));
    problem = "--hub-token-file: " + (options.hub_token_file == "-" ? "standard input" : "\"" + options.hub_token_file + "\"") +
              " holds no token";
  } else if (token.empty()) {
    token = context.env(kTokenVariable);
    problem = "the bootstrap token is missing: use --hub-token-file or " + std::string(kTokenVariable);
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
  endpoint.proxy_url = options.proxy_url;
  endpoint.cluster_name = options.cluster_name;
  FLEETADM_TRY(endpoint.ca_pem,
               read_ca("--ca-file", options.ca_file,
                       "it must contain the hub's CA as PEM (certificate-authority-data of its kubeconfig, decoded)"));
  FLEETADM_TRY(endpoint.proxy_ca_pem, read_ca("--proxy-ca-file", options.proxy_ca_file, "it must contain the proxy's CA as PEM"));
  FLEETADM_TRY(endpoint.token, bootstrap_token(context, options));
  return endpoint;
}

Status wait_for_cluster(Context& context, const kube::Client& spoke, const kube::RestConfig& hub, const JoinOptions& options) {
  context.progress().begin("Waiting for the agent");
  if (Status running = install::wait_deployment(spoke, api::kAgentNamespace, api::kAgentDeployment, options.timeout,
                                                context.stop(), warn_of_trouble(context));
      !running) {
    context.progress().failed(running.error().message);
    return running;
  }
  context.progress().done("running");
  const std::string condition = options.wait == "joined"      ? std::string(api::kConditionJoined)
                                : options.wait == "available" ? std::string(api::kConditionAvailable)
                                                              : std::string();
  context.progress().begin("Waiting until the hub shows the cluster as " + options.wait);
  // The bootstrap token may read clusters; the agent's own credential is none of ours.
  const auto client = context.client(hub);
  auto reached = [&](const std::optional<Json>& cluster) -> Result<bool> {
    if (!cluster) return false;
    if (condition.empty()) return true;
    for (const Json& entry : list_at(*cluster, {"status", "conditions"})) {
      if (str(entry, {"type"}) == condition) return str(entry, {"status"}) == "True";
    }
    return false;
  };
  auto waited =
      kube::wait_for(client, api::managed_clusters(), "", options.cluster_name, reached, options.timeout, context.stop());
  if (!waited) {
    context.progress().failed(waited.error().message);
    Error error = waited.error().wrap("the hub does not show the cluster " + options.cluster_name + " as " + options.wait);
    error.hint = "check the agent's log: kubectl -n " + std::string(api::kAgentNamespace) + " logs deploy/" +
                 std::string(api::kAgentDeployment);
    return fail(std::move(error));
  }
  context.progress().done();
  return {};
}

Json to_json(const std::vector<join::Check>& checks) {
  Json list = Json::array();
  for (const auto& check : checks) {
    list.push_back(
        Json{{"check", check.name}, {"outcome", std::string(join::to_string(check.outcome))}, {"detail", check.detail}});
  }
  return list;
}

Table to_table(const std::vector<join::Check>& checks) {
  Table table;
  table.columns = {{"CHECK"}, {"OUTCOME"}, {"DETAIL"}};
  for (const auto& check : checks) table.rows.push_back({check.name, std::string(join::to_string(check.outcome)), check.detail});
  return table;
}

void tell(Progress& progress, const std::vector<join::Check>& checks) {
  for (const auto& check : checks) {
    // A check that did not run has no tick; the error tells at which one the way ended.
    if (check.outcome == join::Outcome::kSkipped) continue;
    if (check.outcome == join::Outcome::kWarning) {
      progress.warn(check.name + ": " + check.detail);
      continue;
    }
    progress.begin(check.name);
    if (check.outcome == join::Outcome::kPassed) {
      progress.done(check.detail);
    } else {
      progress.failed(check.detail);
    }
  }
}

Result<Report> run_join(Context& context, const JoinOptions& options, const std::vector<std::string>&) {
  FLEETADM_TRY(const auto endpoint, endpoint_of(context, options));
  FLEETADM_TRY(const auto spoke, context.client());
  const join::Preflight preflight = join::check_hub(endpoint, context.clock(), context.stop());
  tell(context.progress(), preflight.checks);
  if (preflight.error) return fail(*preflight.error);
  Report report;
  report.data = Json{{"kind", "JoinReport"}, {"cluster-name", options.cluster_name}, {"checks", to_json(preflight.checks)}};
  if (options.preflight_only) {
    report.table = to_table(preflight.checks);
    return report;
  }
  FLEETADM_CHECK(join::check_not_elsewhere(spoke, options.cluster_name, endpoint.server));
  FLEETADM_TRY(DeployedImage image, deployed_image(context, options.image, api::kAgentNamespace));
  warn_of_missing_image(context, spoke, image);
  const join::AgentInstall agent{options.cluster_name,      image.image,           options.agent_args,
                                 options.network_policy,    std::move(image.pull), std::move(image.secret),
                                 pod_settings(options.pods)};
  FLEETADM_TRY(auto objects, join::agent_manifests(agent, endpoint, preflight.hub));

  const install::Options how = options_with_progress(context, install::kAgentPart, options.timeout);
  FLEETADM_TRY(const auto changes, step_with_progress(context, "Installing the agent",
                                                      [&] { return install::apply_all(spoke, std::move(objects), how); }));
  const bool dry_run = spoke.gate().dry_run != kube::DryRun::kNone;
  if (options.wait != "none" && !dry_run) FLEETADM_CHECK(wait_for_cluster(context, spoke, preflight.hub, options));

  report.data["changes"] = install::to_json(changes);
  report.lines = change_lines(changes, dry_run_mark(context));
  if (report.lines.empty()) report.lines.emplace_back("The agent is already installed; nothing changed.");
  report.names = change_names(changes);
  if (!dry_run) report.notes.push_back("Now accept the cluster on the hub: fleetadm accept " + options.cluster_name);
  return report;
}

}  // namespace

void register_join(Registry& registry) {
  Command command;
  command.path = "join";
  command.target = Target::kCluster;
  command.group = "Fleet";
  command.summary = "Join the current cluster to a hub";
  command.description =
      "Checks connectivity to the hub step by step, verifies the hub's CA against its hash before "
      "sending the token, and installs the agent on the cluster of the current context. "
      "The cluster becomes a member once it has been accepted on the hub. Running it again updates only "
      "what has changed; a new token replaces the old one.";
  command.examples = {{"Join with a token from a file",
                       "fleetadm join --hub-token-file token --hub-apiserver https://hub:6443 --ca-cert-hash sha256:… "
                       "--cluster-name c1 --wait"},
                      {"Join without storing or showing the token",
                       "fleetadm get token --context hub -o jsonpath={.hub-token} | fleetadm join --context c1 "
                       "--hub-token-file - --hub-apiserver https://hub:6443 --ca-cert-hash sha256:… --cluster-name c1"},
                      {"Only check connectivity to the hub",
                       "fleetadm join --preflight-only --hub-token-file token --hub-apiserver https://hub:6443 --ca-file "
                       "hub.crt --cluster-name c1"}};
  command.make = invocation<JoinOptions>(bind_join, validate_join, run_join);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
