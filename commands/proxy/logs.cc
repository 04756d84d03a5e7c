// logs: what a container of a managed cluster has written.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>

#include "commands/framework/grammar.h"
#include "commands/framework/members.h"
#include "commands/proxy/member_pod.h"
#include "commands/proxy/proxy.h"
#include "kubeclient/base/log.h"
#include "kubeclient/transport/body_pipe.h"

namespace fleetadm::commands {
namespace {

constexpr std::size_t kMaxRefusal = 64U * 1024U;

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
  request.accept = "text/plain, application/json, */*";
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
  request.timeout = Duration::zero();
  return request;
}

Result<Report> run_member_logs(Context& context, const MemberLogOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const kube::RestConfig member, member_connection(context, options.pod.cluster));
  const kube::Client client = context.client(member);
  kube::Request request = log_request(context, options, args.front());
  request.stop = context.stop();
  // It ends with the container, or when told to stop.
  const auto pipe = std::make_shared<kube::BodyPipe>(std::chrono::steady_clock::now() + std::chrono::hours(24 * 365));
  const auto stream = client.transport()->stream(request, pipe);
  FLEETADM_TRY(kube::Response head, pipe->head());
  const bool refused = head.status < 200 || head.status > 299;
  const bool escaped = context.terminal().stdout_is_terminal();
  for (std::string_view piece = pipe->next(); !piece.empty(); piece = pipe->next()) {
    if (refused) {
      head.body.append(piece.substr(0, kMaxRefusal - std::min(kMaxRefusal, head.body.size())));
    } else if (!context.terminal().write_stdout(escaped ? log::escape_terminal(piece, true) : std::string(piece))) {
      return Report{};
    }
  }
  if (refused) return fail(kube::error_of(head, request).with_cluster(options.pod.cluster));
  if (const auto error = pipe->error()) {
    // An interrupt is how following ends.
    if (!options.follow || error->category != Category::kCancelled) return fail(error->with_cluster(options.pod.cluster));
    Report report;
    report.exit_code = 2;
    return report;
  }
  return Report{};
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
      "-n, or \"default\".";
  command.args = {"POD", 1, 1};
  command.examples = {{"", "fleetadm logs web-0 --cluster c1 -n apps"},
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
