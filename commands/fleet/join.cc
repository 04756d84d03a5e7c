#include <algorithm>
#include <utility>

#include "commands/fleet/changes.h"
#include "commands/fleet/fleet.h"
#include "commands/fleet/join_options.h"
#include "commands/framework/dry_run.h"
#include "commands/framework/files.h"
#include "core/api/cluster_claim.h"
#include "core/api/kinds.h"
#include "core/install/install.h"
#include "core/install/wait_deployment.h"
#include "core/registration/join/agent_id.h"
#include "core/registration/join/agent_manifests.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/pki/pki.h"
#include "kubeclient/watch/informer.h"

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

std::vector<Json> claim_objects(const JoinOptions& options) {
  std::vector<Json> claims;
  for (const auto& [name, value] : claims_of(options)) claims.push_back(api::cluster_claim(name, value));
  return claims;
}

/// Behind the installation, which brings their kind along.
Status set_claims(const kube::Client& spoke, const JoinOptions& options, std::vector<install::Change>& changes) {
  using Outcome = api::StoredClaim::Outcome;
  const bool dry_run = spoke.gate().dry_run != kube::DryRun::kNone;
  for (const auto& [name, value] : claims_of(options)) {
    install::Change change{api::cluster_claims().kind, {}, name, install::Action::kCreated, api::cluster_claims().group};
    const auto stored = api::set_claim(spoke, name, value);
    if (!stored && !(dry_run && stored.error().code == 404)) return fail(stored.error().wrap("claim " + name));
    if (!stored) change.unchecked = "its kind does not exist yet";
    if (stored && stored->outcome == Outcome::kChanged) change.action = install::Action::kConfigured;
    if (stored && stored->outcome == Outcome::kUnchanged) change.action = install::Action::kUnchanged;
    changes.push_back(std::move(change));
  }
  return {};
}

/// Each field of a Klusterlet: what it becomes, or why not.
void tell_fields(const std::string& filename, const std::vector<join::FieldOutcome>& fields, Report& report) {
  Json list = Json::array();
  for (const join::FieldOutcome& field : fields) {
    report.lines.push_back(field.field + (field.effective ? ": " : " has no effect: ") + field.outcome);
    list.push_back(Json{{"field", field.field}, {"effective", field.effective}, {"outcome", field.outcome}});
  }
  if (!filename.empty()) report.data["klusterlet"] = std::move(list);
}

Result<Report> run_join(Context& context, const JoinOptions& given, const std::vector<std::string>&) {
  JoinOptions options = given;
  FLEETADM_TRY(const JoinFile file, read_join_file(context, options));
  FLEETADM_CHECK(validate_join(options));
  FLEETADM_TRY(auto endpoint, endpoint_of(context, options));
  if (!file.hub_ca_pem.empty()) endpoint.ca_pem = file.hub_ca_pem;
  FLEETADM_TRY(const auto spoke, context.client());
  const join::Preflight preflight = join::check_hub(endpoint, context.clock(), context.stop());
  tell(context.progress(), preflight.checks);
  if (preflight.error) return fail(*preflight.error);
  Report report;
  report.data = Json{{"kind", "JoinReport"}, {"cluster-name", options.cluster_name}, {"checks", to_json(preflight.checks)}};
  tell_fields(options.filename, file.fields, report);
  if (options.preflight_only) {
    report.table = to_table(preflight.checks);
    return report;
  }
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
  FLEETADM_TRY(auto objects, join::agent_manifests(agent, endpoint, preflight.hub));
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
                 return done;
               }));
  if (options.wait != "none" && !dry_run) FLEETADM_CHECK(wait_for_cluster(context, spoke, preflight.hub, options));

  report.data["changes"] = install::to_json(changes);
  std::vector<std::string> lines = change_lines(changes, dry_run_mark(context));
  if (lines.empty()) lines.emplace_back("The agent is already installed; nothing changed.");
  report.lines.insert(report.lines.end(), lines.begin(), lines.end());
  report.names = change_names(changes);
  if (dry_run) return report;
  std::string accept = "fleetadm accept " + options.cluster_name;
  if (!agent_id.id.empty()) {
    report.data["agent-id"] = agent_id.id;
    report.notes.push_back("The agent of this cluster has the ID " + agent_id.id +
                           "; what is accepted has to show the same one.");
    accept += " --agent-id " + agent_id.id;
  }
  report.notes.push_back("Now accept the cluster on the hub: " + accept);
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
      "The cluster becomes a member once it has been accepted on the hub: compare the agent ID, which join prints, with "
      "that of the request there. Running it again updates only "
      "what has changed; a new token replaces the old one.\n\n"
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
                      {"Manifests for a repository",
                       "fleetadm join --hub-token-file token --hub-apiserver https://hub:6443 --ca-cert-hash sha256:… "
                       "--cluster-name c1 --dry-run=client -o yaml"},
                      {"Only check connectivity to the hub",
                       "fleetadm join --preflight-only --hub-token-file token --hub-apiserver https://hub:6443 --ca-file "
                       "hub.crt --cluster-name c1"}};
  command.make = invocation<JoinOptions>(
      bind_join, [](const JoinOptions&, const std::vector<std::string>&) -> Status { return {}; }, run_join);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
