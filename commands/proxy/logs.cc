// logs: what a container of a managed cluster has written.
#include <chrono>
#include <cstdint>

#include "commands/framework/grammar.h"
#include "commands/framework/members.h"
#include "commands/framework/pod_log.h"
#include "commands/proxy/member_pod.h"
#include "commands/proxy/proxy.h"

namespace fleetadm::commands {
namespace {

struct MemberLogOptions {
  MemberPod pod;
  bool follow = false;
  bool previous = false;
  bool timestamps = false;
  std::int64_t tail = -1;
  Duration since = Duration::zero();
};

kube::Request log_request(const Context& context, const MemberLogOptions& options, const std::string& pod) {
  kube::Request request;
  request.path = pod_path(context, pod, "log");
  const auto add = [&](bool wanted, const char* key, const std::string& value) {
    if (wanted) request.query.emplace_back(key, value);
  };
  add(!options.pod.container.empty(), "container", options.pod.container);
  add(options.follow, "follow", "true");
  add(options.previous, "previous", "true");
  add(options.timestamps, "timestamps", "true");
  add(options.tail >= 0, "tailLines", std::to_string(options.tail));
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(options.since).count();
  add(seconds > 0, "sinceSeconds", std::to_string(seconds));
  return request;
}

Result<Report> run_member_logs(Context& context, const MemberLogOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const kube::RestConfig member, member_connection(context, options.pod.cluster, options.pod.asker));
  // It ends with the container, or when told to stop.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::hours(24 * 365);
  std::uint64_t printed = 0;
  const kube::Client client = context.client(member);
  const auto end = find_pod(context, client, args.front()).and_then([&](const std::string& pod) {
    return print_pod_log(context, client, log_request(context, options, pod), deadline, printed);
  });
  if (end) return Report{};
  // An interrupt is how following ends.
  if (!options.follow || end.error().category != Category::kCancelled) return fail(at_member(end.error(), options.pod.cluster));
  Report report;
  report.exit_code = 2;
  return report;
}

}  // namespace

void register_member_logs(Registry& registry) {
  Command command;
  command.path = "logs";
  command.group = "Clusters";
  command.target = Target::kSilent;
  command.summary = "Print the log of a container on a cluster";
  command.description =
      "Prints what a container of a pod on a managed cluster has written, through the hub's gateway. The namespace is the one of "
      "-n, or \"default\". TYPE/NAME of a workload or a Service stands for one of its pods.";
  command.args = {"POD|TYPE/NAME", 1, 1};
  command.examples = {{"", "fleetadm logs web-0 --cluster c1 -n apps"},
                      {"Of a pod of a Deployment", "fleetadm logs deploy/web --cluster c1 -n apps"},
                      {"The last lines, and all that follow", "fleetadm logs web-0 --cluster c1 -n apps --tail 20 -f"}};
  command.make = invocation<MemberLogOptions>(
      [](FlagSet& flags, MemberLogOptions& options) {
        member_pod_flags(flags, options.pod, "cluster that the pod is on");
        container_flag(flags, options.pod);
        flags.boolean(&options.follow, "follow", "keep printing until the container ends", 'f');
        flags.boolean(&options.previous, "previous", "the log of the container's last run before this one");
        flags.boolean(&options.timestamps, "timestamps", "print the time of each line");
        flags.integer(&options.tail, "tail", "print only this many of the last lines").value_name = "N";
        flags.duration(&options.since, "since", "only lines that are not older than this").default_text.clear();
      },
      [](const MemberLogOptions& options, const std::vector<std::string>& args) -> Status {
        if (options.tail < -1) return fail(Category::kUsage, "--tail must be a number of lines");
        if (options.since < Duration::zero()) return fail(Category::kUsage, "--since must not be negative");
        return validate_member_pod(options.pod, args.front());
      },
      run_member_logs);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
