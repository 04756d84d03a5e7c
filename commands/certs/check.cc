// certs check: every certificate, CA and token on the ways between a hub and its clusters, and how long it lasts.
#include <algorithm>
#include <map>
#include <set>

#include "commands/certs/certs.h"
#include "commands/certs/figures.h"
#include "commands/framework/grammar.h"
#include "commands/framework/hub_side.h"
#include "commands/framework/member_side.h"
#include "commands/framework/named.h"
#include "core/api/kinds.h"
#include "core/registration/expiry/figures.h"
#include "core/registration/expiry/hosted_hops.h"
#include "core/registration/expiry/hub_hops.h"
#include "core/registration/expiry/spoke_hops.h"
#include "core/registration/join/roles.h"

namespace fleetadm::commands {
namespace {

namespace expiry = registration::expiry;

constexpr std::int64_t kLongestDays = 36500;

struct CertsOptions {
  std::vector<std::string> clusters;
  bool all = false;
  std::int64_t days = -1;  // not given
  bool prometheus = false;
  HubSide hub;
  MemberSide member;
};

void bind_certs(FlagSet& flags, CertsOptions& options) {
  clusters_flag(flags, &options.clusters, "On a hub: also what it knows of these clusters; of hosted members only these");
  flags.boolean(&options.all, "all", "On a hub: also what it knows of all its clusters");
  auto& days =
      flags.integer(&options.days, "days",
                    "Report what ends within this many days (default: 30, or the last tenth of what lives less than 300)");
  days.default_text.clear();
  flags.boolean(&options.prometheus, "prometheus", "Print the figures in Prometheus' text format");
  bind_hub_side(flags, options.hub, "; a managed cluster is compared with it, and it is checked too");
  bind_hosting(flags, options.member,
               "What is checked: a hub or a managed cluster, or (hosted) the members whose agents the current cluster hosts");
}

Status validate_certs(const CertsOptions& options, const std::vector<std::string>&) {
  if (options.all && !options.clusters.empty())
    return fail(Category::kUsage, "--all cannot be combined with --clusters", "use only one of them");
  if (options.days < -1 || options.days > kLongestDays)
    return fail(Category::kUsage, "--days is not between 0 and " + std::to_string(kLongestDays), "write for example --days 14");
  if (options.all && is_hosted_mode(options.member))
    return fail(Category::kUsage, "--all cannot be combined with --mode hosted", "all hosted members are checked without it");
  return validate_member_side(options.member, false);
}

/// The certificate requests of agents, by cluster. Who may not read them still sees what agents reported.
Result<std::map<std::string, std::vector<Json>>> requests_by_cluster(const kube::Client& hub, const std::string& cluster) {
  std::map<std::string, std::vector<Json>> requests;
  kube::ListOptions which;
  which.label_selector = std::string(api::kClusterNameLabel) + (cluster.empty() ? "" : "=" + cluster);
  const Status read =
      hub.list_each(kube::resources::certificate_signing_requests(), "", which, [&](const Json& request) -> Status {
        requests[label_of(request, api::kClusterNameLabel)].push_back(request);
        return {};
      });
  if (!read && read.error().category != Category::kAuth) return tl::unexpected(read.error());
  return requests;
}

Status add_member_hops(const kube::Client& hub, const CertsOptions& options, std::vector<expiry::Hop>& hops, Report& report) {
  std::vector<Json> clusters;
  if (options.all) {
    FLEETADM_CHECK(hub.list_each(api::managed_clusters(), "", {}, [&](const Json& cluster) -> Status {
      clusters.push_back(cluster);
      return {};
    }));
  }
  const std::set<std::string> named(options.clusters.begin(), options.clusters.end());
  for (const std::string& name : named) {
    auto found = hub.get(api::managed_clusters(), "", name);
    if (found) {
      clusters.push_back(std::move(*found));
    } else {
      report.failures.push_back(NearNames(hub, api::managed_clusters()).explain(found.error(), name).with_cluster(name));
    }
  }
  FLEETADM_TRY(auto requests, requests_by_cluster(hub, named.size() == 1 ? *named.begin() : std::string()));
  for (const Json& cluster : clusters) {
    auto seen = expiry::member_hops(cluster, requests[name_of(cluster)]);
    hops.insert(hops.end(), std::make_move_iterator(seen.begin()), std::make_move_iterator(seen.end()));
  }
  return {};
}

/// What the hub's kubeconfig shows of the hub, for a comparison with what a cluster has stored.
expiry::HubView hub_view(const kube::Client& hub, const kube::RestConfig& config) {
  expiry::HubView view;
  view.server = config.server;
  view.proxy_url = config.proxy_url;
  view.authorities = config.ca_data;
  view.client_authorities = expiry::client_authorities(hub);
  if (auto tokens = join::bootstrap_tokens(hub)) view.tokens = std::move(*tokens);
  return view;
}

Result<join::Roles> checked_roles(const kube::Client& client, const CertsOptions& options) {
  if (is_hosted_mode(options.member)) return join::Roles{.hosting = true};
  FLEETADM_TRY(const join::Roles roles, join::roles_of(client));
  if (!roles.any()) {
    return fail(Category::kNotFound, "this cluster is neither a hub nor a managed cluster",
                "run \"fleetadm init\" or \"fleetadm join\" on it, or choose another --context");
  }
  const bool members = options.all || (!options.clusters.empty() && !roles.hosting);
  if (members && !roles.hub) {
    return fail(Category::kUsage, "--clusters and --all need a hub, and this cluster is none", "choose the hub with --context");
  }
  return roles;
}

Status add_hosted_hops(Context& context, const kube::Client& client, const CertsOptions& options, const expiry::HubView& view,
                       std::vector<expiry::Hop>& hops, Report& report) {
  const std::string ns = hosted_namespace(options.member);
  FLEETADM_TRY(const auto members, join::hosted_members(client, ns));
  std::set<std::string> missing(options.clusters.begin(), options.clusters.end());
  const bool only_named = !missing.empty();
  for (const join::HostedMember& member : members) {
    if (missing.erase(member.cluster) == 0 && only_named) continue;
    for (expiry::Hop& hop : expiry::hosted_hops(client, ns, member, view, context.stop())) hops.push_back(std::move(hop));
  }
  for (const std::string& name : missing) report.failures.push_back(not_hosted(name, ns).with_cluster(name));
  return {};
}

Result<Report> run_certs(Context& context, const CertsOptions& options, const std::vector<std::string>&) {
  FLEETADM_TRY(const kube::RestConfig config, context.rest_config());
  FLEETADM_TRY(const kube::Client client, context.client());
  FLEETADM_TRY(const auto hub_config, hub_side(context, options.hub));
  FLEETADM_TRY(const join::Roles roles, checked_roles(client, options));
  const bool members = roles.hub && (options.all || !options.clusters.empty());
  const Instant now = context.clock().now();
  const expiry::Shown shown = expiry::look_at(config.server, config.proxy_url, config.ca_data);
  Report from_members;
  std::vector<expiry::Hop> hops;
  const auto add = [&hops](std::vector<expiry::Hop> more) {
    hops.insert(hops.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  expiry::HubView view;
  if (hub_config) {
    const kube::Client other = context.client(*hub_config);
    add(expiry::hub_hops(other, *hub_config, expiry::look_at(hub_config->server, hub_config->proxy_url, hub_config->ca_data),
                         now));
    view = hub_view(other, *hub_config);
  }
  if (roles.hub) add(expiry::hub_hops(client, config, shown, now));
  if (members) FLEETADM_CHECK(add_member_hops(client, options, hops, from_members));
  if (roles.joined) add(expiry::spoke_hops(client, config, shown, view, context.stop()));
  if (roles.hosting && !members) FLEETADM_CHECK(add_hosted_hops(context, client, options, view, hops, from_members));
  expiry::Limit limit;
  if (options.days >= 0) limit = std::chrono::hours(24) * options.days;
  for (expiry::Hop& hop : hops) expiry::judge(hop, limit, now);

  Report report = certificate_report(hops, now);
  report.failures = std::move(from_members.failures);
  if (!report.failures.empty() && report.exit_code == 0) report.exit_code = kPartialExitCode;
  if (options.prometheus) {
    report.table.reset();
    report.lines = {expiry::figures(hops)};
    while (report.lines.front().ends_with('\n')) report.lines.front().pop_back();
  } else if (roles.hub && !members) {
    report.notes.emplace_back("For what the hub knows of its clusters, add --all.");
  }
  return report;
}

}  // namespace

void register_certs(Registry& registry) {
  Command command;
  command.path = "certs check";
  command.group = "Fleet";
  command.summary = "Check how long certificates, CAs and tokens of the fleet last";
  command.description =
      "On a hub: its API server's certificate and CA, the CA that it takes client certificates of, the CAs of its gateway and "
      "webhook, and bootstrap tokens; with --clusters or --all also the certificates of agents and the CAs of clusters, as far as "
      "the hub knows them. On a managed cluster: its API server's certificate and CA, the agent's certificate, the bootstrap "
      "credential, and the hub's CA as the agent and its bootstrap keep it, against what the hub shows this machine now; "
      "credentials are tried on the hub. On a cluster that hosts agents: the same of each hosted member, and the token of its agent "
      "on the member, which is tried there. Private keys and tokens are never printed.\n\n"
      "The exit code is 1 if something has ended, ends soon, or is not what the other side takes. Bootstrap tokens are shown and do "
      "not count: a cluster that has joined does not need them.";
  command.examples = {{"The hub, and what it knows of its clusters", "fleetadm certs check --all"},
                      {"A managed cluster, compared with its hub", "fleetadm certs check --context c1 --hub-context hub"},
                      {"Members whose agents the current cluster hosts", "fleetadm certs check --mode hosted --context hub"},
                      {"What ends within two weeks, for a script", "fleetadm certs check --days 14 -o json"},
                      {"Figures for a collector of text files", "fleetadm certs check --all --prometheus"}};
  command.make = invocation<CertsOptions>(bind_certs, validate_certs, run_certs);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
