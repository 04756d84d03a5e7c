#include <algorithm>
#include <optional>
#include <utility>

#include "commands/fleet/accept_candidate.h"
#include "commands/fleet/auto_accept_users.h"
#include "commands/fleet/fleet.h"
#include "commands/framework/grammar.h"
#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "core/registration/aws/names.h"
#include "core/registration/hub/requests.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/names.h"
#include "kubeclient/base/plural.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::commands {
namespace {

namespace r = kube::resources;
using registration::hub::RequestView;
using registration::hub::view_request;

struct AcceptOptions {
  std::vector<std::string> clusters;
  std::string selector;
  bool all = false;
  std::vector<std::string> auto_accept_users;
  RequestChoice choice;
  bool yes = false;
  std::string wait = "none";
  Duration timeout = kWaitTimeout;
};

void bind_accept(FlagSet& flags, AcceptOptions& options) {
  clusters_flag(flags, &options.clusters, "Clusters to accept; the same as naming them as arguments");
  flags.boolean(&options.all, "all",
                "Accept every pending cluster that has a valid request (needs --yes if there is no terminal)");
  flags
      .text(&options.selector, "selector",
            "Accept the pending clusters with these labels, as --all does; whoever registered a cluster has chosen its first "
            "labels",
            'l')
      .value_name = "SELECTOR";
  flags
      .texts(&options.auto_accept_users, "auto-accept-user",
             "From now on, approve the requests of this user and accept each of its clusters once, without asking; USER- ends "
             "that again; repeatable")
      .value_name = "USER";
  flags
      .texts(&options.choice.requesters, "requester",
             "Also approve requests from this user, in addition to the bootstrap identities; repeatable")
      .value_name = "USER";
  flags.text(&options.choice.csr, "csr", "Certificate request to approve if the cluster has more than one, or has already joined")
      .value_name = "NAME";
  flags
      .text(&options.choice.agent_id, "agent-id",
            "Approve only a request of the agent with this ID, which `fleetadm join` prints on the cluster")
      .value_name = "ID";
  flags.boolean(&options.yes, "yes", "Skip the confirmation prompt", 'y');
  wait_flag(flags, &options.wait, {"accepted", "joined", "available"}, "joined",
            "Wait for the request if it has not arrived yet, and then until the cluster has joined or is available");
  timeout_flag(flags, &options.timeout, "How long to wait for each cluster");
}

std::vector<std::string> wanted(const AcceptOptions& options, const std::vector<std::string>& args) {
  std::vector<std::string> names = args;
  for (const std::string& name : options.clusters) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

Status validate_accept(const AcceptOptions& options, const std::vector<std::string>& args) {
  const auto names = wanted(options, args);
  const int ways = (names.empty() ? 0 : 1) + (options.all ? 1 : 0) + (options.selector.empty() ? 0 : 1) +
                   (options.auto_accept_users.empty() ? 0 : 1);
  if (ways == 0) return fail(Category::kUsage, "name the clusters to accept, or pass -l SELECTOR or --all");
  if (ways > 1) {
    return fail(Category::kUsage, "cluster names, -l, --all and --auto-accept-user cannot be combined", "use only one of them");
  }
  FLEETADM_CHECK(check_auto_accept_users(options.auto_accept_users));
  for (const std::string& name : names) {
    if (!is_dns_label(name)) return fail(Category::kUsage, "\"" + name + "\" is not a valid cluster name (must be a DNS label)");
  }
  if (!options.choice.csr.empty() && names.size() != 1) return fail(Category::kUsage, "--csr requires exactly one cluster");
  if (!options.choice.agent_id.empty() && names.size() != 1)
    return fail(Category::kUsage, "--agent-id requires exactly one cluster");
  return {};
}

Result<Candidate> await_candidate(Context& context, const kube::Client& hub, const std::string& name,
                                  const AcceptOptions& options) {
  const auto deadline = context.clock().now() + options.timeout;
  bool told = false;
  while (true) {
    auto candidate = find_candidate(hub, name, options.choice, options.wait != "none", context.clock().now());
    if (candidate || options.wait == "none" || candidate.error().category != Category::kNotFound) {
      if (told && candidate) context.progress().done();
      if (told && !candidate) context.progress().failed(candidate.error().message);
      return candidate;
    }
    if (!told) context.progress().begin("Waiting for " + name + " to ask to join");
    told = true;
    if (context.stop().stop_requested()) {
      context.progress().failed("interrupted");
      return fail(Category::kCancelled, "interrupted");
    }
    const auto now = context.clock().now();
    if (now >= deadline) {
      context.progress().failed("timed out after " + format_duration(options.timeout));
      Error error = candidate.error();
      error.category = Category::kTimeout;
      return fail(std::move(error));
    }
    // The next cluster or request to appear ends the pause; both are seldom, so a look a second is enough.
    auto never = [](const std::optional<Json>&) -> Result<bool> { return false; };
    (void)kube::wait_for(hub, api::managed_clusters(), "", name, never,
                         std::min<Duration>(std::chrono::seconds(1), deadline - now), context.stop());
  }
}

Status approve(const kube::Client& hub, Json csr, Instant now) {
  controller::set_condition(at_or_make(csr, {"status", "conditions"}), "Approved", "True", "FleetadmAccept",
                            "Approved by an administrator with fleetadm accept.", now);
  kube::WriteOptions write;
  write.subresource = "approval";
  FLEETADM_TRY([[maybe_unused]] const Json updated, hub.update(r::certificate_signing_requests(), csr, write));
  return {};
}

// Approval first, then acceptance (as upstream's program does it), then both are read back.
Status accept_one(Context& context, const kube::Client& hub, const std::string& name, const Candidate& candidate) {
  if (candidate.csr) FLEETADM_CHECK(approve(hub, *candidate.csr, context.clock().now()));
  auto changed = hub.modify(api::managed_clusters(), "", name, [](Json& cluster) -> Status {
    at_or_make(cluster, {"spec", "hubAcceptsClient"}) = true;
    return {};
  });
  if (!changed) return tl::unexpected(changed.error());
  if (hub.gate().dry_run != kube::DryRun::kNone) return {};
  FLEETADM_TRY(const Json cluster, hub.get(api::managed_clusters(), "", name));
  if (!flag(cluster, {"spec", "hubAcceptsClient"}))
    return fail(Category::kConflict, "the hub does not show the cluster as accepted: it was denied in the meantime");
  if (!candidate.csr) return {};
  FLEETADM_TRY(const auto csr, hub.find(r::certificate_signing_requests(), "", name_of(*candidate.csr)));
  if (csr && !controller::condition_is(*csr, "Approved", "True"))
    return fail(Category::kConflict, "the hub does not show the request " + name_of(*csr) + " as approved");
  return {};
}

Status wait_for_condition(Context& context, const kube::Client& hub, const std::string& name, const AcceptOptions& options) {
  const auto condition = options.wait == "accepted" ? api::kConditionHubAccepted
                         : options.wait == "joined" ? api::kConditionJoined
                                                    : api::kConditionAvailable;
  context.progress().begin("Waiting until " + name + " is " + options.wait);
  auto reached = [&](const std::optional<Json>& cluster) -> Result<bool> {
    if (!cluster) return fail(Category::kNotFound, "the cluster was deleted in the meantime");
    return controller::condition_is(*cluster, condition, "True");
  };
  auto waited = kube::wait_for(hub, api::managed_clusters(), "", name, reached, options.timeout, context.stop());
  if (!waited) {
    context.progress().failed(waited.error().message);
    Error error = waited.error().wrap("it was accepted but is not " + options.wait);
    error.hint = "check that the hub controllers and the cluster's agent are running: fleetadm get clusters " + name + " -o wide";
    return fail(std::move(error));
  }
  context.progress().done();
  return {};
}

Result<std::vector<std::string>> all_waiting(const kube::Client& hub, const std::string& selector) {
  kube::ListOptions which;
  which.label_selector = selector;
  std::vector<std::string> names;
  FLEETADM_CHECK(hub.list_each(api::managed_clusters(), "", which, [&](const Json& cluster) -> Status {
    if (!flag(cluster, {"spec", "hubAcceptsClient"}) && !is_deleting(cluster)) names.push_back(name_of(cluster));
    return {};
  }));
  return names;
}

struct Plan {
  std::string name;
  Candidate candidate;
  std::optional<RequestView> request;  // what is approved, or was approved before
  bool already = false;                // it was accepted before
  Status done = {};
};

std::optional<RequestView> request_of(const Candidate& candidate, Instant now) {
  if (candidate.csr) return view_request(*candidate.csr, now);
  if (candidate.approved.size() == 1) return view_request(candidate.approved.front(), now);
  return std::nullopt;
}

Json to_json(const Plan& plan) {
  Json item{{"cluster", plan.name}, {"result", plan.already ? "unchanged" : "accepted"}};
  if (registers_by_aws(plan.candidate.cluster))
    item["arn"] = annotation_of(plan.candidate.cluster, registration::aws::kArnAnnotation);
  if (!plan.request) return item;
  item["request"] = plan.request->name;
  item["requester"] = plan.request->requester;
  item["commonName"] = plan.request->common_name;
  item["organizations"] = plan.request->organizations;
  item["agentId"] = plan.request->agent;
  item["key"] = plan.request->key;
  item["keyFingerprint"] = plan.request->fingerprint;
  return item;
}

std::string sentence(const Plan& plan, bool dry_run) {
  const std::string agent = plan.request ? plan.request->agent : std::string();
  return "cluster " + plan.name + (plan.already ? " was already accepted" : " accepted") +
         (agent.empty() ? "" : ", agent ID " + agent) + (dry_run ? " (dry run)" : "");
}

Status confirm(Context& context, const AcceptOptions& options, const std::vector<Plan>& plans) {
  for (const Plan& plan : plans) {
    if (!plan.candidate.csr && registers_by_aws(plan.candidate.cluster)) {
      context.progress().begin(plan.name + ": an identity of AWS");
      context.progress().done(annotation_of(plan.candidate.cluster, registration::aws::kArnAnnotation));
    }
    if (!plan.candidate.csr || !plan.request) continue;
    const RequestView& request = *plan.request;
    if (!plan.candidate.approved.empty()) {
      context.progress().begin(plan.name + ": approved before");
      context.progress().done(request_sentences(plan.candidate.approved, context.clock().now()));
    }
    context.progress().begin(plan.name + ": request " + request.name + " from " + request.requester);
    context.progress().done("agent ID " + request.agent + ", CN=" + request.common_name +
                            " O=" + joined(request.organizations, ",") + ", " + request.key + " " + request.fingerprint + ", " +
                            request.age + " old");
  }
  if (options.yes || plans.empty() || context.global().dry_run != kube::DryRun::kNone) return {};
  // A script that names its clusters has chosen them; --all and -l take whoever asked, so they need an answer, be it --yes.
  if (!context.terminal().interactive() && !options.all && options.selector.empty()) return {};
  FLEETADM_TRY(const bool sure, context.terminal().confirm("Accept " + pluralize(plans.size(), "cluster") + "?"));
  if (!sure) return fail(Category::kCancelled, "nothing was changed");
  return {};
}

Result<Report> run_accept(Context& context, const AcceptOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const auto hub, context.client());
  if (!options.auto_accept_users.empty())
    return change_auto_accept_users(context, hub, options.auto_accept_users, options.wait != "none", options.timeout);
  auto names = wanted(options, args);
  if (names.empty()) {
    FLEETADM_TRY(names, all_waiting(hub, options.selector));
  }
  Report report;
  std::vector<Plan> plans;
  for (const std::string& name : names) {
    auto candidate = await_candidate(context, hub, name, options);
    if (!candidate) {
      report.failures.push_back(candidate.error().with_cluster(name));
      continue;
    }
    auto request = request_of(*candidate, context.clock().now());
    plans.push_back({name, std::move(*candidate), std::move(request), false, {}});
  }
  FLEETADM_CHECK(confirm(context, options, plans));

  const bool dry_run = hub.gate().dry_run != kube::DryRun::kNone;
  // All are accepted before the first is waited for: they join at the same time.
  for (Plan& plan : plans) {
    plan.already = !plan.candidate.csr && flag(plan.candidate.cluster, {"spec", "hubAcceptsClient"});
    if (!plan.already) plan.done = accept_one(context, hub, plan.name, plan.candidate);
  }
  Json items = Json::array();
  for (Plan& plan : plans) {
    if (plan.done && options.wait != "none" && !dry_run) plan.done = wait_for_condition(context, hub, plan.name, options);
    if (!plan.done) {
      report.failures.push_back(plan.done.error().with_cluster(plan.name));
      continue;
    }
    items.push_back(to_json(plan));
    report.lines.push_back(sentence(plan, dry_run));
    report.names.push_back("managedcluster.cluster.open-cluster-management.io/" + plan.name);
  }
  if (plans.empty() && report.failures.empty()) report.notes.emplace_back("No clusters are waiting to be accepted.");
  if (report.failures.size() == 1 && names.size() == 1) return fail(report.failures.front());
  report.data = Json{{"kind", "AcceptReport"}, {"items", std::move(items)}};
  return report;
}

}  // namespace

void register_accept(Registry& registry) {
  Command command;
  command.path = "accept";
  command.group = "Fleet";
  command.summary = "Accept clusters that have asked to join";
  command.description =
      "Shows each cluster's certificate request (requester, agent ID, name, groups, key and age), approves it and "
      "marks the cluster as accepted. Only a request that matches exactly what that cluster's agent "
      "would send, made by a bootstrap identity, is approved; a cluster that registers with an identity of AWS sends none, and its "
      "ARN is shown. Compare the agent ID with the one that \"fleetadm join\" "
      "printed on the cluster. Success is reported only after both changes are confirmed.\n\n"
      "--auto-accept-user accepts no cluster itself. It tells the hub controllers to approve the requests of a user and to accept "
      "each of its clusters once, pending ones included; a cluster that is denied afterwards stays denied. \"fleetadm init\" "
      "sets the same users with --auto-approve-user, and replaces them.";
  command.args.usage = "[CLUSTER...]";
  command.args.max = -1;
  command.args.complete = Complete::kClusters;
  command.examples = {{"Accept a cluster and wait until it has joined", "fleetadm accept c1 --wait"},
                      {"Accept all pending clusters without a prompt", "fleetadm accept --all --yes"},
                      {"Accept pending clusters by their labels", "fleetadm accept -l env=dev --yes"},
                      {"Accept whoever has a token of the hub's bootstrap account",
                       "fleetadm accept --auto-accept-user "
                       "system:serviceaccount:open-cluster-management:agent-registration-bootstrap"},
                      {"See what would be approved", "fleetadm accept c1 --dry-run=server"}};
  command.make = invocation<AcceptOptions>(bind_accept, validate_accept, run_accept);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
