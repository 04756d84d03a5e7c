// exec: a command in a container of a managed cluster.
#include <poll.h>
#include <string_view>
#include <unistd.h>

#include "commands/framework/dry_run.h"
#include "commands/framework/grammar.h"
#include "commands/framework/members.h"
#include "commands/proxy/member_pod.h"
#include "commands/proxy/proxy.h"
#include "commands/proxy/raw_terminal.h"
#include "kubeclient/stream/command_stream.h"

namespace fleetadm::commands {
namespace {

constexpr int kLookAgainMs = 100;  // at the size of the window, and for an interrupt

struct MemberExecOptions {
  MemberPod pod;
  bool input = false;
  bool terminal = false;
};

kube::Request exec_request(const Context& context, const MemberExecOptions& options, const std::string& pod,
                           const std::vector<std::string>& args, bool terminal) {
  kube::Request request;
  request.path = pod_path(context, pod, "exec");
  for (std::size_t i = 1; i < args.size(); ++i) request.query.emplace_back("command", args[i]);
  if (!options.pod.container.empty()) request.query.emplace_back("container", options.pod.container);
  if (options.input) request.query.emplace_back("stdin", "true");
  request.query.emplace_back("stdout", "true");
  // With a terminal there is one output.
  request.query.emplace_back(terminal ? "tty" : "stderr", "true");
  return request;
}

/// Between our input and output and the command's.
class Splice {
 public:
  Splice(Context& context, kube::CommandStream& stream, bool input, bool terminal)
      : context_(context), stream_(stream), reading_(input), window_(terminal) {}

  Status until_over() {
    const RawTerminal raw(window_ && reading_);
    while (!stream_.over()) {
      if (context_.stop().stop_requested()) return fail(Category::kCancelled, "cancelled");
      FLEETADM_CHECK(tell_size());
      FLEETADM_CHECK(take_output());
      if (stream_.over()) break;
      FLEETADM_CHECK(give_input());
      wait();
    }
    return {};
  }

 private:
  Status tell_size() {
    if (!window_) return {};
    const RawTerminal::Size now = RawTerminal::size();
    if (now == told_ || now.columns == 0) return {};
    told_ = now;
    return stream_.resize(now.columns, now.rows);
  }

  Status take_output() {
    while (true) {
      FLEETADM_TRY(const auto piece, stream_.next(Duration::zero()));
      if (!piece) return {};
      const bool errors = piece->channel == kube::Channel::kErrors;
      if (!(errors ? context_.terminal().write_stderr(piece->bytes) : context_.terminal().write_stdout(piece->bytes)))
        return fail(Category::kCancelled, "the reader of the output is gone");
    }
  }

  Status give_input() {
    if (reading_ && pending_.empty()) {
      FLEETADM_TRY(const Terminal::Input what, context_.terminal().read_stdin_some(pending_, Duration::zero()));
      if (what == Terminal::Input::kEnd) {
        reading_ = false;
        // A server that cannot hand on the end of the input leaves the command waiting for more, as kubectl does.
        const Status ended = stream_.end_input();
        if (!ended && ended.error().category != Category::kUnsupported) return ended;
      }
    }
    if (pending_.empty()) return {};
    FLEETADM_TRY(const std::size_t sent, stream_.send_input(pending_, Duration::zero()));
    pending_.erase(0, sent);
    return {};
  }

  void wait() const {
    const bool more = reading_ && pending_.empty();
    pollfd wait[2] = {{stream_.descriptor(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    if (!pending_.empty()) wait[0].events |= POLLOUT;
    ::poll(wait, more ? 2 : 1, kLookAgainMs);
  }

  Context& context_;
  kube::CommandStream& stream_;
  bool reading_;
  const bool window_;
  RawTerminal::Size told_;
  std::string pending_;
};

Result<Report> run_member_exec(Context& context, const MemberExecOptions& options, const std::vector<std::string>& args) {
  FLEETADM_CHECK(refuse_dry_run(context, "exec"));
  const bool terminal = options.terminal && context.terminal().interactive();
  if (options.terminal && !terminal) context.progress().warn("standard input is no terminal: --tty is left out");
  FLEETADM_TRY(const kube::RestConfig member, member_connection(context, options.pod.cluster, options.pod.asker));
  const auto opened = find_pod(context, context.client(member), args.front()).and_then([&](const std::string& pod) {
    return kube::CommandStream::open(member, exec_request(context, options, pod, args, terminal));
  });
  if (!opened) return fail(at_member(opened.error(), options.pod.cluster));
  const auto& stream = *opened;
  if (const Status ended = Splice(context, *stream, options.input, terminal).until_over(); !ended)
    return fail(at_member(ended.error(), options.pod.cluster));
  const auto code = stream->exit_code();
  if (!code)
    return fail(fail(Category::kUnavailable, str(stream->status(), {"message"}, "how the command ended is not known"))
                    .value()
                    .with_cluster(options.pod.cluster));
  Report report;
  report.exit_code = *code;
  return report;
}

}  // namespace

void register_member_exec(Registry& registry) {
  Command command;
  command.path = "exec";
  command.group = "Clusters";
  command.target = Target::kSilent;
  command.summary = "Run a command in a container on a cluster";
  command.description =
      "Runs a command in a container of a pod on a managed cluster, through the hub's gateway, and ends with its exit code. The "
      "namespace is the one of -n, or \"default\". TYPE/NAME of a workload or a Service stands for one of its pods.";
  command.args = {"POD|TYPE/NAME -- COMMAND [ARGS...]", 1, -1, true};
  command.examples = {{"", "fleetadm exec web-0 --cluster c1 -n apps -- cat /etc/hostname"},
                      {"A shell in a pod of a Deployment", "fleetadm exec deploy/web --cluster c1 -n apps -i -t -- sh"}};
  command.make = invocation<MemberExecOptions>(
      [](FlagSet& flags, MemberExecOptions& options) {
        member_pod_flags(flags, options.pod, "cluster that the pod is on");
        container_flag(flags, options.pod);
        flags.boolean(&options.input, "stdin", "give standard input to the command", 'i');
        flags.boolean(&options.terminal, "tty", "give the command a terminal", 't');
      },
      [](const MemberExecOptions& options, const std::vector<std::string>& args) -> Status {
        if (args.size() < 2)
          return fail(Category::kUsage, "no command to run", "write it after the pod: fleetadm exec POD -- COMMAND");
        return validate_member_pod(options.pod, args.front());
      },
      run_member_exec);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
