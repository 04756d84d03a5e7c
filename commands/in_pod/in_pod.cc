#include "commands/in_pod/in_pod.h"

#include <functional>
#include <utility>

#include "commands/framework/dry_run.h"
#include "commands/framework/files.h"
#include "commands/framework/grammar.h"
#include "commands/framework/image.h"
#include "commands/framework/members.h"
#include "commands/in_pod/job.h"
#include "commands/in_pod/pod_command.h"
#include "commands/in_pod/pod_run.h"
#include "core/proxy/client/gateway_access.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/names.h"

namespace fleetadm::commands {
namespace {

constexpr std::size_t kMaxInput = 1'000'000;  // bytes that a Secret holds; the API server's limit is 1 MiB
constexpr Duration kFinishedJob = std::chrono::minutes(5);
constexpr Duration kKeptJob = std::chrono::hours(24);
constexpr Duration kEndless = std::chrono::hours(24 * 365);
constexpr Duration kRemoval = std::chrono::seconds(15);

struct InPodOptions {
  std::string cluster;
  std::string account;
  std::vector<std::string> cluster_roles;
  std::string image;
  Duration timeout = kNoTimeout;
  bool keep = false;
};

/// All commands, as the one in the pod has them.
Registry every_command() {
  Registry registry;
  register_all(registry);
  return registry;
}

Status validate_in_pod(const InPodOptions& options, const std::vector<std::string>& args) {
  if (!options.cluster.empty()) FLEETADM_CHECK(proxy::member_prefix(options.cluster));
  if (!options.account.empty() && !options.cluster_roles.empty())
    return fail(Category::kUsage, "--service-account cannot be combined with --cluster-role",
                "give the service account its permissions yourself, or let the Job have one of its own");
  if (!options.account.empty() && !is_dns_subdomain(options.account))
    return fail(Category::kUsage, "\"" + options.account + "\" does not name a service account");
  for (const std::string& role : options.cluster_roles)
    if (!path_segment_problems(role).empty() || role.empty())
      return fail(Category::kUsage, "\"" + role + "\" does not name a ClusterRole");
  return pod_command(every_command(), args).map([](const PodCommand&) {});
}

Result<std::map<std::string, std::string>> contents_of(Context& context, const PodCommand& command) {
  std::map<std::string, std::string> contents;
  std::size_t left = kMaxInput;
  for (const auto& [name, local] : command.files) {
    auto content = read_file_or_stdin(context, local, kMaxInput);
    if (!content)
      return fail(content.error().with_hint("files that the command names are sent along; they must be here, and be files"));
    if (content->size() > left)
      return fail(Category::kUsage, "the files that the command names have more than " + std::to_string(kMaxInput) + " bytes",
                  "a pod gets them as a Secret, which holds no more");
    left -= content->size();
    if (command.kubeconfigs.contains(name)) FLEETADM_CHECK(stands_alone(*content, local));
    contents[name] = std::move(*content);
  }
  return contents;
}

/// What was made for the Job, until it is deleted: at the end of the command, whichever it is.
class Remains {
 public:
  Remains(Context& context, const kube::Client& cluster)
      : context_(context), cluster_(cluster.with_stop({}).with_timeout(kRemoval)) {}
  ~Remains() { remove(); }
  Remains(const Remains&) = delete;
  Remains& operator=(const Remains&) = delete;

  /// Also what was perhaps made is deleted: nothing else has such a name.
  Result<Json> create(const kube::Resource& resource, const Json& object) {
    made_.emplace_back(resource, object);
    auto made = cluster_.create(resource, namespace_of(object), object);
    if (made) made_.back().second = *made;
    return made;
  }
  void keep() { made_.clear(); }
  /// The newest first. What cannot be deleted is named.
  void remove() {
    for (; !made_.empty(); made_.pop_back()) {
      const auto& [resource, object] = made_.back();
      kube::DeleteOptions exactly;
      exactly.propagation = kube::Propagation::kBackground;
      exactly.uid = uid_of(object);
      const auto removed = cluster_.remove(resource, namespace_of(object), name_of(object), exactly);
      if (removed || removed.error().category == Category::kNotFound || removed.error().category == Category::kConflict) continue;
      const std::string in_ns = resource.namespaced ? " in namespace " + namespace_of(object) : std::string();
      context_.progress().warn(resource.qualified() + " " + name_of(object) + in_ns +
                               " was not deleted: " + removed.error().message);
    }
  }

 private:
  Context& context_;
  const kube::Client cluster_;
  std::vector<std::pair<kube::Resource, Json>> made_;
};

struct Place {
  kube::Client cluster;
  std::string ns;
};
Result<Place> place_of(Context& context, const InPodOptions& options) {
  if (options.cluster.empty()) {
    FLEETADM_TRY(kube::Client hub, context.client());
    FLEETADM_TRY(std::string ns, context.ns());
    return Place{std::move(hub), std::move(ns)};
  }
  FLEETADM_TRY(const kube::RestConfig member, member_connection(context, options.cluster));
  return Place{context.client(member), member_namespace(context.global())};
}

/// The Job with all that belongs to it; its pod is then started.
Status make_job(const kube::Client& cluster, Remains& remains, const PodJob& job, const InPodOptions& options,
                const PodCommand& command, const std::map<std::string, std::string>& contents) {
  FLEETADM_TRY(const Json made, remains.create(kube::resources::jobs(), job_object(job, command)));
  if (!contents.empty() || !command.variables.empty())
    FLEETADM_CHECK(remains.create(kube::resources::secrets(), input_object(made, command, contents)));
  if (job.account.empty()) FLEETADM_CHECK(remains.create(kube::resources::service_accounts(), account_object(made)));
  for (std::size_t i = 0; i < options.cluster_roles.size(); ++i)
    FLEETADM_CHECK(remains.create(kube::resources::cluster_role_bindings(), role_object(job, options.cluster_roles[i], i)));
  FLEETADM_CHECK(cluster.patch(kube::resources::jobs(), job.ns, job.name, kube::PatchType::kMerge,
                               {{"metadata", {{"uid", uid_of(made)}}}, {"spec", {{"suspend", false}}}}));
  return {};
}

Result<int> run_job(Context& context, const Place& place, const PodJob& job) {
  const auto deadline = std::chrono::steady_clock::now() + (job.timeout > Duration::zero() ? job.timeout : kEndless);
  PodRun run(context, place.cluster, place.ns, job.name, deadline);
  context.progress().begin("Starting the pod of job " + place.ns + "/" + job.name);
  const Status begun = run.wait_begun();
  if (!begun) {
    context.progress().failed(begun.error().message);
    return fail(begun.error());
  }
  context.progress().done("running");
  auto code = run.follow();
  if (!code && code.error().category == Category::kTimeout && std::chrono::steady_clock::now() >= deadline)
    return fail(Category::kTimeout, "the command has not ended within " + format_duration(job.timeout),
                "give it more time with --timeout");
  return code;
}

Result<Report> run_in_pod(Context& context, const InPodOptions& options, const std::vector<std::string>& args) {
  if (const Status refused = refuse_dry_run(context, "in-pod"); !refused)
    return fail(refused.error().with_hint("put --dry-run behind \"--\", where it is the command's"));
  FLEETADM_TRY(const PodCommand command, pod_command(every_command(), args));
  FLEETADM_TRY(const auto contents, contents_of(context, command));
  FLEETADM_TRY(const Place place, place_of(context, options));
  PodJob job;
  job.ns = place.ns;
  job.name = "fleetadm-in-pod-" + random_suffix(8);
  job.image = options.image.empty() ? installed_image(place.cluster) : options.image;
  job.account = options.account;
  job.timeout = options.timeout;
  job.kept = options.keep ? kKeptJob : kFinishedJob;
  Remains remains(context, place.cluster);
  Result<int> code = 0;
  if (const Status made = make_job(place.cluster, remains, job, options, command, contents); !made) {
    code = fail(made.error());
  } else {
    code = run_job(context, place, job);
    if (options.keep) {
      remains.keep();
      context.progress().say("Job " + job.ns + "/" + job.name + " is kept for a day after its end.");
    }
  }
  remains.remove();
  if (!code) return fail(options.cluster.empty() ? code.error() : code.error().with_cluster(options.cluster));
  Report report;
  report.exit_code = *code;
  return report;
}

}  // namespace

void register_in_pod(Registry& registry) {
  Command command;
  command.path = "in-pod";
  command.group = "Fleet";
  command.target = Target::kSilent;
  command.summary = "Run a command of fleetadm in a pod of the hub, or of a cluster";
  command.description =
      "Runs any command of fleetadm as a Job on the hub (with --cluster on a managed cluster, through the hub's gateway), prints "
      "what it writes, and ends with its exit code: for API servers that are reachable from pods only. Output and errors of the "
      "command come as one stream, as in the log of a pod.\n\n"
      "In the pod there are no files and no kubeconfig of this machine. Files that the command's flags name (-f, --kubeconfig, "
      "--hub-token-file, ...; \"-\" is standard input) are sent along in a Secret, together at most 1 MB, and so are the values "
      "of flags for tokens; folders are not. A kubeconfig must hold its certificates and keys itself (\"kubectl config view "
      "--flatten --minify\" prints it so). A command without --kubeconfig acts on the pod's own cluster, as the Job's service "
      "account. By default that is one of its own without any permissions, which gets the ClusterRoles of --cluster-role as long "
      "as the Job runs; you can only give what you have yourself.\n\n"
      "The Job is in the namespace of -n, or of the context. It is deleted in the end with all that was made for it, also after "
      "Ctrl-C and at --timeout.";
  command.args = {"-- COMMAND [ARGS...]", 0, -1, true};
  command.examples = {
      {"Check the hub from inside, with all permissions", "fleetadm in-pod --cluster-role cluster-admin -- doctor"},
      {"Join a cluster whose API server only the hub's pods reach",
       "fleetadm in-pod -- join --kubeconfig c1.kubeconfig --cluster-name c1 --hub-apiserver https://hub:6443 "
       "--hub-token-file token"},
      {"On a managed cluster, as one of its accounts",
       "fleetadm in-pod --cluster c1 -n apps --service-account deployer -- doctor"}};
  command.make = invocation<InPodOptions>(
      [](FlagSet& flags, InPodOptions& options) {
        cluster_flag(flags, &options.cluster, "cluster to run it on, instead of the hub");
        flags.text(&options.account, "service-account", "service account of the namespace to run it as").value_name = "NAME";
        flags
            .texts(&options.cluster_roles, "cluster-role",
                   "ClusterRole that the Job's own service account has while it runs; repeatable")
            .value_name = "NAME";
        flags.text(&options.image, "image", "fleetadm image for the pod").default_text = "that of the cluster's fleetadm";
        timeout_flag(flags, &options.timeout, "How long the command may take, with the start of its pod");
        flags.boolean(&options.keep, "keep", "leave the Job and its pod for a day instead of deleting them");
      },
      validate_in_pod, run_in_pod);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
