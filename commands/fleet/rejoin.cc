#include "core/registration/rejoin/rejoin.h"

#include <algorithm>
#include <utility>

#include "commands/fleet/bootstrap_token.h"
#include "commands/fleet/fleet.h"
#include "commands/fleet/member_kubeconfig.h"
#include "commands/framework/dry_run.h"
#include "commands/framework/files.h"
#include "commands/framework/grammar.h"
#include "commands/framework/guard.h"
#include "commands/framework/hub_side.h"
#include "commands/framework/member_side.h"
#include "commands/framework/write_report.h"
#include "core/api/hosted_member.h"
#include "core/api/kinds.h"
#include "core/registration/expiry/hub_hops.h"
#include "core/registration/expiry/spoke_hops.h"
#include "core/registration/join/hosted_members.h"
#include "core/registration/join/hosted_sides.h"
#include "core/registration/join/preflight.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::commands {
namespace {

namespace expiry = registration::expiry;
namespace rejoin = registration::rejoin;
namespace stored = registration::agent;

constexpr auto kTokenLife = std::chrono::hours(1);
constexpr auto kStillGood = std::chrono::minutes(30);  // of a bootstrap token that is kept
constexpr std::size_t kMaxAuthorityFile = 1U << 20U;

struct RejoinOptions {
  HubSide hub;
  std::string hub_apiserver;
  std::string ca_file;
  MemberSide member;
  GuardOptions guard;
  Duration timeout = kWaitTimeout;
};

void bind_rejoin(FlagSet& flags, RejoinOptions& options) {
  bind_hub_side(flags, options.hub, "; its CA and a new token are taken from there");
  flags.text(&options.hub_apiserver, "hub-apiserver", "Address of the hub's API server, if the agent is to use another one")
      .value_name = "URL";
  file_flag(flags, &options.ca_file, "ca-file", "File with the hub's CA (PEM), instead of that of the hub's kubeconfig");
  bind_member_side(
      flags, options.member,
      "Where the agent runs: on the managed cluster itself, or (hosted) on the cluster of --kubeconfig and --context");
  bind_guard(flags, options.guard);
  timeout_flag(flags, &options.timeout, "How long to wait until the agent has a certificate");
}

Status validate_rejoin(const RejoinOptions& options, const std::vector<std::string>&) {
  if (!options.hub.named()) {
    return fail(Category::kUsage, "the hub is not specified",
                "name its context with --hub-context; with nothing but a token of the hub, run fleetadm join again");
  }
  if (!options.hub_apiserver.empty() && !options.hub_apiserver.starts_with("https://")) {
    return fail(Category::kUsage, "--hub-apiserver \"" + options.hub_apiserver + "\" is not an https URL",
                "for example: https://hub.example.com:6443");
  }
  return validate_member_side(options.member, true);
}

/// Both sides, and what the agent is to have.
struct Case {
  kube::Client home;  // where the agent's Secrets are: the cluster, or the one that hosts its agent
  kube::Client spoke;
  kube::Client hub;
  kube::RestConfig hub_config;
  rejoin::Agent agent;
  stored::Endpoint endpoint;
};

Result<std::string> authorities_of(const RejoinOptions& options, const kube::RestConfig& hub) {
  if (options.ca_file.empty()) return hub.ca_data;
  FLEETADM_TRY(std::string pem, read_whole_file(options.ca_file, kMaxAuthorityFile));
  if (auto parsed = pki::parse_certificates(pem); !parsed) {
    Error error = parsed.error().wrap("--ca-file \"" + options.ca_file + "\"");
    error.category = Category::kUsage;
    return fail(std::move(error));
  }
  return pem;
}

/// The cluster's own Secrets are no agent's where another cluster hosts it.
Status check_runs_here(const kube::Client& spoke) {
  FLEETADM_TRY(const auto hosted, join::hosted_as(spoke));
  if (!hosted) return {};
  return fail(Category::kConflict, "the agent of this cluster does not run here: it is hosted, as \"" + hosted->cluster + "\"",
              "fleetadm rejoin --context HOSTING_CLUSTER --mode hosted --managed-cluster-context CONTEXT --hub-context HUB");
}

/// A hosted member, by what it says itself; kConflict where it is hosted elsewhere, or not.
struct HostedCase {
  HostedSides sides;
  join::HostedMember member;
};
Result<HostedCase> read_hosted(Context& context, const MemberSide& side) {
  FLEETADM_TRY(HostedSides sides, hosted_sides(context, side));
  const std::string ns = hosted_namespace(side);
  FLEETADM_TRY(const std::string by, join::hosting_by(sides.hosting, ns));
  FLEETADM_TRY(const auto hosted, join::hosted_as(sides.member));
  if (!hosted || hosted->by != by) {
    return fail(Category::kConflict,
                "the managed cluster is hosted by " + (hosted ? hosted->by + ", and this is " + by : std::string("nobody")),
                "check --context, --hosted-namespace and --managed-cluster-context");
  }
  FLEETADM_TRY(auto members, join::hosted_members(sides.hosting, ns));
  const auto found = std::find_if(members.begin(), members.end(), [&](const join::HostedMember& one) {
    return one.cluster == hosted->cluster && one.secret == api::hosted_member_secret(hosted->cluster);
  });
  if (found == members.end()) return fail(not_hosted(hosted->cluster, ns));
  return HostedCase{std::move(sides), std::move(*found)};
}

Result<Case> read_case(Context& context, const RejoinOptions& options, const std::optional<HostedCase>& hosted) {
  FLEETADM_TRY(const kube::Client home, hosted ? Result<kube::Client>(hosted->sides.hosting) : context.client());
  FLEETADM_TRY(const auto hub_config, hub_side(context, options.hub));
  if (!hosted) FLEETADM_CHECK(check_runs_here(home));
  FLEETADM_TRY(rejoin::Agent agent, hosted ? rejoin::read_hosted_agent(home, hosted_namespace(options.member), hosted->member)
                                           : rejoin::read_agent(home));
  if (!agent.deployed && agent.bootstrap.empty() && agent.stored.data.empty())
    return fail(Category::kNotFound, "no agent is installed on this cluster", "join it: fleetadm join");
  if (agent.cluster_name.empty()) {
    return fail(Category::kNotFound, "this cluster no longer records the name it joined under",
                "join it again under that name: fleetadm join --cluster-name NAME");
  }
  FLEETADM_TRY(const std::string authorities, authorities_of(options, *hub_config));
  stored::Endpoint endpoint = rejoin::next_endpoint(agent, options.hub_apiserver, authorities);
  if (endpoint.server.empty()) endpoint.server = hub_config->server;
  return Case{home,
              hosted ? hosted->sides.member : home,
              context.client(*hub_config),
              *hub_config,
              std::move(agent),
              std::move(endpoint)};
}

/// Of the hub that the agent is to have now.
bool certificate_is_good(const Case& the, Instant now, const std::stop_token& stop) {
  const stored::HubSecret& secret = the.agent.stored;
  if (!stored::why_unusable(secret, secret.identity(), the.endpoint, now).empty()) return false;
  expiry::Hop hop = expiry::agent_certificate(secret, expiry::client_authorities(the.hub));
  if (hop.standing == expiry::Standing::kWrong) return false;
  kube::Credentials credentials;
  credentials.client_certificate = secret.get(stored::kCertificateKey);
  credentials.client_key = secret.get(stored::kPrivateKeyKey);
  expiry::ask_hub(hop, the.endpoint, std::move(credentials), stop);
  return hop.standing != expiry::Standing::kWrong;
}

bool bootstrap_is_good(const Case& the, Instant now, const std::stop_token& stop) {
  const auto endpoint = stored::endpoint_of(the.agent.bootstrap);
  const auto credential = expiry::bootstrap_credential(the.agent.bootstrap);
  if (!endpoint || !credential || !(*endpoint == the.endpoint) || credential->token.empty()) return false;
  expiry::Hop hop = expiry::bootstrap_hop("", *credential, {});
  kube::Credentials credentials;
  credentials.token = credential->token;
  expiry::ask_hub(hop, *endpoint, std::move(credentials), stop);
  // Where the hub cannot be asked, nothing says that it is good.
  return hop.standing == expiry::Standing::kGood && (!hop.ends || *hop.ends - now > kStillGood);
}

/// The hub at the address that the agent will use, as far as this machine can see it: the token is sent to nobody else.
Status check_way(Context& context, const Case& the, const std::string& token) {
  join::HubEndpoint way;
  way.server = the.endpoint.server;
  way.token = token;
  way.ca_pem = the.endpoint.ca_pem;
  way.system_roots = the.endpoint.ca_pem.empty();
  way.proxy_url = the.endpoint.proxy_url;
  way.cluster_name = the.agent.cluster_name;
  context.progress().begin("Checking the hub at " + way.server);
  const join::Preflight preflight = join::check_hub(way, context.clock(), context.stop());
  if (!preflight.error) {
    context.progress().done();
    return {};
  }
  context.progress().failed(preflight.error->message);
  const auto failed = std::find_if(preflight.checks.begin(), preflight.checks.end(),
                                   [](const join::Check& check) { return check.outcome == join::Outcome::kFailed; });
  if (failed != preflight.checks.end() && (failed->name == "DNS" || failed->name == "TCP")) {
    context.progress().warn("only the cluster may reach " + way.server + "; its agent will be the first to try");
    return {};
  }
  return fail(*preflight.error);
}

work::Impact works_at_risk(const rejoin::Agent& agent, const std::vector<std::string>& names) {
  work::Impact impact;
  impact.clusters = 1;
  for (const std::string& name : names) impact.lost.push_back({work::LostWork::Effect::kRemoved, agent.cluster_name, name, ""});
  return impact;
}

/// Until the agent has a certificate of the hub; its request is approved on the way.
Result<rejoin::Step> wait_for_agent(Context& context, const Case& the, const RejoinOptions& options, const std::string& before,
                                    Report& report) {
  const Instant deadline = context.clock().now() + options.timeout;
  context.progress().begin("Waiting until the agent has a certificate");
  while (true) {
    const Instant now = context.clock().now();
    auto step = rejoin::advance(the.home, the.hub, the.agent, the.endpoint, before, now);
    if (step && !step->approved.empty()) report.lines.push_back("certificatesigningrequest " + step->approved + " approved");
    if (!step || step->done) {
      step ? context.progress().done() : context.progress().failed(step.error().message);
      return step;
    }
    context.progress().note("for " + step->waits_for);
    if (context.stop().stop_requested()) {
      context.progress().failed("interrupted");
      return fail(Category::kCancelled, "interrupted", "the new bootstrap stays; run the command again to go on");
    }
    if (now >= deadline) {
      context.progress().failed("timed out after " + format_duration(options.timeout));
      return fail(Category::kTimeout, "the agent has no certificate yet; waited for " + step->waits_for,
                  "see the agent's log: kubectl -n " + the.agent.ns + " logs deploy/" +
                      std::string(is_hosted_mode(options.member) ? api::kHostedDeployment : api::kAgentDeployment) +
                      "; the new bootstrap stays, run the command again to go on");
    }
    // A change of the Secret ends the pause; a change on the hub is seen with the next look.
    const auto never = [](const std::optional<Json>&) -> Result<bool> { return false; };
    (void)kube::wait_for(the.home, kube::resources::secrets(), the.agent.ns, the.agent.hub_secret, never,
                         std::min<Duration>(std::chrono::seconds(1), deadline - now), context.stop());
  }
}

Report new_report(const Case& the) {
  Report report;
  report.data = Json{{"kind", "RejoinReport"},
                     {"cluster-name", the.agent.cluster_name},
                     {"agent-id", the.agent.stored.get(stored::kAgentNameKey)},
                     {"hub-apiserver", the.endpoint.server},
                     {"bootstrap", "unchanged"},
                     {"certificate", "unchanged"}};
  return report;
}

/// Of a hosted agent, on its member: a new token in the place of one that the member does not take, or that ends soon. True where
/// there is (or would be) a new one.
Result<bool> renew_member_token(Context& context, const HostedCase& hosted, const std::string& ns, Report& report) {
  auto way = stored_way(hosted.member.kubeconfig);
  if (!way) way = way_to_member(context, {}, hosted.sides.member_config);
  MemberKubeconfig kubeconfig(context, hosted.sides, *way, hosted.member.kubeconfig);
  std::string wanted = kubeconfig.of_dry_run();
  if (!is_dry(context)) {
    FLEETADM_TRY(wanted, kubeconfig.get());
  }
  report.data["member-token"] = wanted == hosted.member.kubeconfig ? "unchanged" : "issued";
  if (wanted == hosted.member.kubeconfig) return false;
  FLEETADM_TRY([[maybe_unused]] const Json written,
               hosted.sides.hosting.modify(kube::resources::secrets(), ns, hosted.member.secret, [&](Json& secret) -> Status {
                 at_or_make(secret, {"data", stored::kKubeconfigKey}) = base64_encode(wanted);
                 return {};
               }));
  report.lines.push_back("Secret " + kube::object_key(ns, hosted.member.secret) + " configured" + dry_run_mark(context));
  report.names.push_back("secret/" + hosted.member.secret);
  return true;
}

Result<Report> run_rejoin(Context& context, const RejoinOptions& options, const std::vector<std::string>&) {
  std::optional<HostedCase> hosted;
  if (is_hosted_mode(options.member)) {
    FLEETADM_TRY(hosted, read_hosted(context, options.member));
  }
  FLEETADM_TRY(const Case the, read_case(context, options, hosted));
  const std::string& name = the.agent.cluster_name;
  FLEETADM_TRY(const auto cluster, on_hub(the.hub.find(api::managed_clusters(), "", name)));
  const bool accepted = cluster && flag(*cluster, {"spec", "hubAcceptsClient"});
  Report report = new_report(the);
  FLEETADM_TRY(const auto at_risk, rejoin::works_unknown_to_hub(the.spoke, the.hub, the.agent));
  const std::string what = "joining cluster " + name + " to a hub that does not have its works";
  FLEETADM_TRY(auto plan, [&]() -> Result<std::optional<Report>> {
    if (at_risk.empty() && !options.guard.plan) return std::nullopt;
    return guard_impact(context, options.guard, what, works_at_risk(the.agent, at_risk), report.notes);
  }());
  if (plan) return std::move(*plan);

  bool renewed = false;
  if (hosted) {
    FLEETADM_TRY(renewed, renew_member_token(context, *hosted, the.agent.ns, report));
  }
  const Instant now = context.clock().now();
  const bool good = certificate_is_good(the, now, context.stop());
  if (good && bootstrap_is_good(the, now, context.stop())) {
    (renewed ? report.notes : report.lines)
        .push_back(std::string(renewed ? "" : "Nothing to do: ") +
                   "the hub takes the agent's certificate and its bootstrap token.");
    return report;
  }
  FLEETADM_TRY(const JoinTicket ticket, make_ticket(the.hub, the.hub_config, kTokenLife));
  FLEETADM_CHECK(check_way(context, the, ticket.token));
  FLEETADM_TRY(const bool made,
               rejoin::write_bootstrap(the.home, the.agent, rejoin::bootstrap_kubeconfig(the.endpoint, ticket.token)));
  const std::string mark = dry_run_mark(context);
  const std::string done = made ? "created" : "configured";
  report.data["bootstrap"] = done;
  report.lines.push_back("Secret " + kube::object_key(the.agent.ns, the.agent.bootstrap_secret) + " " + done + mark);
  report.names.push_back("secret/" + the.agent.bootstrap_secret);
  if (good) {
    report.notes.emplace_back("The agent keeps its certificate, which the hub takes.");
    return report;
  }
  if (is_dry(context)) {
    report.notes.emplace_back("The agent would ask for a new certificate, and its request would be approved.");
    return report;
  }
  if (!accepted) {
    report.notes.push_back(
        std::string(cluster ? "The hub has not accepted the cluster" : "The hub does not know the cluster yet") +
        ". When its agent has asked: fleetadm accept " + name);
    return report;
  }
  FLEETADM_TRY(const rejoin::Step step,
               wait_for_agent(context, the, options, the.agent.stored.get(stored::kCertificateKey), report));
  if (step.issued) report.data["certificate"] = "issued";
  if (step.expires) {
    report.data["certificate-expires"] = format_time(*step.expires);
    report.lines.push_back("cluster " + name + (step.issued ? " has" : " keeps") + " a certificate of the hub, valid until " +
                           format_time(*step.expires));
  }
  return report;
}

}  // namespace

void register_rejoin(Registry& registry) {
  Command command;
  command.path = "rejoin";
  command.target = Target::kCluster;
  command.group = "Fleet";
  command.summary = "Give the agent of the current cluster a new bootstrap";
  command.description =
      "Mends a cluster whose agent the hub no longer takes: its certificate has expired or is lost, or the hub has another CA. The "
      "hub's CA and a new bootstrap token are put into the agent's Secret; the agent then asks for a certificate under the same "
      "cluster name and agent ID, and exactly the request whose key the cluster holds is approved on the hub. The agent and the "
      "works that it has applied stay as they are. A certificate that the hub takes is kept. Run it again to finish an interrupted "
      "run.\n\nWith --mode hosted the agent's Secrets are on the cluster of the current context, which hosts it, and the managed "
      "cluster is named beside it; a token that the managed cluster no longer takes of the agent is replaced too.";
  command.description += kGuardText;
  command.examples = {{"After the hub's CA was replaced", "fleetadm rejoin --context c1 --hub-context hub"},
                      {"The hub has moved to another address",
                       "fleetadm rejoin --context c1 --hub-context hub --hub-apiserver https://hub.example.com:6443"},
                      {"An agent that another cluster hosts",
                       "fleetadm rejoin --mode hosted --context hub --managed-cluster-context c2 --hub-context hub"},
                      {"Which works the hub no longer has", "fleetadm rejoin --context c1 --hub-context hub --plan"}};
  command.make = invocation<RejoinOptions>(bind_rejoin, validate_rejoin, run_rejoin);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
