// proxy health: which managed clusters can be reached through the gateway, and where the way to the others ends.
#include <algorithm>
#include <chrono>
#include <optional>

#include "commands/framework/grammar.h"
#include "commands/framework/listing.h"
#include "commands/framework/members.h"
#include "commands/proxy/proxy.h"
#include "core/proxy/client/fan_out.h"
#include "core/proxy/client/hops.h"

namespace fleetadm::commands {
namespace {

struct ProxyHealthOptions {
  MemberChoice members;
  MemberAsker asker;
  Duration cluster_timeout = kClusterTimeout;
};

struct Probed {
  std::optional<Result<kube::Response>> answer;
  Duration took{};
};

/// What the way cannot make safe (docs/reference/cluster-proxy.md#what-stays-open).
Json cautions_of(proxy::Way way, bool konnectivity) {
  Json out = Json::array();
  if (konnectivity) {
    out.push_back(
        "The gateway also takes agents and clients of cluster-proxy (--accept-konnectivity). These commands do not go that way. "
        "On it, cluster-proxy's user server asks nobody who its callers are, and an agent whose certificate cluster-proxy's own "
        "manager has signed may pass for a server of the hub.");
  }
  if (way == proxy::Way::kGateway) return out;
  out.push_back(
      way == proxy::Way::kUserServer
          ? "This way goes by cluster-proxy's user server: it and the service proxy at the cluster can read requests and "
            "the account's token, and the certificate of the API server is verified there, not here."
          : "This way goes by cluster-proxy's konnectivity server: the certificate of each API server is verified here.");
  out.push_back(
      "To which agent requests for a cluster go, that server takes from what agents say; it cannot be verified from here.");
  return out;
}

std::string latency_cell(const Probed& probed) {
  // What never came took no time that says anything.
  if (!probed.answer || !*probed.answer) return "<none>";
  const auto tenths = std::chrono::duration_cast<std::chrono::microseconds>(probed.took).count() / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + "ms";
}

Json health_item(const std::string& cluster, const proxy::WayState& state, const Probed& probed) {
  Json item = {{"cluster", cluster}, {"status", state.status}};
  if (probed.answer && *probed.answer)
    item["latencyMicroseconds"] = std::chrono::duration_cast<std::chrono::microseconds>(probed.took).count();
  if (state.hop != proxy::HopName::kNone) item["hop"] = std::string(to_string(state.hop));
  if (state.code != 0) item["code"] = state.code;
  if (!state.message.empty()) item["message"] = state.message;
  return item;
}

Report health_report(const std::vector<std::string>& clusters, const std::vector<Probed>& probed, const MemberWay& by) {
  const proxy::Way way = by.way;
  const bool gateway_answers =
      std::any_of(probed.begin(), probed.end(), [](const Probed& one) { return one.answer && *one.answer; });
  Report report;
  report.table = Table{{{"CLUSTER"}, {"STATUS"}, {"LATENCY"}, {"HOP"}, {"MESSAGE"}}, {}, ""};
  Json items = Json::array();
  std::size_t healthy = 0;
  bool forbidden = false;
  for (std::size_t which = 0; which < clusters.size(); ++which) {
    const proxy::WayState state = proxy::way_state(*probed[which].answer, gateway_answers, way);
    healthy += state.healthy() ? 1 : 0;
    forbidden = forbidden || state.code == 403;
    report.table->rows.push_back(
        {clusters[which], state.status, latency_cell(probed[which]), or_none(std::string(to_string(state.hop))), state.message});
    report.names.push_back(clusters[which]);
    items.push_back(health_item(clusters[which], state, probed[which]));
  }
  const std::size_t down = clusters.size() - healthy;
  report.data = {{"kind", "ProxyHealth"},
                 {"way", std::string(to_string(way))},
                 {"healthy", healthy},
                 {"down", down},
                 {"items", std::move(items)}};
  if (const Json cautions = cautions_of(way, by.konnectivity); !cautions.empty()) {
    report.data["cautions"] = cautions;
    for (const Json& caution : cautions) report.notes.push_back(caution.get<std::string>());
  }
  if (forbidden) report.notes.emplace_back(kAccessHint);
  if (down > 0) report.exit_code = healthy > 0 ? kPartialExitCode : 1;
  return report;
}

Result<Report> run_proxy_health(Context& context, const ProxyHealthOptions& options, const std::vector<std::string>& /*args*/) {
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const MemberWay way, member_way(context, options.asker, true));
  const kube::Client gateway = context.client(way.server);
  FLEETADM_TRY(const ClusterTargets targets, chosen_members(hub, options.members));
  std::vector<Probed> probed(targets.clusters.size());
  kube::Request request;
  request.path = "/readyz";
  request.accept = "text/plain, */*";
  proxy::fan_out({*gateway.transport(), targets.clusters, options.cluster_timeout, 256, context.stop()}, request,
                 [&](proxy::FanOutAnswer answer) -> std::optional<kube::Request> {
                   probed[answer.which] = {std::move(answer.response), answer.took};
                   return std::nullopt;
                 });
  if (context.stop().stop_requested()) return fail(Category::kCancelled, "cancelled");
  Report report = health_report(targets.clusters, probed, way);
  report.failures = targets.missing;
  if (!targets.missing.empty() && report.exit_code == 0 && !targets.clusters.empty()) report.exit_code = kPartialExitCode;
  return report;
}

}  // namespace

void register_proxy_health(Registry& registry) {
  Command command;
  command.path = "proxy health";
  command.group = "Clusters";
  command.summary = "Check which clusters can be reached through the gateway";
  command.description =
      "Asks the API servers of all clusters, or of those that are named, at once and through the hub's gateway, whether they are "
      "ready. HOP is where the way ends: \"gateway\" (it cannot be reached, or it refuses you), \"hub\" (its API server does not "
      "answer the gateway, or it has no credential for a cluster that it dials), \"tunnel\" (the cluster's agent is not connected, or the connection broke), \"agent\" (it refuses, or "
      "the cluster refuses it) or \"member\" (the cluster's API server is silent, not ready, or refuses you). The exit code is 3 "
      "if some clusters cannot be reached, and 1 if none can.\n\n"
      "Where the hub has no gateway but upstream's cluster-proxy, clusters are asked through that: with --sa through its user "
      "server (HOP \"user-server\") if there is one, otherwise through its konnectivity server (\"front-end\"). \"hub\" is then "
      "what the hub lacks for a cluster: the account's token, or the CA of its API server. Not all of this way can be made safe "
      "from here: the user server and the service proxy at the cluster can read requests and the account's token, and to which "
      "agent requests for a cluster go is taken from what agents say. Through the konnectivity server, the certificate of each "
      "API server is verified by fleetadm. What holds is told below the table, and so is what a gateway cannot make safe that "
      "serves cluster-proxy's agents and clients as well (gateway run --accept-konnectivity).";
  command.examples = {{"All clusters", "fleetadm proxy health"},
                      {"Those of a region, for a script", "fleetadm proxy health -l region=eu -o json"}};
  command.make = invocation<ProxyHealthOptions>(
      [](FlagSet& flags, ProxyHealthOptions& options) {
        clusters_flag(flags, &options.members.clusters, "only these clusters");
        flags.text(&options.members.selector, "selector", "only clusters that match this label selector", 'l').value_name =
            "SELECTOR";
        asker_flags(flags, options.asker, "managed service account to ask as, which each cluster has to have");
        cluster_timeout_flag(flags, &options.cluster_timeout);
      },
      [](const ProxyHealthOptions& options, const std::vector<std::string>&) -> Status {
        FLEETADM_CHECK(validate_cluster_timeout(options.cluster_timeout));
        FLEETADM_CHECK(validate_account_name(options.asker.account));
        return validate_members(options.members, "-l", true);
      },
      run_proxy_health);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
