#include "commands/fleet/join_push.h"

#include <utility>

#include "commands/fleet/changes.h"
#include "commands/fleet/join_steps.h"
#include "commands/framework/dry_run.h"
#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/controller/controller.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/names.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::commands {
namespace {

/// What concerns an agent, or the way to a hub, and so nothing here.
Status check_no_agent_flags(const JoinOptions& options) {
  const std::pair<const char*, bool> given[]{{"-f", !options.filename.empty()},
                                             {"--claim", !options.claims.empty()},
                                             {"--external-server-urls", !options.external_server_urls.empty()},
                                             {"--hub-apiserver", !options.hub_apiserver.empty()},
                                             {"--hub-token", !options.hub_token.empty()},
                                             {"--hub-token-file", !options.hub_token_file.empty()},
                                             {"--ca-cert-hash", !options.ca_cert_hash.empty()},
                                             {"--ca-file", !options.ca_file.empty()},
                                             {"--system-roots", options.system_roots},
                                             {"--proxy-url", !options.proxy_url.empty()},
                                             {"--proxy-ca-file", !options.proxy_ca_file.empty()},
                                             {"--fallback-hub", !options.fallback_hubs.empty()},
                                             {"--mode", !options.member.mode.empty()},
                                             {"--hosted-namespace", !options.member.ns.empty()},
                                             {"--managed-cluster-kubeconfig", !options.member.kubeconfig.empty()},
                                             {"--managed-cluster-context", !options.member.context.empty()},
                                             {"--managed-cluster-apiserver", !options.member_apiserver.empty()},
                                             {"--image", !options.image.image.empty()},
                                             {"--registration-auth", options.registration_auth != "csr"},
                                             {"--agent-arg", !options.agent_args.empty()},
                                             {"--network-policy", options.network_policy},
                                             {"--report-figures", options.report_figures}};
  for (const auto& [flag, is_given] : given) {
    if (is_given)
      return fail(Category::kUsage, std::string(flag) + " cannot be combined with --push", "no agent runs on the cluster");
  }
  return {};
}

Result<std::string> name_of_member(const JoinOptions& options, const kube::RestConfig& member) {
  const bool given = !options.cluster_name.empty();
  std::string name = given ? options.cluster_name : member.name;
  if (is_dns_label(name)) return name;
  return fail(Category::kUsage, (given ? "--cluster-name \"" : "the member's context \"") + name + "\" is not a valid DNS label",
              given ? "use at most 63 lowercase letters, digits and '-': the name becomes a namespace on the hub"
                    : "give the cluster a name: --cluster-name");
}

Status wait_for_push_member(Context& context, const kube::Client& hub, const JoinOptions& options, const std::string& name) {
  if (options.wait == "none" || options.wait == "registered") return {};
  context.progress().begin("Waiting until the hub shows the cluster as " + options.wait);
  const std::string condition(options.wait == "joined" ? api::kConditionJoined : api::kConditionAvailable);
  std::string ready;  // what the hub says of it
  const auto reached = [&](const std::optional<Json>& cluster) -> Result<bool> {
    if (!cluster) return fail(Category::kNotFound, "the cluster was removed from the hub");
    if (const Json* told = controller::find_condition(*cluster, api::kConditionReady)) ready = str(*told, {"message"});
    return controller::condition_is(*cluster, condition, "True");
  };
  const auto waited = kube::wait_for(hub, api::managed_clusters(), "", name, reached, options.timeout, context.stop());
  if (waited) {
    context.progress().done();
    return {};
  }
  context.progress().failed(waited.error().message);
  Error error = waited.error().wrap("the hub does not show the cluster " + name + " as " + options.wait);
  error.hint = ready.empty() ? "see whether the hub controllers dial clusters: fleetadm init --push" : "the hub says: " + ready;
  return fail(std::move(error));
}

void print_push_plan(Context& context, const join::PushChecked& checked, const std::string& name, bool full_rights,
                     Report& report) {
  report.notes.insert(report.notes.end(), report.lines.begin(), report.lines.end());
  std::vector<Json> objects;
  for (auto part : {join::push_root(checked.identity, name), join::push_types(),
                    join::push_objects(checked.identity, name, {}, full_rights)}) {
    if (!part) continue;
    objects.insert(objects.end(), part->begin(), part->end());
  }
  (void)context.terminal().write_stdout("# Of the member\n");
  print_manifests(context, api::push_part_on_member(checked.identity.hub_id), objects, report);
}

}  // namespace

Result<std::optional<kube::RestConfig>> push_member(Context& context, const PushOptions& options) {
  if (options.kubeconfig.empty() && options.context.empty()) return std::nullopt;
  kube::ConfigOverrides overrides;  // who acts on the hub, and how it is reached, says nothing of the member
  overrides.interactive = context.global().config.interactive;
  overrides.kubeconfig = options.kubeconfig.empty() ? context.global().config.kubeconfig : options.kubeconfig;
  overrides.context = options.context;
  auto config = context.rest_config(overrides);
  if (!config) return fail(config.error().wrap("the member"));
  context.name_side(*config, "cluster");
  return *config;
}

Result<kube::Client> push_hub(Context& context) {
  FLEETADM_TRY(const kube::RestConfig config, context.rest_config());
  context.name_side(config, "hub");
  return context.client();
}

Result<Report> join_push(Context& context, const JoinOptions& options) {
  FLEETADM_CHECK(validate_push(options.push, true));
  FLEETADM_CHECK(check_no_agent_flags(options));
  FLEETADM_TRY(const kube::Client hub, push_hub(context));
  FLEETADM_TRY(const auto config, push_member(context, options.push));
  FLEETADM_TRY(const std::string name, name_of_member(options, *config));
  FLEETADM_CHECK(check_labels(options));
  const join::PushSides sides{hub, context.client(*config), *config,
                              [&context](const kube::RestConfig& other) { return context.client(other); }};
  const auto names = options.push.karmada_names ? api::MemberNames::kKarmada : api::MemberNames::kOwn;
  const join::PushChecked checked = join::check_push(sides, name, options.push.allow_loopback, names);
  tell_checks(context.progress(), checked.checks);
  if (checked.error) return fail(*checked.error);
  Report report;
  report.data = Json{{"kind", "JoinReport"},
                     {"cluster-name", name},
                     {"mode", "push"},
                     {"cluster-id", checked.identity.cluster_id},
                     {"names", checked.identity.names == api::MemberNames::kKarmada ? "karmada" : "own"},
                     {"checks", checks_json(checked.checks)}};
  if (options.preflight_only) {
    report.table = checks_table(checked.checks);
    return report;
  }
  if (wants_manifests(context)) {
    print_push_plan(context, checked, name, options.push.full_rights, report);
    return report;
  }
  join::PushWish wish;
  wish.cluster = name;
  wish.labels = labels_of_join(options);
  wish.annotations = annotations_of_join(options);
  wish.token_lifetime = options.push.token_lifetime;
  wish.full_rights = options.push.full_rights;
  const install::Options how = options_with_progress(context, api::kPushPart, options.timeout);
  std::vector<install::Change> changes;
  std::vector<std::string> left;
  context.progress().begin("Joining the cluster");
  const Status done = join::push_join(sides, checked, wish, how, context.clock(), changes, left);
  if (!done) {
    context.progress().failed(done.error().message);
    Error error = done.error();
    if (!left.empty())
      error.hint += (error.hint.empty() ? "" : "; ") + ("what was made and could not be removed: " + joined(left, ", "));
    return fail(std::move(error));
  }
  context.progress().done();
  if (!is_dry(context)) FLEETADM_CHECK(wait_for_push_member(context, hub, options, name));
  report.data["changes"] = install::to_json(changes);
  report.lines = change_lines(changes, dry_run_mark(context));
  if (report.lines.empty()) report.lines.push_back("The cluster is already joined; nothing changed.");
  report.names = change_names(changes);
  return report;
}

}  // namespace fleetadm::commands
