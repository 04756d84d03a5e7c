#include "commands/agent/agent.h"

#include <array>
#include <unistd.h>

#include "commands/framework/program.h"
#include "core/agent/agent.h"
#include "core/agent/hosted.h"
#include "core/api/hosted_member.h"
#include "core/registration/aws/names.h"
#include "core/work/agent/agent.h"
#include "kubeclient/base/names.h"
#include "kubeclient/config/in_cluster.h"

namespace fleetadm::commands {
namespace {

constexpr std::int64_t kLongestRaw = 65536;  // of many values, all have to fit into one status
constexpr Duration kShortestHubTimeout = std::chrono::seconds(10);
constexpr std::int64_t kShortestToken = 600;  // that Kubernetes issues

struct AgentRunOptions {
  agent::AgentOptions agent;
  std::vector<std::string> bootstrap_secrets;  // none: the usual one
  std::vector<std::string> labels;             // key=value
  std::vector<std::string> annotations;        // key=value
  work::WorkAgentOptions work;
  std::int64_t max_raw_length = 1024;
  std::string hosted_from;  // namespace with the members' Secrets
  std::string registration_auth = "csr";
  agent::AgentOptions::AwsIrsa awsirsa;
};

void bind_agent(FlagSet& flags, AgentRunOptions& options) {
  agent::AgentOptions& agent = options.agent;
  flags.text(&agent.cluster_name, "cluster-name", "Name of this cluster on the hub (default: the stored one, otherwise random)");
  flags.text(&agent.agent_id, "agent-id",
             "Suffix of the agent's certificate common name (default: the stored one, otherwise random)");
  Flag& bootstrap = flags.texts(&agent.bootstrap_kubeconfigs, "bootstrap-kubeconfig",
                                "Kubeconfig file to join the hub with, instead of the secret; repeatable, for several hubs");
  bootstrap.value_name = "FILE";
  bootstrap.complete = Complete::kFiles;
  flags
      .texts(&options.bootstrap_secrets, "bootstrap-secret",
             "Secret that holds the bootstrap kubeconfig of a hub; repeatable, for several hubs in the order of preference")
      .default_text = agent.bootstrap_secrets.front();
  flags
      .duration(
          &agent.hub_connection_timeout, "hub-connection-timeout",
          "Of several hubs, how long the one that was joined may be silent before another one is joined; at least three lease periods")
      .default_text = "10m";
  flags.text(&agent.hub_kubeconfig_secret, "hub-kubeconfig-secret", "Secret that keeps the hub credential").default_text =
      agent.hub_kubeconfig_secret;
  flags.text(&agent.work_service_account, "work-service-account",
             "Service account to apply works as, by impersonation (default: the agent's own identity)");
  flags.texts(&options.labels, "cluster-labels", "Label for the managed cluster when it is registered, key=value; repeatable");
  flags.texts(&options.annotations, "cluster-annotations",
              "Annotation for the managed cluster, key=value with a key under agent.open-cluster-management.io; "
              "repeatable");
  flags.comma_texts(&agent.external_server_urls, "spoke-external-server-urls",
                    "HTTPS URLs at which the hub can reach this cluster's API server");
  flags.duration(&agent.healthcheck_period, "cluster-healthcheck-period", "How often the cluster's status is checked")
      .default_text = "1m";
  flags
      .integer(&agent.max_custom_cluster_claims, "max-custom-cluster-claims", "Maximum number of custom cluster claims to report")
      .default_text = "20";
  flags.comma_texts(&agent.reserved_cluster_claim_suffixes, "reserved-cluster-claim-suffixes",
                    "Suffixes of reserved claims, which do not count toward that limit");
  flags
      .integer(&agent.client_cert_expiration_seconds, "client-cert-expiration-seconds",
               "Lifetime to request for the client certificate, at least 3600; 0 leaves it to the hub")
      .default_text = "0";
  flags
      .choice(&options.registration_auth, "registration-auth", {"csr", "awsirsa"},
              "How the agent registers: with a client certificate of the hub, or on EKS with an IAM role of its own")
      .default_text = "csr";
  flags.text(&options.awsirsa.hub_arn, "hub-cluster-arn", "ARN of the hub's EKS cluster, with awsirsa").value_name = "ARN";
  flags.text(&options.awsirsa.managed_arn, "managed-cluster-arn", "ARN of this EKS cluster, with awsirsa").value_name = "ARN";
  flags
      .text(&options.awsirsa.role_suffix, "managed-cluster-role-suffix",
            "What the names of both IAM roles end in, with awsirsa (default: the hash of both ARNs)")
      .value_name = "SUFFIX";
  flags
      .choice(&agent.addon_driver, "addon-driver", {"csr", "token"},
              "How add-ons authenticate to the hub: with a client certificate or a service account token")
      .default_text = "csr";
  flags
      .integer(&agent.addon_token_expiration_seconds, "addon-token-expiration-seconds",
               "Lifetime to request for add-on tokens, at least 600; 0 leaves it to the hub")
      .default_text = "0";
  flags
      .duration(&options.work.eviction_grace, "work-eviction-grace",
                "How long to keep objects after their work has disappeared from the hub (876000h: forever)")
      .default_text = "1h";
  flags.boolean(&options.work.raw_feedback, "raw-feedback",
                "Report feedback values that are lists or objects as JSON (gate RawFeedbackJsonString)");
  flags.integer(&options.max_raw_length, "max-raw-feedback", "Maximum size of such a value, in bytes").default_text = "1024";
  flags
      .boolean(&agent.gateway, "gateway",
               "Keep a connection to each replica of the hub's gateway, if it has one, and pass its requests on to this "
               "cluster's API server")
      .default_text = "true";
  flags.boolean(&agent.cluster_proxy, "cluster-proxy",
                "Serve the add-on cluster-proxy of the hub in place of the add-on's own pods");
  flags.boolean(
      &agent.report_figures, "report-figures",
      "Report whether the cluster is ready (/readyz), how many nodes are, what pods hold and which APIs it serves, as the "
      "hub does for clusters that it dials");
  flags
      .text(&options.hosted_from, "hosted-from",
            "Run an agent for each member whose kubeconfig is in this namespace, in Secrets with the label " +
                std::string(api::kHostedMemberLabel))
      .value_name = "NAMESPACE";
  flags.text(&agent.health_address, "health-address", "Address of the health and metrics server, such as :8000 (default: none)")
      .value_name = "HOST:PORT";
  flags.boolean(&agent.leader_elect, "leader-elect", "Use leader election (needed with more than one replica)");
}

Status validate_awsirsa(const AgentRunOptions& options) {
  const auto& [hub_arn, managed_arn, suffix] = options.awsirsa;
  if (options.registration_auth != "awsirsa") {
    if (hub_arn.empty() && managed_arn.empty() && suffix.empty()) return {};
    return fail(Category::kUsage, "--hub-cluster-arn, --managed-cluster-arn and --managed-cluster-role-suffix require awsirsa",
                "add --registration-auth awsirsa");
  }
  for (const auto& [flag, arn] : {std::pair{"--hub-cluster-arn", hub_arn}, std::pair{"--managed-cluster-arn", managed_arn}}) {
    const auto parsed = registration::aws::parse_eks_arn(arn);
    if (!parsed) return fail(parsed.error().wrap(flag));
  }
  if (!options.hosted_from.empty())
    return fail(Category::kUsage, "--hosted-from cannot be used with --registration-auth awsirsa",
                "members that are hosted have no IAM role of their own");
  return {};
}

Status validate_agent(const AgentRunOptions& options, const std::vector<std::string>&) {
  if (options.max_raw_length < 0 || options.max_raw_length > kLongestRaw)
    return fail(Category::kUsage, "--max-raw-feedback must be between 0 and " + std::to_string(kLongestRaw));
  if (const std::int64_t seconds = options.agent.addon_token_expiration_seconds; seconds != 0 && seconds < kShortestToken) {
    return fail(Category::kUsage, "--addon-token-expiration-seconds must be 0 or at least " + std::to_string(kShortestToken));
  }
  if (!options.hosted_from.empty()) {
    if (!is_dns_label(options.hosted_from))
      return fail(Category::kUsage, "--hosted-from: \"" + options.hosted_from + "\" is not a valid namespace name");
    if (!options.agent.cluster_name.empty() || !options.agent.agent_id.empty())
      return fail(Category::kUsage, "--hosted-from cannot be used with --cluster-name or --agent-id: each member has its own");
  }
  if (options.agent.hub_connection_timeout < kShortestHubTimeout)
    return fail(Category::kUsage, "--hub-connection-timeout must be at least " + format_duration(kShortestHubTimeout));
  if (options.work.eviction_grace < Duration::zero()) return fail(Category::kUsage, "--work-eviction-grace cannot be negative");
  FLEETADM_CHECK(validate_awsirsa(options));
  for (const auto& [flag, words] :
       {std::pair{"--cluster-labels", &options.labels}, std::pair{"--cluster-annotations", &options.annotations}}) {
    for (const std::string& word : *words) {
      const auto equals = word.find('=');
      if (equals == std::string::npos || equals == 0)
        return fail(Category::kUsage, std::string(flag) + " \"" + word + "\" is not key=value");
    }
  }
  return {};
}

std::string instance(const Context& context) {
  if (std::string pod = context.env("POD_NAME"); !pod.empty()) return pod;
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) return "unknown";
  return host.data();
}

/// Of words that were validated.
std::map<std::string, std::string> pairs_of(const std::vector<std::string>& words) {
  std::map<std::string, std::string> pairs;
  for (const std::string& word : words) {
    const auto equals = word.find('=');
    pairs[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return pairs;
}

/// What an agent is started with.
struct Prepared {
  agent::AgentOptions options;
  kube::RestConfig spoke;
  agent::AgentParts parts;
};

/// `context` must outlive what is started.
Result<Prepared> prepare(Context& context, const AgentRunOptions& given) {
  if (context.global().dry_run != kube::DryRun::kNone) {
    return fail(Category::kUsage, "--dry-run does not apply to \"agent run\", which is a long-running process",
                "use \"fleetadm join --dry-run=server\" to see the objects that would be created");
  }
  Prepared prepared;
  agent::AgentOptions& options = prepared.options;
  options = given.agent;
  if (!given.bootstrap_secrets.empty()) options.bootstrap_secrets = given.bootstrap_secrets;
  if (given.registration_auth == "awsirsa") options.awsirsa = given.awsirsa;
  options.cluster_labels = pairs_of(given.labels);
  options.cluster_annotations = pairs_of(given.annotations);
  // -n, else the pod's own, else the usual one: never a kubeconfig context's, which says nothing about agents.
  const auto variable = [&context](const char* name) { return context.env(name); };
  if (std::string ns = context.global().config.ns; !ns.empty()) {
    options.ns = std::move(ns);
  } else if (std::string pod = kube::in_cluster_namespace(variable); !pod.empty()) {
    options.ns = std::move(pod);
  }
  options.instance = instance(context);
  FLEETADM_TRY(prepared.spoke, context.rest_config());
  prepared.parts.connect = [&context](const kube::RestConfig& config) { return context.client(config); };
  work::WorkAgentOptions work = given.work;
  work.max_raw_length = static_cast<std::size_t>(given.max_raw_length);
  prepared.parts.add_work = [work](controller::Manager& manager, const agent::Joined& joined) {
    work::WorkAgentOptions options_of_work = work;
    options_of_work.cluster = joined.identity.cluster;
    options_of_work.hub_server = joined.hub_server;
    work::add_work_controllers(manager, joined.hub, joined.spoke, options_of_work);
  };
  return prepared;
}

Result<Report> run_agent(Context& context, const AgentRunOptions& options, const std::vector<std::string>&) {
  FLEETADM_TRY(const Prepared prepared, prepare(context, options));
  if (options.hosted_from.empty()) {
    FLEETADM_CHECK(agent::run_agent(prepared.options, prepared.spoke, prepared.parts, context.stop()));
  } else {
    const agent::HostedOptions hosted{options.hosted_from, prepared.options};
    FLEETADM_CHECK(agent::run_hosted(hosted, prepared.spoke, prepared.parts, context.stop()));
  }
  return Report{};
}

class AgentProgram final : public Program {
 public:
  AgentProgram(std::shared_ptr<Context> context, std::unique_ptr<agent::RunningAgent> agent)
      : context_(std::move(context)), agent_(std::move(agent)) {}

 private:
  std::shared_ptr<Context> context_;
  std::unique_ptr<agent::RunningAgent> agent_;  // last: it ends first
};

Result<std::unique_ptr<Program>> start_agent(std::shared_ptr<Context> context, const AgentRunOptions& options,
                                             const Hosting& hosting) {
  // A kubeconfig file may name programs to run: whose they are is known of a process alone, by its environment.
  if (!options.hosted_from.empty() || options.agent.leader_elect || !options.agent.bootstrap_kubeconfigs.empty()) return nullptr;
  FLEETADM_TRY(Prepared prepared, prepare(*context, options));
  prepared.options.health_address.clear();  // whoever hosts it knows how it is
  prepared.parts.pool = hosting.pool;
  prepared.parts.log_file = hosting.log_file;
  FLEETADM_TRY(auto agent, agent::start_agent(prepared.options, prepared.spoke, prepared.parts));
  return std::make_unique<AgentProgram>(std::move(context), std::move(agent));
}

}  // namespace

void register_agent(Registry& registry) {
  register_agent_scores(registry);
  register_agent_msa(registry);
  Command command;
  command.path = "agent run";
  command.target = Target::kSilent;
  command.group = "Programs";
  command.summary = "Run the agent of a managed cluster";
  command.description =
      "Joins the hub that the bootstrap kubeconfig names, keeps the credential fresh, reports the "
      "cluster's state and applies the works that the hub has for it. Runs until it is stopped. "
      "If the hub is unreachable or refuses, the agent waits and retries. With the bootstrap "
      "kubeconfigs of several hubs it is with one of them at a time: it leaves a hub that denies the "
      "cluster at once, and one that is silent after --hub-connection-timeout, and joins the first "
      "of the others that can be joined.\n\n"
      "The cluster itself is the one of --kubeconfig, and inside a pod the pod's own. "
      "--namespace names where the agent keeps its secrets (default: the pod's own, "
      "else open-cluster-management-agent).\n\n"
      "With --hosted-from one process has an agent for each of many members. Each member is a Secret in "
      "that namespace with the label fleetadm.io/hosted-member=NAME, which names the cluster, and a kubeconfig of "
      "the member in the key kubeconfig. The bootstrap secret is there too, one for all members, or "
      "named for a member by the annotation fleetadm.io/bootstrap-secrets; so are the credentials on the hub. "
      "Members come and go with their Secrets.";
  command.examples = {{"As the agent's Deployment runs it", "fleetadm agent run --cluster-name c1"},
                      {"Outside of a cluster",
                       "fleetadm agent run --kubeconfig spoke.kubeconfig --bootstrap-kubeconfig bootstrap.kubeconfig "
                       "--cluster-name c1"},
                      {"For many members that cannot run an agent of their own",
                       "fleetadm agent run --hosted-from members --work-service-account fleetadm-agent-work"},
                      {"With a second hub to change to when the first is lost",
                       "fleetadm agent run --cluster-name c1 --bootstrap-secret hub1 --bootstrap-secret hub2"}};
  command.make = program_invocation<AgentRunOptions>(bind_agent, validate_agent, run_agent, start_agent);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
